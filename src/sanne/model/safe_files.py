"""Reading untrusted files: only regular ones are opened, and tensors are checked before any of them is read."""

import hashlib
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

Shapes = dict[str, tuple[int, ...]]


def require_regular(path: Path) -> None:
    """Raise an OSError for anything but a regular file or a link to one: opening a pipe or a device may block."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is not a regular file")


def digest_of(path: Path) -> str:
    """The SHA-256 of a regular file."""
    require_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tensor_shapes(path: Path) -> Shapes:
    """The names and shapes in a safetensors file, from its header alone; all must be of single precision."""
    require_regular(path)
    shapes: Shapes = {}
    try:
        with safe_open(path, framework="np") as file:
            for name in file.keys():  # noqa: SIM118 (not a dict)
                part = file.get_slice(name)
                if part.get_dtype() != "F32":
                    raise ValueError(f"{path.name}: {name} holds {part.get_dtype()}, where F32 is expected")
                shapes[name] = tuple(part.get_shape())
    except SafetensorError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return shapes


def check_shapes(found: Shapes, expected: Shapes) -> None:
    """A ValueError that names the first tensor that is missing, unknown or of another shape."""
    for name in sorted(expected.keys() | found.keys()):
        if name not in expected:
            raise ValueError(f"unknown tensor {name}")
        if name not in found:
            raise ValueError(f"{name} is missing")
        if found[name] != expected[name]:
            raise ValueError(f"{name} has shape {found[name]}, where {expected[name]} is expected")


def under(prefix: str, named: dict[str, Any]) -> dict[str, Any]:
    """The entries whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in named.items() if name.startswith(prefix)}


def read_tensors(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """All tensors of a safetensors file; a ValueError if a number is not finite."""
    with safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(f"{path.name}: {name} holds numbers that are not finite")
    return tensors
