"""Node classification from arrays, by a solver that is fast enough for a score after every epoch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special

from sanne.device import calm_threads
from sanne.errors import InputError
from sanne.evaluate.logistic import C_GRID, row_scale
from sanne.evaluate.node_classification import SplitScore, percent
from sanne_lab.evaluate.logistic import fit_softmax


def score_split(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike,
    train: npt.ArrayLike,
    val: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
) -> SplitScore:
    """Score one split: `vectors` is (n, dim), `labels` is (n,), the rest are node indices.

    >>> score_split(model.embedding_, graph.labels, train, val, test).test
    """
    rows, names = np.asarray(vectors), np.asarray(labels)
    if len(rows) != len(names):
        raise InputError(f"{len(rows)} vectors but {len(names)} labels: give one label per vector")
    parts = [node_indices(nodes, len(rows), name) for nodes, name in ((train, "train"), (val, "val"), (test, "test"))]
    arrays = [array for part in parts for array in (rows[part], names[part])]
    return predict_arrays(*arrays, Cs=Cs).score


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
        scores_of = fit_softmax((train[0] - centre) / scale, targets, len(classes), grid).scores
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
