"""Skip-gram with negative sampling, one pair at a time: the step that LINE and DDRW share."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.seeds import mix, step
from sanne_lab.baselines.fast_kernel import fast_kernel

_NOISE_BITS = 20


def noise_table(degrees: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Nodes repeated in proportion to degree ** 0.75; its length is a power of two, so that bits pick an entry."""
    bits = max(_NOISE_BITS, len(degrees).bit_length() + 4)
    mass = np.cumsum(degrees.astype(np.float64) ** 0.75)
    points = (np.arange(1 << bits) + 0.5) * (mass[-1] / (1 << bits))
    return np.searchsorted(mass, points, side="right").astype(np.int32)


@fast_kernel
def pair_step(
    vector: Any, target: int, outputs: Any, noise: Any, negatives: int, rate: Any, state: Any, change: Any
) -> Any:
    """Move `outputs[target]` towards a vector and those of random nodes away from it.

    What the vector itself is to move by is left in `change`; returns the new state of the random stream.
    """
    change[:] = 0
    mask = np.uint64(len(noise) - 1)
    for draw in range(negatives + 1):
        other = np.int64(target)
        if draw > 0:
            state = step(state)
            other = np.int64(noise[mix(state) & mask])
            if other == target:
                continue
        row = outputs[other]
        dot = np.float32(0)
        for d in range(len(vector)):
            dot += vector[d] * row[d]
        expected = np.float32(1) / (np.float32(1) + np.exp(-dot))
        pull = ((np.float32(1) if draw == 0 else np.float32(0)) - expected) * rate
        for d in range(len(vector)):
            change[d] += pull * row[d]
            row[d] += pull * vector[d]
    return state
