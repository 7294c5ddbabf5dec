"""Link prediction from vectors: do held-out edges score higher than pairs that are not edges?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score

from sanne.errors import InputError
from sanne.vectors.normalise import unit

Floats = npt.NDArray[np.float64]
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
    vectors: npt.ArrayLike, positives: npt.ArrayLike, negatives: npt.ArrayLike, *, hits_at: Sequence[int] = (1, 10, 50)
) -> LinkScores:
    """Score pairs of nodes by the cosine of their vectors.

    positives: (m, 2) node indices of held-out edges.
    negatives: (count, 2), pairs that are not edges, among which each edge is ranked.

    >>> score_links(vectors, held_out, non_edges).auc
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"links are scored from finite vectors, (nodes, dim), not {rows.shape}")
    edges = node_pairs(positives, len(rows), "positives")
    others = node_pairs(negatives, len(rows), "negatives")
    directions = unit(rows)
    return rank_links(pair_products(directions, edges), pair_products(directions, others), hits_at)


def rank_links(edges: Floats, others: Floats, hits_at: Sequence[int]) -> LinkScores:
    """Scores from the similarities of edges and of other pairs; equal similarities share their ranks."""
    truth = np.repeat([1, 0], [len(edges), len(others)])
    scores = np.concatenate([edges, others])
    order = np.sort(others)
    above = len(order) - np.searchsorted(order, edges, side="right")
    not_below = len(order) - np.searchsorted(order, edges, side="left")
    ranks = 1 + (above + not_below) / 2  # those that are equal count half
    return LinkScores(
        auc=float(roc_auc_score(truth, scores)),
        average_precision=float(average_precision_score(truth, scores)),
        mrr=float((1 / ranks).mean()),
        hits={int(k): float((ranks <= k).mean()) for k in hits_at},
    )


def pair_products(rows: Floats, pairs: npt.NDArray[np.int64], weights: Floats | None = None) -> Floats:
    """Inner products of the vectors of pairs of nodes; `weights` (dim,) of the coordinates, all alike by default."""
    weighted = rows if weights is None else rows * weights
    parts = [pairs[start : start + _PAIRS_AT_ONCE] for start in range(0, len(pairs), _PAIRS_AT_ONCE)]
    return np.concatenate([np.einsum("nd,nd->n", rows[part[:, 0]], weighted[part[:, 1]]) for part in parts])


def node_pairs(pairs: npt.ArrayLike, count: int, name: str) -> npt.NDArray[np.int64]:
    """Pairs of node indices, (count, 2); `name` is for messages."""
    array = np.asarray(pairs)
    if array.size == 0 or array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be node pairs, (count, 2), not {array.dtype} of shape {array.shape}")
    if array.min() < 0 or array.max() >= count:
        raise InputError(f"{name} name a node outside 0..{count - 1}")
    return array.astype(np.int64)
