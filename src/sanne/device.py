"""Which device torch computes on, and with how many threads."""

import contextlib
from collections.abc import Iterator

import torch

from sanne.errors import InputError


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
        raise InputError(f"device {name!r} is not there: use auto, cpu, cuda or mps")
    return device


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads inside the block; 0 leaves its own choice."""
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
