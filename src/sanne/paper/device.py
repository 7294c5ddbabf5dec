"""What torch computes on: device, threads, memory; its random streams."""

import contextlib
import ctypes
import functools
from collections.abc import Iterator

import torch

from sanne.device import available_cores
from sanne.errors import InputError
from sanne.seeds import derived_seed

_POSITIONS_PER_THREAD = 256  # with fewer, a second thread costs more than it gains
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT_BLOCK, _KEPT_BYTES = 32 * 2**20, 512 * 2**20


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


@contextlib.contextmanager
def torch_threads(count: int, positions: int = 0) -> Iterator[None]:
    """Let torch use `count` threads inside the block, but no more than there are cores.

    0: as many as pay off for `positions` walk positions at a time. Inside the block oneDNN may round factors to
    bfloat16. On an AMD EPYC it does not, and is more than twice as fast as MKL, torch's choice otherwise.
    """
    before, products = torch.get_num_threads(), torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    precision = products.fp32_precision
    products.fp32_precision = "bf16"
    keep_freed_memory()
    torch.set_num_threads(min(count, available_cores()) or max(1, min(before, positions // _POSITIONS_PER_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
        products.fp32_precision = precision


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library (glibc) to keep freed blocks: releasing and requesting them in every step costs a fifth."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def torch_stream(seed: int, purpose: str, *counters: int) -> torch.Generator:
    """A torch generator (on the CPU) for one purpose and position."""
    return torch.Generator().manual_seed(derived_seed(seed, purpose, *counters))
