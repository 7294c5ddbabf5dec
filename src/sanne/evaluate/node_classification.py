"""Node classification from vectors: logistic regression as in the paper.

Vectors of any length are welcome: each set is divided by one number, the root mean square distance of its
training rows from their mean, so that the grid of C means the same for every system. Nothing else is done
to them but to move their mean to zero; to scale every dimension, for one, would cost 6 to 15 points on smoothed text
features.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special
from sklearn.linear_model import LogisticRegression

from sanne.errors import InputError
from sanne.evaluate.threads import calm_threads

# Wide enough for the best C of every feature map tried on Cora, Citeseer and Pubmed to lie inside; below
# the first, the classifier no longer changes.
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-8, 7))

Array = npt.NDArray[np.float64]
Scorer = Callable[[Array], Array]  # rows -> scores of the classes for each value of C, (C, rows, classes)
Fit = Callable[[Array, npt.NDArray[np.int64], Array], Scorer]  # from rows, their classes 0..k-1, and values of C


def fit_each(rows: Array, targets: npt.NDArray[np.int64], Cs: Array) -> Scorer:
    """A logistic regression for each value of C, each starting from the one before."""
    model = LogisticRegression(tol=1e-5, max_iter=10_000, warm_start=True)
    fitted = []
    for C in Cs:
        model.set_params(C=C).fit(rows, targets)
        fitted.append((model.coef_.copy(), model.intercept_.copy()))

    def scores(vectors: Array) -> Array:
        each = np.stack([vectors @ coef.T + intercept for coef, intercept in fitted])
        return each if each.shape[2] > 1 else np.concatenate([np.zeros_like(each), each], axis=2)  # two classes

    return scores


@dataclass(frozen=True)
class SplitScore:
    """Accuracies on one split, in percent, at the C that validation chose."""

    val: float
    test: float
    C: float


def score_split(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike,
    train: npt.ArrayLike,
    val: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
    fit: Fit = fit_each,
) -> SplitScore:
    """Score one split: `vectors` is (n, dim), `labels` is (n,), the rest are node indices.

    >>> score_split(model.embedding_, graph.labels, train, val, test).test
    """
    rows, names = np.asarray(vectors), np.asarray(labels)
    if len(rows) != len(names):
        raise InputError(f"{len(rows)} vectors but {len(names)} labels: give one label per vector")
    parts = [node_indices(nodes, len(rows), name) for nodes, name in ((train, "train"), (val, "val"), (test, "test"))]
    arrays = [array for part in parts for array in (rows[part], names[part])]
    return predict_arrays(*arrays, Cs=Cs, fit=fit).score


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a classifier says about the test rows."""

    score: SplitScore
    labels: npt.NDArray[Any]
    certainty: npt.NDArray[np.float64]  # the probability that it gives to its label


def predict_arrays(
    train_vectors: npt.ArrayLike,
    train_labels: npt.ArrayLike,
    val_vectors: npt.ArrayLike,
    val_labels: npt.ArrayLike,
    test_vectors: npt.ArrayLike,
    test_labels: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
    fit: Fit = fit_each,
) -> Prediction:
    """Fit on the train rows, choose C by accuracy on the val rows (the smaller of equals), label the test rows."""
    train, val, test = (
        checked_rows(vectors, labels, name)
        for vectors, labels, name in (
            (train_vectors, train_labels, "train"),
            (val_vectors, val_labels, "val"),
            (test_vectors, test_labels, "test"),
        )
    )
    grid = np.sort(np.asarray(Cs, np.float64))
    if len(grid) == 0 or grid[0] <= 0:
        raise InputError(f"Cs must be positive numbers, not {list(Cs)}")
    classes, targets = np.unique(train[1], return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"the train nodes all have label {classes[0]!r}: a classifier needs two classes or more")
    with calm_threads(train[0]):
        centre, scale = train[0].mean(axis=0), row_scale(train[0])
        scores_of = fit((train[0] - centre) / scale, targets, grid)
        choices = scores_of((val[0] - centre) / scale).argmax(axis=2)
        accuracies = (classes[choices] == val[1]).mean(axis=1)
        best = int(accuracies.argmax())
        scores = scores_of((test[0] - centre) / scale)[best]
    predicted = classes[scores.argmax(axis=1)]
    return Prediction(
        SplitScore(
            val=percent(accuracies[best]),
            test=percent((predicted == test[1]).mean()),
            C=float(grid[best]),
        ),
        predicted,
        scipy.special.softmax(scores, axis=1).max(axis=1),
    )


def percent(share: Any) -> float:
    """A share in percent, rounded."""
    return round(100 * float(share), 6)


def row_scale(train_vectors: npt.NDArray[np.float64]) -> float:
    """Root mean square distance of the rows from their mean."""
    variance = float(((train_vectors - train_vectors.mean(axis=0)) ** 2).sum(axis=1).mean())
    return float(np.sqrt(variance)) or 1.0


def node_indices(nodes: npt.ArrayLike, count: int, name: str) -> npt.NDArray[np.int64]:
    """Indices from indices or from a mask; what lies outside 0..count-1 is refused."""
    array = np.asarray(nodes)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= count):
        raise InputError(f"{name} nodes must be indices in 0..{count - 1}")
    return array.astype(np.int64)


def checked_rows(vectors: npt.ArrayLike, labels: npt.ArrayLike, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Finite rows, and as many labels."""
    rows, names = np.asarray(vectors, np.float64), np.asarray(labels)
    if rows.ndim != 2 or len(rows) != len(names):
        raise InputError(f"{name}: vectors of shape {rows.shape} with labels of shape {names.shape}")
    if len(rows) == 0:
        raise InputError(f"there are no {name} nodes to score")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InputError(f"{name}: vector {bad} holds NaN or infinite values")
    return rows, names
