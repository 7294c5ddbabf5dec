"""What this process may use: cores, threads of BLAS, memory."""

import functools
import os
import sys
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]

_SMALL = 100_000_000  # numbers in the rows of a matrix product


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_thread_pools = functools.cache(threadpoolctl.ThreadpoolController)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let numpy and scipy use one thread inside the block.

    More threads change the order of sums. A decomposition with near-equal singular values amplifies the last digit to
    the fourth, so that vectors would depend on the number of cores.
    """
    return threadpoolctl.threadpool_limits(1, user_api="blas")


def calm_threads(rows: npt.NDArray[Any]) -> AbstractContextManager[Any]:
    """Use one thread for products as small as these rows give: on busy cores, more threads cost ten times as much."""
    limit = 1 if rows.size < _SMALL else None
    return cast(AbstractContextManager[Any], _thread_pools().limit(limits=limit, user_api="blas"))


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
