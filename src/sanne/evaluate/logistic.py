"""Logistic regression of classes on vectors: one solver for scores and for predictions.

Vectors of any length are welcome: each set is divided by one number, the root mean square distance of its training
rows from their mean, so that the grid of C means the same for every system. Nothing else is done to them but to move
their mean to zero; to scale every dimension, for one, would cost 6 to 15 points on smoothed text features.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from sanne.device import calm_threads

Floats = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]  # (nodes, classes): which labels a node has

# Wide enough for the best C of every feature map tried on Cora, Citeseer and Pubmed to lie inside; below
# the first, the classifier no longer changes.
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-8, 7))
_LARGE = 1_000_000  # numbers in the rows, from which on single precision saves more than it costs


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores of classes, linear in a vector."""

    weight: Floats  # (dim, classes)
    bias: Floats

    def scores(self, rows: npt.NDArray[Any]) -> Floats:
        """(count, classes)."""
        return np.asarray(rows @ self.weight + self.bias)


def regressions(
    rows: npt.NDArray[Any],
    members: Members,
    grid: Sequence[float] = C_GRID,
    *,
    several: bool = False,
    start: Linear | None = None,
) -> Iterator[tuple[float, Linear]]:
    """Regressions at every C of an ascending grid: one for all classes or, with `several`, one for each label.

    L-BFGS on the principal axes of the rows, each divided by about the square root of its curvature, which takes a
    third of the steps; a last step gains a share of `tol` of the loss or less.
    """
    count, (dtype, tol) = len(rows), (np.float32, 1e-5) if rows.size > _LARGE else (np.float64, 1e-7)
    centre, scale = rows.mean(axis=0, dtype=np.float64), row_scale(rows)
    scaled = ((rows - centre) / scale).astype(dtype)
    with calm_threads(scaled):
        moments, axes = principal_axes(scaled)
        turned = np.column_stack([scaled @ axes, np.ones(count, dtype)])  # the last column: the intercept
        del scaled
    moments = np.append(moments / count, 1)
    weights = np.zeros((len(moments), members.shape[1]))
    if start is not None:
        weights[:-1], weights[-1] = scale * (axes.T @ start.weight), start.bias + centre @ start.weight
    for C in grid:
        penalty = np.full((len(moments), 1), 1 / (C * count))
        penalty[-1] = 0
        curvature = np.sqrt(penalty + moments[:, None] / members.shape[1])

        def loss(flat: Floats, penalty: Floats = penalty, curvature: Floats = curvature) -> tuple[float, Floats]:
            weights = flat.reshape(curvature.shape[0], -1) / curvature
            scores = turned @ weights.astype(dtype)
            if not several:
                scores -= scores.max(axis=1, keepdims=True)
            right = scores[members].sum(dtype=np.float64)
            if several:
                normaliser = np.logaddexp(0, scores).sum(dtype=np.float64)
                errors = expit(scores)
            else:
                errors = np.exp(scores, out=scores)
                each = errors.sum(axis=1, keepdims=True)
                normaliser = np.log(each).sum(dtype=np.float64)
                errors /= each
            errors -= members
            slope = (turned.T @ errors) / count + penalty * weights
            value = (normaliser - right) / count + (penalty * weights**2).sum() / 2
            return float(value), (slope / curvature).ravel()

        with calm_threads(turned):
            options = {"ftol": tol, "gtol": 0, "maxiter": 10_000, "maxfun": 10_000, "maxls": 50}
            solved = minimize(loss, (weights * curvature).ravel(), jac=True, method="L-BFGS-B", options=options)
        weights = solved.x.reshape(weights.shape) / curvature
        weight = axes @ weights[:-1] / scale
        yield C, Linear(weight, weights[-1] - centre @ weight)


def principal_axes(rows: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[Any]]:
    """Sums of squares along orthonormal axes that span the rows, and these axes, (dim, rank)."""
    wide = rows.shape[0] < rows.shape[1]
    moments, axes = np.linalg.eigh((rows @ rows.T if wide else rows.T @ rows).astype(np.float64))
    kept = moments > 1e-12 * moments[-1]
    moments, axes = moments[kept], axes[:, kept]
    return moments, (rows.T @ axes / np.sqrt(moments) if wide else axes).astype(rows.dtype)


def row_scale(rows: npt.NDArray[Any]) -> float:
    """Root mean square distance of the rows from their mean."""
    return float(np.sqrt(np.var(rows, axis=0, dtype=np.float64).sum())) or 1.0
