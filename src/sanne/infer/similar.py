"""Nearest nodes by cosine similarity."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.graph import FloatArray

_SHORTEST, _LONGEST = 1e-15, 1e15  # lengths whose squares single precision holds without loss


def most_similar(
    node_ids: npt.NDArray[Any], vectors: FloatArray, query: FloatArray, k: int, *, leave_out: int | None = None
) -> list[tuple[Any, float]]:
    """The `k` rows nearest to a query vector, as (node id, cosine), best first; row `leave_out` is not counted."""
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if query.shape != (vectors.shape[1],):
        raise InputError(f"the query has {query.size} numbers, the vectors have {vectors.shape[1]}")
    if not np.isfinite(query).all():
        raise InputError("the query has a number that is not finite")
    scores = _cosines(vectors, unit_rows(query))
    if leave_out is not None:
        scores[leave_out] = -np.inf
    count = min(k, len(scores) - (leave_out is not None))
    if count <= 0:
        return []
    best = np.argpartition(-scores, count - 1)[:count]
    best = best[np.argsort(-scores[best], kind="stable")]
    return list(zip(node_ids[best].tolist(), scores[best].tolist(), strict=True))


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Vectors of length one, however large or small their numbers; those of zeros stay as they are."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)  # else the squares might overflow, or vanish
    unit: FloatArray = scaled / np.maximum(np.linalg.norm(scaled, axis=-1, keepdims=True), 1)
    return unit


def _cosines(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """Cosines to a query of length one, (rows,)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
        scores: FloatArray = (vectors @ query) / lengths
    unusual = ~((lengths > _SHORTEST) & (lengths < _LONGEST))
    if unusual.any():
        scores[unusual] = unit_rows(vectors[unusual]) @ query
    return scores
