"""Node classification from vectors on given splits: logistic regression as in the paper."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.evaluate.logistic import regressions

_PATIENCE = 4  # values of C that do worse on validation, before larger ones are given up


@dataclass(frozen=True)
class SplitScore:
    """Accuracies on one split, in percent, at the C that validation chose."""

    val: float
    test: float
    C: float


def score_split(
    vectors: npt.ArrayLike, labels: npt.ArrayLike, train: npt.ArrayLike, val: npt.ArrayLike, test: npt.ArrayLike
) -> SplitScore:
    """Fit on the train nodes, choose C by accuracy on the val nodes (the smaller of equals), score the test nodes.

    `vectors` is (n, dim), `labels` is (n,), the rest are node indices.

    >>> score_split(model.embedding_, graph.labels, train, val, test).test
    """
    return classify_split(vectors, labels, train, val, test)[0]


def classify_split(
    vectors: npt.ArrayLike, labels: npt.ArrayLike, train: npt.ArrayLike, val: npt.ArrayLike, test: npt.ArrayLike
) -> tuple[SplitScore, npt.NDArray[Any]]:
    """Like `score_split`, with the labels that the test nodes got."""
    rows, names = np.asarray(vectors), np.asarray(labels)
    if rows.ndim != 2 or names.shape != (len(rows),) or not np.isfinite(rows).all():
        raise InputError(f"finite vectors with one label each are needed, not shapes {rows.shape} and {names.shape}")
    fitted, chosen, tested = (np.asarray(part) for part in (train, val, test))
    if 0 in (fitted.size, chosen.size, tested.size) or len(classes := np.unique(names[fitted])) < 2:
        raise InputError("a classifier needs train nodes of two classes or more, and nodes to choose C and to test on")
    best, best_C, waited, answer = -1.0, 0.0, 0, names[:0]
    for C, linear in regressions(rows[fitted], names[fitted, None] == classes):
        found = percent((classes[linear.scores(rows[chosen]).argmax(axis=1)] == names[chosen]).mean())
        waited = waited + 1 if found < best else 0
        if found > best:
            best, best_C, answer = found, C, classes[linear.scores(rows[tested]).argmax(axis=1)]
        if waited == _PATIENCE or best == 100:
            break
    return SplitScore(best, percent((answer == names[tested]).mean()), best_C), answer


def percent(share: Any) -> float:
    return round(100 * float(share), 6)
