"""Nearest nodes by cosine similarity."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.graph import FloatArray, IntArray
from sanne.vectors.normalise import unit, unusual_lengths


def most_similar(
    node_ids: npt.NDArray[Any],
    vectors: FloatArray,
    query: FloatArray,
    k: int,
    *,
    leave_out: int | None = None,
    detail: float = 0.0,
) -> list[tuple[Any, float]]:
    """The `k` rows nearest to a query vector as (node id, cosine), nearest first; row `leave_out` is skipped."""
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if query.shape != (vectors.shape[1],):
        raise InputError(f"the query has {query.size} numbers, the vectors have {vectors.shape[1]}")
    if not np.isfinite(query).all():
        raise InputError("the query has a number that is not finite")
    if detail:
        weights = column_weights(vectors, detail)
        vectors, query = vectors * weights, query * weights
    scores = cosines(vectors, unit(query))
    if leave_out is not None:
        scores[leave_out] = -np.inf
    nearest = best_rows(scores, min(k, len(scores) - (leave_out is not None)))
    return list(zip(node_ids[nearest].tolist(), scores[nearest].tolist(), strict=True))


def column_weights(vectors: FloatArray, detail: float) -> FloatArray:
    """Factors of columns: with `detail` 0 all count as they are, with 1 all alike, however little they vary.

    The first columns tell what a node is about, the last ones what tells it from others like it.
    """
    if not 0 <= detail <= 1:
        raise InputError(f"detail must lie between 0 (topics) and 1 (details), not {detail}")
    spreads = vectors.std(axis=0, dtype=np.float64)
    return np.asarray(np.maximum(spreads, max(1e-3 * float(spreads.max(initial=0)), 1e-30)) ** -detail, np.float32)


def cosines(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """Cosines of (rows, dim) vectors with a unit query, (rows,)."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lengths = np.linalg.norm(vectors, axis=1)
        scores: FloatArray = (vectors @ query) / lengths
    unusual = unusual_lengths(lengths)
    if unusual.any():
        scores[unusual] = unit(vectors[unusual]) @ query
    return scores


def best_rows(scores: FloatArray, count: int) -> IntArray:
    """The rows of the `count` highest scores, highest first."""
    if count <= 0:
        return np.empty(0, np.int64)
    best = np.argpartition(-scores, count - 1)[:count]
    return best[np.argsort(-scores[best], kind="stable")].astype(np.int64)
