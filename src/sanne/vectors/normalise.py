"""Rows scaled to unit length."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Real = TypeVar("Real", np.float32, np.float64)

SHORTEST, LONGEST = 1e-15, 1e15  # lengths whose squares single precision holds without loss


def unit(rows: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Rows (or one vector) scaled to unit length, however large or small their numbers; zeros stay zeros."""
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unusual = unusual_lengths(lengths)[..., 0]
    scaled = np.asarray(rows / np.where(unusual[..., None], 1, lengths), rows.dtype)
    if unusual.any():
        largest = np.abs(rows[unusual]).max(axis=-1, keepdims=True)
        odd = rows[unusual] / np.where(largest > 0, largest, 1)  # now squares neither overflow nor vanish
        scaled[unusual] = odd / np.maximum(np.linalg.norm(odd, axis=-1, keepdims=True), 1)
    return scaled


def unusual_lengths(lengths: npt.NDArray[Real]) -> npt.NDArray[np.bool_]:
    """Which lengths, as numpy computed them, may be wrong because squares overflowed or vanished."""
    return ~((lengths > SHORTEST) & (lengths < LONGEST))
