"""Clusters of directions, and how decided a vector is between them."""

import numpy as np
import scipy.sparse as sp

from sanne.graph.graph import FloatArray
from sanne.vectors.normalise import unit

_ITERATIONS = 25
_SHARPNESS = 5.0  # shares are a softmax of so much times the cosine


def doubt(vectors: FloatArray, clusterings: list[FloatArray], shortest: float = 0.0) -> FloatArray:
    """One minus the largest share that a clustering gives a vector, mean over clusterings, (nodes,).

    A vector below the `shortest` length is near the mean of all, and the direction of what is left tells little.
    """
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), max(shortest, 1e-12))
    largest = np.zeros(len(rows), np.float32)
    for centres in clusterings:
        exponents = np.exp(_SHARPNESS * (rows @ centres.T))
        largest += exponents.max(axis=1) / exponents.sum(axis=1)
    result: FloatArray = 1 - largest / np.float32(len(clusterings))
    return result


def spherical_kmeans(rows: FloatArray, count: int, stream: np.random.Generator) -> FloatArray:
    """Centres (count, width) of rows of length one by cosine; fewer rows than centres gives repeated centres."""
    centres = _spread_out(rows, count, stream)
    assigned = np.full(len(rows), -1)
    for _ in range(_ITERATIONS):
        nearest = np.argmax(rows @ centres.T, axis=1)
        if np.array_equal(nearest, assigned):
            break
        assigned = nearest
        member = sp.csr_matrix((np.ones(len(rows), np.float32), (assigned, np.arange(len(rows)))), (count, len(rows)))
        total = member @ rows
        used = np.linalg.norm(total, axis=1) > 1e-9
        centres[used] = unit(total[used])
    return centres


def _spread_out(rows: FloatArray, count: int, stream: np.random.Generator) -> FloatArray:
    """k-means++: each next centre is a row drawn in proportion to its distance from the nearest one so far."""
    chosen = [int(stream.integers(len(rows)))]
    distance = 1.0 - rows @ rows[chosen[0]]
    for _ in range(count - 1):
        mass = np.cumsum(np.maximum(distance, 0.0), dtype=np.float64)
        if mass[-1] > 1e-9:
            pick = min(int(np.searchsorted(mass, stream.random() * mass[-1], side="right")), len(rows) - 1)
        else:
            pick = int(stream.integers(len(rows)))
        chosen.append(pick)
        distance = np.minimum(distance, 1.0 - rows @ rows[pick])
    return rows[chosen].copy()
