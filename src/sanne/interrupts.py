"""Ctrl-C that is not lost: libraries may swallow KeyboardInterrupt, so the signal is also remembered."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_interrupted = threading.Event()


@contextlib.contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Inside the block, SIGINT raises KeyboardInterrupt as usual, and `was_interrupted` returns True afterwards."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # somebody else's handler, or SIGINT is ignored: leave it so
        return
    signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _interrupted.clear()


def was_interrupted() -> bool:
    """Whether SIGINT has come since `remembered_interrupts` began."""
    return _interrupted.is_set()


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if SIGINT came but was swallowed; call this before output is replaced."""
    if _interrupted.is_set():
        raise KeyboardInterrupt


def _remember(number: int, frame: FrameType | None) -> None:
    _interrupted.set()
    raise KeyboardInterrupt
