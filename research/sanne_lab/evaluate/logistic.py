"""L2-regularised logistic regression, solved for many values of C at once.

The minimum of |W|^2 / 2 + C * (sum of the losses of the rows), the intercept free, is scikit-learn's. Here
all values of C share their matrix products, and the rows are first turned to their principal axes, where a
diagonal preconditioner is nearly exact: an order of magnitude faster, as a score after every epoch needs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.special

from sanne.evaluate.logistic import principal_axes

Array = npt.NDArray[np.float64]
IntVector = npt.NDArray[np.int64]

_TOLERANCE = 1e-4  # predictions differ from those at 1e-6 in less than one of 1000 nodes
_MAX_NEWTON, _MAX_CONJUGATE, _MAX_HALVINGS = 60, 60, 30
_GROUP = 5  # values of C side by side; the next group starts from where the last one ended
_MAX_SCORES = 4_000_000  # numbers in one array of scores; more values of C than fit are solved in turn


@dataclass(frozen=True, eq=False)
class Solutions:
    """Weights and intercepts for each value of C: shapes (C, dim, classes) and (C, classes)."""

    weights: Array
    intercepts: Array

    def scores(self, vectors: npt.ArrayLike) -> Array:
        """Scores of the classes, (C, rows, classes)."""
        rows = np.asarray(vectors, np.float64)
        return np.asarray(rows @ self.weights + self.intercepts[:, None, :])


def fit_softmax(vectors: npt.ArrayLike, classes: IntVector, num_classes: int, Cs: npt.ArrayLike) -> Solutions:
    """One multinomial classifier per value of C; `classes` are the numbers 0..num_classes-1."""
    return _fit(vectors, np.eye(num_classes)[classes], Cs, _Softmax)


def fit_one_vs_rest(vectors: npt.ArrayLike, indicators: npt.ArrayLike, Cs: npt.ArrayLike) -> Solutions:
    """One yes-or-no classifier per column of `indicators` and value of C."""
    return _fit(vectors, np.asarray(indicators, np.float64), Cs, _Sigmoid)


class _Softmax:
    """Cross-entropy of the softmax; arrays are (rows, C, classes)."""

    @staticmethod
    def loss(scores: Array, targets: Array) -> Array:
        top = scores.max(axis=2, keepdims=True)
        normalisers = np.log(np.exp(scores - top).sum(axis=2)) + top[:, :, 0]
        return np.asarray(normalisers.sum(axis=0) - np.einsum("nck,nk->c", scores, targets))

    @staticmethod
    def probabilities(scores: Array) -> Array:
        powers = np.exp(scores - scores.max(axis=2, keepdims=True))
        return np.asarray(powers / powers.sum(axis=2, keepdims=True))

    @staticmethod
    def curvature(probabilities: Array, direction: Array) -> Array:
        weighted = probabilities * direction
        return np.asarray(weighted - probabilities * weighted.sum(axis=2, keepdims=True))


class _Sigmoid:
    """Binary cross-entropy, summed over independent labels; arrays are (rows, C, labels)."""

    @staticmethod
    def loss(scores: Array, targets: Array) -> Array:
        normalisers = np.logaddexp(0, scores).sum(axis=(0, 2))
        return np.asarray(normalisers - np.einsum("nck,nk->c", scores, targets))

    @staticmethod
    def probabilities(scores: Array) -> Array:
        return np.asarray(scipy.special.expit(scores))

    @staticmethod
    def curvature(probabilities: Array, direction: Array) -> Array:
        return np.asarray(probabilities * (1 - probabilities) * direction)


class _Problem:
    """The objective for all values of C side by side; weights are (rank + 1, C, classes)."""

    def __init__(self, inputs: Array, targets: Array, Cs: Array, link: type[_Softmax] | type[_Sigmoid]):
        self.inputs, self.targets, self.link = inputs, targets, link
        self.C = Cs[:, None]
        self.penalty = np.ones((inputs.shape[1], 1, 1))
        self.penalty[-1] = 0  # the intercept

    def zeros(self) -> Array:
        return np.zeros((self.inputs.shape[1], len(self.C), self.targets.shape[1]))

    def scores(self, weights: Array) -> Array:
        return _product(self.inputs, weights)

    def value(self, weights: Array, scores: Array) -> Array:
        penalty = 0.5 * _dot(self.penalty * weights, weights)
        return np.asarray(penalty + self.C[:, 0] * self.link.loss(scores, self.targets))

    def gradient(self, weights: Array, probabilities: Array) -> Array:
        errors = probabilities - self.targets[:, None]
        return np.asarray(self.penalty * weights + self.C * _product(self.inputs.T, errors))

    def curvature(self, probabilities: Array, direction: Array) -> Array:
        """The Hessian times a direction."""
        bent = self.link.curvature(probabilities, self.scores(direction))
        return np.asarray(self.penalty * direction + self.C * _product(self.inputs.T, bent))

    def diagonal(self, probabilities: Array) -> Array:
        """The Hessian's diagonal; on principal axes there is little beside it."""
        loss = _product(self.inputs.T**2, probabilities * (1 - probabilities))
        if self.link is _Softmax:
            # Alike for all classes: steps then never move all of them together, which no loss would notice.
            loss = loss.mean(axis=2, keepdims=True)
        return np.asarray(self.penalty + self.C * loss + 1e-12)


