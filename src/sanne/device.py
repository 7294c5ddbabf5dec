"""What torch computes on: device, threads, memory."""

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]
import torch

from sanne.errors import InputError

_POSITIONS_PER_THREAD = 256  # fewer, and a second thread costs more than it gives
_SMALL = 2_000_000  # numbers in the rows of a matrix product
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # of malloc.h
_KEPT_BLOCK, _KEPT_BYTES, _KEPT_BYTES_IF_LARGE = 32 * 2**20, 512 * 2**20, 2**31 - 1


def choose_device(name: str) -> torch.device:
    """The device to train on; `auto` takes cuda, then mps, then the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
        known = device.type in ("cpu", "cuda", "mps")
    except (RuntimeError, AssertionError):
        known = False
    if not known:
        raise InputError(f"device {name!r} is not available: use auto, cpu, cuda or mps")
    return device


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def torch_threads(count: int, positions: int = 0) -> Iterator[None]:
    """Let torch use `count` threads inside the block, but no more than there are cores.

    0: as many as pay for `positions` walk positions at a time.
    """
    before = torch.get_num_threads()
    keep_freed_memory()
    torch.set_num_threads(min(count, available_cores()) or max(1, min(before, positions // _POSITIONS_PER_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


_thread_pools = functools.cache(threadpoolctl.ThreadpoolController)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let numpy and scipy use one thread inside the block.

    With more, sums have another order. A decomposition with near-equal singular values blows the last digit up to
    the fourth, so that vectors would depend on the number of cores.
    """
    return threadpoolctl.threadpool_limits(1, user_api="blas")


def calm_threads(rows: npt.NDArray[Any]) -> AbstractContextManager[Any]:
    """One thread for products as small as these rows give: sharing them out costs ten times what it saves."""
    limit = 1 if rows.size < _SMALL else None
    return cast(AbstractContextManager[Any], _thread_pools().limit(limits=limit, user_api="blas"))


@functools.cache
def keep_freed_memory(*, large_too: bool = False) -> None:
    """Ask the C library (glibc) to keep freed blocks: returning and requesting what every step needs costs 10%.

    `large_too`: blocks above 32 MiB as well, such as arrays over all nodes. Requesting those again costs a
    third of the time, keeping them up to 40% more memory (DGI on Pubmed).
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES_IF_LARGE if large_too else _KEPT_BYTES)
        if large_too:
            mallopt(_M_MMAP_MAX, 0)


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
