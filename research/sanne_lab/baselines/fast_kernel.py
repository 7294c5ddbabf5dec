"""Compiled loops that may add numbers in any order: for training by samples, where sums over dimensions dominate."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def fast_kernel(function: Function) -> Function:
    """Compile for the CPU; the same machine and versions still give the same numbers."""
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function))
