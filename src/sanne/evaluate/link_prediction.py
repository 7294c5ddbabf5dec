"""Link prediction from vectors: do held-out edges score higher than pairs that are not edges?"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score

from sanne.vectors.normalise import unit

Floats = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.int64]  # (count, 2) node indices
_PAIRS_AT_ONCE = 100_000


def score_links(
    vectors: npt.ArrayLike, positives: Pairs, negatives: Pairs, *, hits_at: Sequence[int] = (1, 10, 50)
) -> dict[str, float]:
    """Score pairs of nodes by the cosine of their vectors: held-out edges, ranked among pairs that are not edges.

    >>> score_links(vectors, held_out, non_edges)["auc"]
    """
    rows = np.asarray(vectors, np.float64)
    edges, others = (pair_products(unit(rows), pairs) for pairs in (positives, negatives))
    return rank_links(edges, others, hits_at)


def rank_links(edges: Floats, others: Floats, hits_at: Sequence[int]) -> dict[str, float]:
    """Scores between 0 and 1 from the similarities of edges and of other pairs; equal similarities share their ranks.

    `mrr` is the mean of 1 / rank; `hits@k` the share of edges with at most k - 1 other pairs above them.
    """
    truth = np.repeat([1, 0], [len(edges), len(others)])
    scores = np.concatenate([edges, others])
    order = np.sort(others)
    above = len(order) - np.searchsorted(order, edges, side="right")
    not_below = len(order) - np.searchsorted(order, edges, side="left")
    ranks = 1 + (above + not_below) / 2  # those that are equal count half
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        "mrr": float((1 / ranks).mean()),
        **{f"hits@{k}": float((ranks <= k).mean()) for k in hits_at},
    }


def pair_products(rows: Floats, pairs: Pairs, weights: Floats | None = None) -> Floats:
    """Inner products of the vectors of pairs of nodes; `weights` (dim,) of the coordinates, all alike by default."""
    weighted = rows if weights is None else rows * weights
    parts = [pairs[start : start + _PAIRS_AT_ONCE] for start in range(0, len(pairs), _PAIRS_AT_ONCE)]
    return np.concatenate([np.einsum("nd,nd->n", rows[part[:, 0]], weighted[part[:, 1]]) for part in parts])
