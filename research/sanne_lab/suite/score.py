"""Scores of vectors, cheap enough to be taken hundreds of times."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import minimize

from sanne.vectors.normalise import unit
from sanne_lab.suite.parts import Floats, Ints, unit_sparse
from sanne_lab.suite.splits import Split

_HALVINGS = 10


def accuracy(vectors: Any, labels: Ints, split: Split) -> tuple[float, float]:
    """Mean accuracy in percent, and the C behind it.

    In a split for choices, on half of the validation part with C from the other half, both ways and many times; in
    the final one, on the test part with C from the validation part.
    """
    Cs = strengths(len(split.train))
    classes, train = np.unique(labels[split.train], return_inverse=True)
    inputs = vectors[split.train]
    squares = inputs.multiply(inputs) if sp.issparse(inputs) else np.square(inputs, dtype=np.float64)
    scale = np.float32(np.sqrt(squares.sum() / len(split.train)))
    scored = np.concatenate([split.val, split.test])
    found = logistic(inputs / scale, train, len(classes), Cs, vectors[scored] / scale)
    right = np.stack([classes[scores.argmax(axis=1)] == labels[scored] for scores in found])
    if not len(split.test):
        return halved(right, Cs)
    best = int(right[:, : len(split.val)].mean(axis=1).argmax())
    return 100 * float(right[best, len(split.val) :].mean()), float(Cs[best])


def strengths(rows: int) -> npt.NDArray[np.float64]:
    """Values of C for vectors of length one in the mean square."""
    return 10.0 ** np.arange(-0.5, 3.6, 0.5) if rows < 1000 else 10.0 ** np.arange(0, 3.1, 0.5)


def logistic(
    inputs: Any, classes: Ints, num_classes: int, Cs: npt.NDArray[Any], rows: Any
) -> Iterator[npt.NDArray[np.float32]]:
    """Scores of `rows` by softmax regression on `inputs`, one array for each C, smallest first.

    |W|^2 / 2 + C * loss by L-BFGS in single precision, on principal axes (sparse inputs: on their columns) that are
    scaled to even out the curvature; each C starts from the last solution. Stopped early: predictions are what counts.
    """
    if sp.issparse(inputs):
        x, test, one = inputs.tocsr(), rows, sp.csr_matrix(np.ones((inputs.shape[0], 1), np.float32))
        moments = np.asarray(x.multiply(x).sum(axis=0)).ravel()
    else:
        centre = inputs.mean(axis=0)
        x, axes = principal_axes(inputs - centre)
        test, one = (rows - centre) @ axes, np.ones((len(x), 1), np.float32)
        moments = np.square(x).sum(axis=0)
    targets = np.eye(num_classes, dtype=np.float32)[classes]
    weights = np.zeros((x.shape[1] + 1, num_classes), np.float32)  # the last row: intercepts
    for C in Cs:
        gain = np.append(1 / np.sqrt(1 + C * moments / 8), 1 / np.sqrt(C * x.shape[0] / 8)).astype(np.float32)[:, None]
        scaled = sp.hstack([x, one]) @ sp.diags(gain.ravel()) if sp.issparse(x) else np.hstack([x, one]) * gain.T
        penalty = np.append(np.ones(x.shape[1]), 0).astype(np.float32)[:, None] * gain**2

        def objective(flat: npt.NDArray[Any], scaled: Any = scaled, penalty: Any = penalty, C: float = C) -> Any:
            w = flat.reshape(-1, num_classes).astype(np.float32)
            scores = scaled @ w
            scores -= scores.max(axis=1, keepdims=True)
            powers = np.exp(scores)
            sums = powers.sum(axis=1, keepdims=True)
            loss = float(np.log(sums).sum(dtype=np.float64) - np.vdot(scores, targets))
            powers /= sums
            powers -= targets
            gradient = penalty * w + np.float32(C) * (scaled.T @ powers)
            value = 0.5 * float((penalty * w * w).sum(dtype=np.float64)) + C * loss
            return value, gradient.astype(np.float64).ravel()

        start = (weights / gain).astype(np.float64).ravel()
        options = {"maxiter": 60, "ftol": 1e-5, "gtol": 1e-6, "maxcor": 8}
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        weights = found.x.reshape(-1, num_classes).astype(np.float32) * gain
        yield test @ weights[:-1] + weights[-1]


def principal_axes(rows: Floats) -> tuple[Floats, Floats]:
    """Rows on their principal axes (rows, rank), and those axes (columns, rank)."""
    wide = rows.shape[0] < rows.shape[1]
    moments, axes = eigh((rows @ rows.T if wide else rows.T @ rows).astype(np.float64))
    kept = moments > 1e-8 * moments[-1]
    moments, axes = moments[kept], axes[:, kept]
    if wide:
        axes = rows.T @ (axes / np.sqrt(moments)).astype(np.float32)
    axes = axes.astype(np.float32)
    return rows @ axes, axes


def halved(right: npt.NDArray[np.bool_], Cs: npt.NDArray[Any]) -> tuple[float, float]:
    """Accuracy over random halves, the row of `right` (one a setting) chosen on the other half."""
    stream = np.random.default_rng(5)
    size = right.shape[1]
    scores, chosen = [], []
    for _ in range(_HALVINGS):
        order = stream.permutation(size)
        for one, other in ((order[: size // 2], order[size // 2 :]), (order[size // 2 :], order[: size // 2])):
            best = int(right[:, one].mean(axis=1).argmax())
            scores.append(right[best, other].mean())
            chosen.append(Cs[best])
    return 100 * float(np.mean(scores)), float(np.exp(np.mean(np.log(chosen))))


def retrieval(
    vectors: Any, labels: Ints, groups: Ints | None, queries: Ints, candidates: Ints, sample: int = 1000
) -> dict[str, float]:
    """Of the ten nearest by cosine: percent of the same class, and percent of the siblings found, where there are any.

    Siblings are asked for by nodes that have 1 to 29 of them among the candidates.
    """
    stream = np.random.default_rng(0)
    queries = queries[labels[queries] >= 0]
    found = nearest(vectors, some := stream.permutation(queries)[:sample], candidates)
    scores = {"same": 100 * float((labels[found] == labels[some][:, None]).mean())}
    if groups is not None:
        sizes = np.bincount(groups[candidates][groups[candidates] >= 0], minlength=groups.max() + 1)
        siblings = sizes[groups] - np.isin(np.arange(len(groups)), candidates)
        asked = queries[(groups[queries] >= 0) & (siblings[queries] >= 1) & (siblings[queries] <= 29)]
        if len(asked):
            found = nearest(vectors, some := stream.permutation(asked)[:sample], candidates)
            hits = (groups[found] == groups[some][:, None]).sum(axis=1)
            scores["siblings"] = 100 * float((hits / np.minimum(siblings[some], 10)).mean())
    return scores


def nearest(vectors: Any, queries: Ints, candidates: Ints, count: int = 10) -> Ints:
    """The `count` nearest candidates of each query by cosine, itself left out."""
    rows = unit_sparse(vectors) if sp.issparse(vectors) else unit(vectors)
    among = rows[candidates].T
    found = []
    for first in range(0, len(queries), 250):
        part = queries[first : first + 250]
        cosines: Any = rows[part] @ among
        cosines = cosines.toarray() if sp.issparse(cosines) else cosines
        cosines[part[:, None] == candidates[None, :]] = -2
        top = np.argpartition(-cosines, count, axis=1)[:, :count]
        found.append(candidates[top])
    return np.concatenate(found)
