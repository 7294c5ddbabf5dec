"""What processes that share the cores with others need: one thread each, and an end with the one that started them."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes started inside the block compute with one thread, whatever library they use."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def end_with_parent() -> None:
    """Called in a worker: it ends with the process that started it, however that ends."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
