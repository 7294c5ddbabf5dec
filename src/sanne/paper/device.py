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

    0: as many as pay off for `positions` walk positions at a time. Inside the block oneDNN computes products where it
    does not round factors: on an AMD EPYC it is more than twice as fast as MKL, torch's choice otherwise.
    """
    before = torch.get_num_threads()
    keep_freed_memory()
    torch.set_num_threads(min(count, available_cores()) or max(1, min(before, positions // _POSITIONS_PER_THREAD)))
    try:
        with _onednn() if _onednn_is_exact() else contextlib.nullcontext():
            yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _onednn() -> Iterator[None]:
    """Let oneDNN compute products, which torch only does if it may round factors to bfloat16."""
    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    precision = products.fp32_precision
    products.fp32_precision = "bf16"
    try:
        yield
    finally:
        products.fp32_precision = precision


@functools.cache
def _onednn_is_exact() -> bool:
    """Whether oneDNN rounds no factors here, though it may: it does on processors with instructions for bfloat16."""
    numbers = torch.linspace(-1, 1, 256 * 256).view(256, 256)
    with _onednn():
        found = numbers @ numbers
    return bool(torch.allclose(found.double(), numbers.double() @ numbers.double(), atol=0.01))


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
