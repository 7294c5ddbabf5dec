"""Node classification from vectors: logistic regression as in the paper.

Vectors of any length are welcome: each set is divided by one number, the root mean square distance of its
training rows from their mean, so that the grid of C means the same for every system. Nothing else is done
to them but to move their mean to zero; to scale every dimension, for one, would cost 6 to 15 points on smoothed text
features. `regressions` is the one home of this, for scores as for predictions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from sanne.device import calm_threads
from sanne.errors import InputError

# Wide enough for the best C of every feature map tried on Cora, Citeseer and Pubmed to lie inside; below
# the first, the classifier no longer changes.
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-8, 7))


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores of classes, linear in a vector: `(vector - centre) / scale @ weight + bias`."""

    classes: npt.NDArray[Any]
    weight: npt.NDArray[np.float64]  # (dim, classes)
    bias: npt.NDArray[np.float64]
    centre: npt.NDArray[np.float64]
    scale: float

    def scores(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """(count, classes)."""
        return np.asarray(((rows - self.centre) / self.scale) @ self.weight + self.bias)

    def predict(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(self.classes[self.scores(rows).argmax(axis=1)])


def regressions(
    rows: npt.NDArray[np.float64], names: npt.NDArray[Any], grid: Sequence[float] = C_GRID, tol: float = 1e-5
) -> Iterator[tuple[float, Linear]]:
    """Logistic regression of classes on scaled vectors, at every C of an ascending grid."""
    centre, scale = rows.mean(axis=0), row_scale(rows)
    scaled = (rows - centre) / scale
    model = LogisticRegression(tol=tol, max_iter=10_000, warm_start=True)
    for C in grid:
        with calm_threads(scaled):
            model.set_params(C=C).fit(scaled, names)
        weight, bias = model.coef_.T, model.intercept_
        if len(model.classes_) == 2:  # one score, of the second class against the first
            weight, bias = (np.concatenate([np.zeros_like(part), part], axis=-1) for part in (weight, bias))
        yield C, Linear(model.classes_, weight.copy(), bias.copy(), centre, scale)


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
    rows, names = np.asarray(vectors, np.float64), np.asarray(labels)
    if rows.ndim != 2 or names.shape != (len(rows),) or not np.isfinite(rows).all():
        raise InputError(f"finite vectors with one label each are needed, not shapes {rows.shape} and {names.shape}")
    parts = [np.asarray(part) for part in (train, val, test)]
    if any(part.size == 0 for part in parts) or len(np.unique(names[parts[0]])) < 2:
        raise InputError("a classifier needs train nodes of two classes or more, and nodes to choose C and to test on")
    best = SplitScore(-1.0, -1.0, 0.0)
    for C, fitted in regressions(rows[parts[0]], names[parts[0]]):
        found = [percent((fitted.predict(rows[part]) == names[part]).mean()) for part in parts[1:]]
        if found[0] > best.val:
            best = SplitScore(found[0], found[1], C)
    return best


def percent(share: Any) -> float:
    return round(100 * float(share), 6)


def row_scale(train_vectors: npt.NDArray[np.float64]) -> float:
    """Root mean square distance of the rows from their mean."""
    variance = float(((train_vectors - train_vectors.mean(axis=0)) ** 2).sum(axis=1).mean())
    return float(np.sqrt(variance)) or 1.0
