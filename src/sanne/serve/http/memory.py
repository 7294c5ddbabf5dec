"""Memory that is no longer needed goes back to the system, so that a server does not stay at its peak for good."""

import ctypes
import gc
from typing import Any

import pyarrow as pa


def give_back() -> None:
    """Return what nobody uses: Python's garbage, Arrow's pool, and free blocks that malloc keeps for itself."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)


def _find_trim() -> Any:
    """glibc's malloc_trim; None with another C library."""
    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, TypeError, AttributeError):
        return None


_trim = _find_trim()
