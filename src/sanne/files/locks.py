"""Locks between processes. They are the system's: one ends with its process, however that ends."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from sanne.errors import InUseError


@contextlib.contextmanager
def claimed(path: str | Path) -> Iterator[None]:
    """Keep other processes from writing `path` for as long as the block lasts; an InUseError if one does so already.

    What a process that was killed left of its lock does not count.

    >>> with claimed("model"):
    ...     SANNE().fit(graph).save("model")
    """
    target = Path(os.path.realpath(path))
    name = target.with_name(f".{target.name}.lock")
    lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    while (taken := take_lock(lock)) and not is_open_as(name, lock):
        os.close(lock)  # its last holder has just deleted it
        lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if taken is False:
            holder = os.read(lock, 32).decode(errors="replace").strip()
            raise InUseError(
                f"{path}: another process{f' ({holder})' if holder else ''} is writing there: "
                "wait until it ends, or choose another place"
            )
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the number
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            name.unlink(missing_ok=True)
    finally:
        os.close(lock)


def take_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder. False: another has it; None: there are no locks here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def is_open_as(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
