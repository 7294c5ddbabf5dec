"""Scores of vectors, cheap enough to be taken hundreds of times."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize

from sanne_lab.suite.graphs import Floats, Ints
from sanne_lab.suite.splits import Split

_HALVINGS = 10


def accuracy(vectors: Floats, labels: Ints, split: Split) -> tuple[float, float]:
    """Mean accuracy in percent on half of the validation part, C chosen on the other half, and the usual C."""
    Cs = strengths(len(split.train))
    classes, train = np.unique(labels[split.train], return_inverse=True)
    scale = np.sqrt(np.mean(np.sum(np.square(vectors[split.train], dtype=np.float64), axis=1)))
    inputs = (vectors[split.train] / scale).astype(np.float32)
    rows = (vectors[split.val] / scale).astype(np.float32)
    right = [
        classes[scores.argmax(axis=1)] == labels[split.val]
        for scores in logistic(inputs, train, len(classes), Cs, rows)
    ]
    return halved(np.stack(right), Cs)


def strengths(rows: int) -> npt.NDArray[np.float64]:
    """Values of C for vectors of length one in the mean square."""
    return 10.0 ** np.arange(-0.5, 3.6, 0.5) if rows < 1000 else 10.0 ** np.arange(0, 3.1, 0.5)


def logistic(
    inputs: Floats, classes: Ints, num_classes: int, Cs: npt.NDArray[Any], rows: Floats
) -> Iterator[npt.NDArray[np.float32]]:
    """Scores of `rows` by softmax regression on `inputs`, one array for each C, smallest first.

    |W|^2 / 2 + C * loss by L-BFGS in single precision, on principal axes that are scaled to even out the curvature;
    each C starts from the last solution. Stopped early: predictions are what counts.
    """
    centre = inputs.mean(axis=0)
    x, axes = principal_axes(inputs - centre)
    moments = np.square(x).sum(axis=0)
    test = (rows - centre) @ axes
    targets = np.eye(num_classes, dtype=np.float32)[classes]
    weights = np.zeros((x.shape[1] + 1, num_classes), np.float32)  # the last row: intercepts
    for C in Cs:
        gain = np.append(1 / np.sqrt(1 + C * moments / 8), 1 / np.sqrt(C * len(x) / 8)).astype(np.float32)[:, None]
        scaled = np.column_stack([x, np.ones(len(x), np.float32)]) * gain.T
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


def nearest(vectors: Floats, queries: Ints, candidates: Ints, count: int = 10) -> Ints:
    """The `count` nearest candidates of each query by cosine, itself left out."""
    rows = unit(vectors)
    among = rows[candidates]
    found = []
    for first in range(0, len(queries), 500):
        part = queries[first : first + 500]
        cosines = rows[part] @ among.T
        cosines[part[:, None] == candidates[None, :]] = -2
        top = np.argpartition(-cosines, count, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(cosines, top, axis=1), axis=1)
        found.append(candidates[np.take_along_axis(top, order, axis=1)])
    return np.concatenate(found)


def retrieval(
    vectors: Floats, labels: Ints, groups: Ints | None, pool: Ints, seed: int = 0, sample: int = 1000
) -> dict[str, float]:
    """Percent of the ten nearest with the same class and, where there are groups, percent of siblings found."""
    stream = np.random.default_rng(seed)
    known = pool[labels[pool] >= 0]
    if groups is not None:
        sizes = np.bincount(groups[pool][groups[pool] >= 0])
        known = known[groups[known] >= 0]
        known = known[(sizes[groups[known]] >= 2) & (sizes[groups[known]] <= 30)]
    queries = stream.choice(known, min(sample, len(known)), replace=False)
    found = nearest(vectors, queries, pool)
    scores = {"same": 100 * float((labels[found] == labels[queries][:, None]).mean())}
    if groups is not None:
        hits = (groups[found] == groups[queries][:, None]).sum(axis=1)
        scores["siblings"] = 100 * float((hits / np.minimum(sizes[groups[queries]] - 1, 10)).mean())
    return scores


def communities(vectors: Floats, labels: Ints, seeds: int = 3) -> float:
    """Normalised mutual information, in percent, of k-means clusters with the classes."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    known = labels >= 0
    count = len(np.unique(labels[known]))
    rows = unit(vectors)[known]
    clusters = [KMeans(count, n_init=3, random_state=seed).fit_predict(rows) for seed in range(seeds)]
    return 100 * float(np.mean([normalized_mutual_info_score(labels[known], c) for c in clusters]))


def unit(rows: Floats) -> Floats:
    """Rows of length one; zero rows stay zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(length, 1e-12)).astype(np.float32)
