"""Link prediction from vectors: do held-out edges score higher than pairs that are not edges?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.stats
from sklearn.metrics import average_precision_score, roc_auc_score

from sanne.errors import InputError
from sanne.vectors.normalise import unit

Similarity = Literal["cosine", "dot"]
_PAIRS_AT_ONCE = 100_000


@dataclass(frozen=True)
class LinkScores:
    """Scores between 0 and 1; `hits[k]` is the share of edges with at most k - 1 non-edges above them."""

    auc: float
    average_precision: float
    mrr: float  # mean of 1 / rank
    hits: dict[int, float]

    def to_dict(self) -> dict[str, float]:
        ranked = {f"hits@{k}": share for k, share in self.hits.items()}
        return {"auc": self.auc, "average_precision": self.average_precision, "mrr": self.mrr, **ranked}


def score_links(
    vectors: npt.ArrayLike,
    positives: npt.ArrayLike,
    negatives: npt.ArrayLike,
    *,
    similarity: Similarity = "cosine",
    weights: npt.ArrayLike | None = None,
    hits_at: Sequence[int] = (1, 10, 50),
) -> LinkScores:
    """Score node pairs by the similarity of their vectors.

    positives: (m, 2) node indices of held-out edges.
    negatives: pairs that are not edges. Either (count, 2), one pool among which each edge is ranked, or
        (m, count, 2), where each edge has rivals of its own. Equal scores share their ranks.
    weights: (dim,), of the coordinates in the similarity; all alike by default.

    >>> score_links(vectors, held_out, non_edges).auc
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"links are scored from finite vectors, (nodes, dim), not {rows.shape}")
    edges = node_pairs(positives, len(rows), "positives")
    rivals = node_pairs(negatives, len(rows), "negatives")
    if edges.ndim != 2 or (rivals.ndim == 3 and len(rivals) != len(edges)):
        raise InputError(f"positives of shape {edges.shape} do not fit negatives of shape {rivals.shape}")
    if similarity == "cosine":
        rows = unit(rows)
    elif similarity != "dot":
        raise InputError(f"unknown similarity {similarity!r}: choose cosine or dot")
    weighted = rows if weights is None else rows * np.asarray(weights, np.float64)
    high = _similarities(rows, weighted, edges)
    low = _similarities(rows, weighted, rivals.reshape(-1, 2)).reshape(rivals.shape[:-1])
    truth = np.repeat([1, 0], [high.size, low.size])
    scores = np.concatenate([high, low.ravel()])
    ranks = _ranks_in_pool(high, low) if low.ndim == 1 else _ranks_in_rows(high, low)
    return LinkScores(
        auc=float(roc_auc_score(truth, scores)),
        average_precision=float(average_precision_score(truth, scores)),
        mrr=float((1 / ranks).mean()),
        hits={int(k): float((ranks <= k).mean()) for k in hits_at},
    )


def _similarities(rows: npt.NDArray[Any], weighted: npt.NDArray[Any], pairs: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    parts = [pairs[start : start + _PAIRS_AT_ONCE] for start in range(0, len(pairs), _PAIRS_AT_ONCE)]
    values = [np.einsum("nd,nd->n", rows[part[:, 0]], weighted[part[:, 1]]) for part in parts]
    return np.concatenate(values)


def _ranks_in_pool(high: npt.NDArray[Any], low: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """1 plus the number of pool members above, those that are equal counted half."""
    order = np.sort(low)
    above = len(order) - np.searchsorted(order, high, side="right")
    not_below = len(order) - np.searchsorted(order, high, side="left")
    return np.asarray(1 + (above + not_below) / 2)


def _ranks_in_rows(high: npt.NDArray[Any], low: npt.NDArray[Any]) -> npt.NDArray[Any]:
    ranks = scipy.stats.rankdata(-np.column_stack([high, low]), axis=1, method="average")
    return np.asarray(ranks[:, 0])


def node_pairs(pairs: npt.ArrayLike, count: int, name: str) -> npt.NDArray[np.int64]:
    """Pairs of node indices, (count, 2) or (edges, count, 2); `name` is for messages."""
    array = np.asarray(pairs)
    if array.size == 0 or array.ndim not in (2, 3) or array.shape[-1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be node pairs, (count, 2), not {array.dtype} of shape {array.shape}")
    if array.min() < 0 or array.max() >= count:
        raise InputError(f"{name} name a node outside 0..{count - 1}")
    return array.astype(np.int64)
