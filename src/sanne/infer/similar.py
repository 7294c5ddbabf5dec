"""Nearest nodes by cosine similarity."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.csr import FloatArray


def most_similar(
    node_ids: npt.NDArray[Any], vectors: FloatArray, query: FloatArray, k: int, *, leave_out: int | None = None
) -> list[tuple[Any, float]]:
    """The `k` rows nearest to a query vector, as (node id, cosine), best first; row `leave_out` is not counted."""
    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if query.shape != (vectors.shape[1],):
        raise InputError(f"the query has {query.size} numbers, the vectors have {vectors.shape[1]}")
    lengths = np.linalg.norm(vectors, axis=1) * max(float(np.linalg.norm(query)), 1e-12)
    scores = (vectors @ query) / np.maximum(lengths, 1e-12)
    if leave_out is not None:
        scores[leave_out] = -np.inf
    count = min(k, len(scores) - (leave_out is not None))
    if count <= 0:
        return []
    best = np.argpartition(-scores, count - 1)[:count]
    best = best[np.argsort(-scores[best], kind="stable")]
    return list(zip(node_ids[best].tolist(), scores[best].tolist(), strict=True))
