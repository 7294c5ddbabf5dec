"""Arrays larger than the allowed memory, in memory-mapped files that vanish when the program ends."""

import mmap
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

_LARGE = 16  # arrays larger than this fraction of the memory are kept in files
_FULL = 0.7  # of the memory; above it mapped pages are released
_SECONDS = 0.02  # between two looks; with 0.1, an embedding went another tenth above a limit of 1 GiB


@dataclass(frozen=True)
class _Limit:
    size: int
    folder: Path


_limits: list[_Limit] = []  # the one that holds is the last
_maps: WeakSet[mmap.mmap] = WeakSet()  # of files, of which any page may be given back at any time


@contextmanager
def memory_limit(size: int | None, folder: str | Path) -> Iterator[None]:
    """Use about so many bytes of memory inside the block, in all threads; files in `folder` hold what is larger.

    The pages of mapped files count: when there are too many, the system gets them back and reads them again.
    """
    if size is None:
        yield
        return
    _limits.append(_Limit(size, Path(folder)))
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(size, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        _limits.pop()


def memory_limited() -> int | None:
    """The limit that holds now, in bytes."""
    return _limits[-1].size if _limits else None


def room_for(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """An array of zeros; in a file that has no name, if it would take too much of the memory."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if not _limits or size * _LARGE <= _limits[-1].size:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(dir=_limits[-1].folder) as file:
        array = np.memmap(file, dtype, "w+", shape=shape)
    note_map(array)
    return array


def note_map(array: npt.NDArray[Any]) -> None:
    """Let pages of a mapped file be given back when memory is short; not for maps with changes of their own."""
    if isinstance(pages := getattr(array, "_mmap", None), mmap.mmap):
        _maps.add(pages)


def give_back() -> None:
    """Let the system take back the memory of all mapped files; what is needed again, it reads again."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for pages in list(_maps):
            pages.madvise(mmap.MADV_DONTNEED)


def _watch(size: int, ended: threading.Event) -> None:
    while sys.platform == "linux" and not ended.wait(_SECONDS):
        resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE
        if resident > _FULL * size:
            give_back()
