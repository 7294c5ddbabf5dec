"""On a terminal: shows the current stage, or its bar, and the time once it takes two seconds."""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from sanne.progress import screen

_DELAY = 2.0


class Notes(Console):
    """A console on stderr that does not collide with progress bars."""

    def print(self, *objects: Any, **options: Any) -> None:
        with tqdm.external_write_mode(file=sys.stderr):
            super().print(*objects, **options)


class Clock(logging.Handler):
    """The current stage: the last log message, except what readers log about tables."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self.stage, self.since = stage, time.time()
        self.bar: tqdm[Any] | None = None
        self.ended = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Start the next stage."""
        if not record.name.startswith("sanne.graph"):
            with tqdm.get_lock():
                self.stage, self.since = record.getMessage(), time.time()
                self.close_bar()

    def tick(self) -> None:
        while not self.ended.wait(0.5):
            with tqdm.get_lock():
                if time.time() < self.since + _DELAY or self.ended.is_set() or self.refresh_bars():
                    continue
                if self.bar is None:
                    line = "{desc} ... {elapsed}"
                    self.bar = tqdm(desc=self.stage, bar_format=line, leave=False, file=sys.stderr, **screen())
                    self.bar.start_t = self.since
                self.bar.refresh()

    def refresh_bars(self) -> bool:
        """Show the bars of steps, which tell more than the stage, even if no step has ended; whether there are any."""
        others = [bar for bar in tqdm._instances if bar is not self.bar and hasattr(bar, "start_t")]
        if due := [bar for bar in others if time.time() >= bar.start_t + bar.delay]:
            self.close_bar()
        for bar in due:
            bar.delay = 0  # or it would not be cleared, if no step ends
            bar.refresh()
        return bool(due)

    def close_bar(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


@contextlib.contextmanager
def running_clock(stage: str) -> Iterator[None]:
    """Show a stage and its time; log messages name the next one. Does nothing without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    clock, log = Clock(stage), logging.getLogger("sanne")
    log.addHandler(clock)
    threading.Thread(target=clock.tick, daemon=True).start()
    try:
        with logging_redirect_tqdm():
            yield
    finally:
        clock.ended.set()
        log.removeHandler(clock)
        with tqdm.get_lock():
            clock.close_bar()
