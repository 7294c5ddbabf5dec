"""Ridge regressions from blocks of tokens to hidden columns: one from all blocks together, and one from each, added up.

Everything is computed from sums over nodes (Gram matrices), which are gathered in parts: no size of graph is too large.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from sanne.graph.graph import FloatArray, IntArray

Doubles = npt.NDArray[np.float64]

_STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)  # in percent of the mean diagonal of the Gram matrix
FOLDS = 5  # of the nodes; one is left out
_ROWS = 16_384  # added to the sums at a time


@dataclass(frozen=True, eq=False)
class Sums:
    """Products of centred tokens and targets over some nodes."""

    gram: Doubles  # (tokens, tokens)
    cross: Doubles  # (tokens, targets)
    squares: Doubles  # (targets,)

    def some(self, tokens: Any, targets: Any = slice(None)) -> "Sums":
        """For some tokens, given by numbers, and some targets."""
        return Sums(self.gram[np.ix_(tokens, tokens)], self.cross[tokens][:, targets], self.squares[targets])


@dataclass(frozen=True, eq=False)
class Prediction:
    """Weights (tokens, targets) of both regressions; how well each block predicts, alone and with the first one."""

    joint: FloatArray
    stacked: FloatArray
    scores: Doubles  # (blocks,): R2 on the nodes left out
    gains: Doubles  # (blocks,): R2 of the first block and this one, less that of the first alone; 0 where not wanted
    strength: float  # of the joint regression, in percent of the mean diagonal of the Gram matrix


def predict(
    tokens: list[FloatArray], targets: FloatArray, folds: IntArray, coarse: int, beside: Sequence[int]
) -> Prediction:
    """Fit both regressions; strengths, and the weights of blocks, are set on fold 0, which is left out.

    How well blocks predict is the mean over folds, each left out once: in a small graph a single one tells little.
    `coarse`: how many of the leading targets blocks are judged by. `beside`: the blocks whose gains are wanted.
    """
    sums = _sums(tokens, targets, folds)
    ends = np.cumsum([0] + [token.shape[1] for token in tokens])
    places = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
    scores = np.array([_r2(sums, place, slice(coarse)) for place in places])
    gains = np.zeros(len(places))
    for block in beside:
        gains[block] = _r2(sums, np.concatenate([places[0], places[block]]), slice(coarse)) - scores[0]
    test = sums[0]
    fit = _without(sums, 0)
    joint, _, strength = _ridge(fit, test)
    alone = [_ridge(fit.some(place), test.some(place))[0] for place in places]
    return Prediction(joint.astype(np.float32), _stack(alone, places, test), scores, gains, strength)


def _r2(sums: list[Sums], place: IntArray, targets: slice) -> float:
    """Of some tokens, for some targets: the mean over folds, each left out once."""
    parts = [part.some(place, targets) for part in sums]
    return float(np.mean([_ridge(_without(parts, fold), part)[1] for fold, part in enumerate(parts)]))


def _without(sums: list[Sums], fold: int) -> Sums:
    """The sums over all folds but one."""
    rest = [part for number, part in enumerate(sums) if number != fold]
    return Sums(*(sum(arrays) for arrays in zip(*((p.gram, p.cross, p.squares) for p in rest), strict=True)))


def _sums(tokens: list[FloatArray], targets: FloatArray, folds: IntArray) -> list[Sums]:
    """Sums over the nodes of each fold, about the means of all but those of fold 0."""
    width = sum(token.shape[1] for token in tokens)
    mean = np.zeros(width + targets.shape[1])
    fitted = np.flatnonzero(folds > 0)
    for part in _parts(fitted):
        mean += _joined(tokens, targets, part).sum(axis=0, dtype=np.float64) / max(len(fitted), 1)
    found = []
    for fold in range(FOLDS):
        total = np.zeros((width, width + targets.shape[1]))
        squares = np.zeros(targets.shape[1])
        for part in _parts(np.flatnonzero(folds == fold)):
            rows = _joined(tokens, targets, part) - mean.astype(np.float32)
            total += rows[:, :width].T @ rows
            squares += np.square(rows[:, width:]).sum(axis=0, dtype=np.float64)
        found.append(Sums(total[:, :width], total[:, width:], squares))
    return found


def _parts(nodes: IntArray) -> list[IntArray]:
    return [nodes[first : first + _ROWS] for first in range(0, len(nodes), _ROWS)]


def _joined(tokens: list[FloatArray], targets: FloatArray, part: IntArray) -> FloatArray:
    return np.concatenate([*(token[part] for token in tokens), targets[part]], axis=1)


def _ridge(fit: Sums, test: Sums) -> tuple[Doubles, float, float]:
    """Weights of the strength with the best R2 on the test sums, that R2, and the strength."""
    step = float(np.trace(fit.gram)) / len(fit.gram) / 100 + 1e-9
    total = max(float(test.squares.sum()), 1e-12)
    tried: dict[float, tuple[float, Doubles]] = {}

    def attempt(strength: float) -> float:
        if strength not in tried:
            system = fit.gram.copy()
            system[np.diag_indices_from(system)] += strength * step
            factor = cho_factor(system, overwrite_a=True, check_finite=False)
            weights = cho_solve(factor, fit.cross, check_finite=False)
            explained = 2 * np.vdot(weights, test.cross) - np.vdot(weights, test.gram @ weights)
            tried[strength] = float(explained) / total, weights
        return tried[strength][0]

    best, before = _STRENGTHS[len(_STRENGTHS) // 2], None
    while best != before:  # uphill: R2 has one peak
        before, near = best, _STRENGTHS.index(best)
        best = max(_STRENGTHS[max(near - 1, 0) : near + 2], key=attempt)
    best = max((best, best * 10**0.5, best / 10**0.5), key=attempt)
    score, weights = tried[best]
    return weights, score, best


def _stack(alone: list[Doubles], places: list[IntArray], test: Sums) -> FloatArray:
    """The blocks' own regressions added up, each column by its own sum.

    One set of non-negative weights for all columns, then each column's least squares shrunk to it, on the test sums.
    """
    count, columns = len(alone), alone[0].shape[1]
    inner = np.zeros((columns, count, count))
    outer = np.zeros((columns, count))
    for i in range(count):
        outer[:, i] = np.einsum("dc,dc->c", alone[i], test.cross[places[i]])
        for j in range(i + 1):
            products = np.einsum("dc,dc->c", alone[i], test.gram[np.ix_(places[i], places[j])] @ alone[j])
            inner[:, i, j] = inner[:, j, i] = products
    common = inner.sum(axis=0)
    common += (1e-4 * np.trace(common) / count + 1e-12) * np.eye(count)
    root = cholesky(common, lower=True)
    shared = nnls(root.T, solve_triangular(root, outer.sum(axis=0), lower=True))[0]
    prior = common / columns
    shares = np.linalg.solve(inner + prior, (outer + prior @ shared)[:, :, None])[:, :, 0]
    return np.concatenate([part * shares[:, i] for i, part in enumerate(alone)]).astype(np.float32)
