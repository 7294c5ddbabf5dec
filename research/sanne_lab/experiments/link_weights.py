"""Weights of coordinates for link prediction, learnt from training edges."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sanne.device import calm_threads
from sanne.evaluate.link_prediction import Pairs, pair_products, rank_links
from sanne_lab.evaluate.logistic import fit_one_vs_rest


def learn_weights(
    vectors: npt.ArrayLike,
    positives: Pairs,
    negatives: Pairs,
    validation: tuple[Pairs, Pairs],
    *,
    Cs: Sequence[float] = (0.01, 0.1, 1.0, 10.0),
) -> npt.NDArray[np.float64]:
    """Weights of coordinates, (dim,), for `pair_products`: a logistic regression on products of coordinates.

    It is learnt from training edges and non-edges, as node2vec was judged; `validation` pairs choose C by AUC.

    >>> weights = learn_weights(vectors, edges, non_edges, (val_edges, val_non_edges))
    """
    rows = np.asarray(vectors, np.float64)
    pairs = np.concatenate([positives, negatives])
    products = rows[pairs[:, 0]] * rows[pairs[:, 1]]
    scale = products.std() or 1.0
    truth = np.repeat([1, 0], [len(positives), len(negatives)])
    with calm_threads(products):
        weights = fit_one_vs_rest(products / scale, truth[:, None], Cs).weights[:, :, 0]  # (C, dim)
    yes, no = validation
    aucs = [rank_links(pair_products(rows, yes, each), pair_products(rows, no, each), ())["auc"] for each in weights]
    return np.asarray(weights[int(np.argmax(aucs))])