def _fit(vectors: npt.ArrayLike, targets: Array, Cs: npt.ArrayLike, link: type[_Softmax] | type[_Sigmoid]) -> Solutions:
    rows = np.asarray(vectors, np.float64)
    strengths = np.asarray(Cs, np.float64)
    centre = rows.mean(axis=0)
    _, axes = principal_axes(rows - centre)  # (dim, rank)
    inputs = np.column_stack([(rows - centre) @ axes, np.ones(len(rows))])  # the last column: the intercept
    at_once = max(1, min(_GROUP, _MAX_SCORES // targets.size))
    solved: list[Array] = []
    for i in range(0, len(strengths), at_once):
        problem = _Problem(inputs, targets, strengths[i : i + at_once], link)
        solved.append(_solve(problem, solved[-1][:, -1:] if solved else None))
    coefficients = np.concatenate(solved, axis=1)  # (rank + 1, C, classes)
    weights = np.moveaxis(_product(axes, coefficients[:-1]), 1, 0)  # (C, dim, classes)
    return Solutions(weights, coefficients[-1] - centre @ weights)


def _solve(problem: _Problem, start: Array | None) -> Array:
    """Newton's method, each step by conjugate gradients; a value of C that is done stands still."""
    weights = problem.zeros() if start is None else problem.zeros() + start
    scores = problem.scores(weights)
    for _ in range(_MAX_NEWTON):
        probabilities = problem.link.probabilities(scores)
        gradient = problem.gradient(weights, probabilities)
        diagonal = problem.diagonal(probabilities)
        value = problem.value(weights, scores)
        # Squared, this is about twice the share of the objective that can still be gained.
        distance = np.sqrt(_dot(gradient, gradient / diagonal) / value)
        if np.all(distance <= _TOLERANCE):
            break
        accuracy = np.where(distance > _TOLERANCE, np.minimum(0.25, np.sqrt(distance)), 1)
        step = _newton_step(problem, probabilities, gradient, diagonal, accuracy)
        length = _step_length(problem, weights, scores, value, step, _dot(gradient, step))
        weights = weights + length * step
        scores = scores + length * problem.scores(step)
    return weights


def _newton_step(problem: _Problem, probabilities: Array, gradient: Array, diagonal: Array, accuracy: Array) -> Array:
    """Preconditioned conjugate gradients, until each residual has shrunk to its `accuracy`."""
    step = np.zeros_like(gradient)
    residual = -gradient
    direction = residual / diagonal
    energy = _dot(residual, direction)
    goal = accuracy**2 * energy
    for _ in range(_MAX_CONJUGATE):
        active = energy > goal
        if not active.any():
            break
        bent = problem.curvature(probabilities, direction)
        length = np.divide(energy, _dot(direction, bent), out=np.zeros_like(energy), where=active)[:, None]
        step += length * direction
        residual -= length * bent
        scaled = residual / diagonal
        before, energy = energy, _dot(residual, scaled)
        direction = scaled + np.divide(energy, before, out=np.zeros_like(energy), where=active)[:, None] * direction
    return step


def _step_length(problem: _Problem, weights: Array, scores: Array, value: Array, step: Array, slope: Array) -> Array:
    """One, halved for each value of C until its objective falls enough: (C, 1)."""
    change = problem.scores(step)
    length = np.ones((len(value), 1))
    for _ in range(_MAX_HALVINGS):
        after = problem.value(weights + length * step, scores + length * change)
        too_long = after > value + 1e-4 * length[:, 0] * slope + 1e-12 * value
        if not too_long.any():
            break
        length[too_long] /= 2
    return length


def _product(matrix: Array, block: Array) -> Array:
    """A matrix times a block with its two last axes taken as one: a single large product."""
    flat = matrix @ block.reshape(len(block), -1)
    return np.asarray(flat.reshape(len(matrix), *block.shape[1:]))


def _dot(left: Array, right: Array) -> Array:
    """Inner products, one for each value of C."""
    return np.asarray(np.einsum("dck,dck->c", left, right))
