"""Predict what is hidden: half of a node's words from the other half, seen through the graph, and from its links.

Tokens of a node are the SVD of its visible words at several restarts and the SVD of its links. Each
half of the vocabulary is predicted twice: by one ridge regression from all tokens, and by one from each block of
tokens, added with weights for each column. Strengths and weights are set on nodes left out. Both predictions, own
words and smoothed words stand side by side; principal axes order the columns. No labels, no training.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import nnls

from sanne_lab.suite.graphs import Floats
from sanne_lab.suite.parts import components, restarted, spread, tfidf, unit
from sanne_lab.suite.view import View

STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
_ROWS = 16_384


@dataclass(frozen=True)
class Settings:
    """What the suite chooses."""

    splits: int = 2  # random halvings of the vocabulary
    width: int = 128  # columns of each half's SVD
    whole_width: int = 256  # columns of the SVD of all words, for own and smoothed words
    link_width: int = 128
    restarts: tuple[float, ...] = (1.0, 0.5, 0.2, 0.1, 0.02)
    steps: int = 32  # 16 are as good on the six graphs tried, but cost WordNet nearly two points
    joint: float = 0.7  # weights of the blocks, each of length one in the mean square
    stacked: float = 0.5
    own: float = 0.3
    smoothed: float = 1.0
    structure: float = 0.1
    gate: float = 8.0  # smoothed words count by (R2 of the best smoothing / R2 of the best) ** gate
    faint: float = 0.05  # and in proportion to the best R2 where it is below this
    sharp: float = 16.0  # one half of the smoothed words mixes restarts by (R2 / the best R2) ** sharp
    gain_sharp: float = 4.0  # the other by (what they add to own words / the most added) ** gain_sharp
    coarse: int = 16  # leading columns of the hidden half by which blocks and restarts are judged
    farthest: float = 0.2  # restarts up to this one are mixed
    predictions: int = 256  # columns of the predictions that are kept
    dim: int = 512
    seed: int = 0
    parts: tuple[str, ...] = field(default=("joint", "stacked", "own", "smoothed", "structure"))


def embed(view: View, settings: Settings | None = None) -> Floats:
    """Vectors of all nodes; newcomers by the maps of the present ones."""
    return principal(np.concatenate(blocks(view, settings or Settings()), axis=1), view, (settings or Settings()).dim)


def blocks(view: View, settings: Settings, report: dict[str, Any] | None = None) -> list[Floats]:
    """The weighted blocks side by side, before they are turned to principal axes."""
    spreads = Spreads(view)
    present = np.flatnonzero(view.present)
    left_out = np.random.default_rng([settings.seed, 1]).random(len(present)) < 0.2
    fitted, out = present[~left_out], present[left_out]
    links = link_rows(view, settings)
    joint: list[Floats] = []
    stacked: list[Floats] = []
    curves: list[npt.NDArray[np.float64]] = []
    added: list[npt.NDArray[np.float64]] = []
    for number in range(settings.splits):
        halves = vocabulary_halves(view, settings, number)
        tokens = [spreads.restarted(half, settings.restarts, settings.steps) for half in halves]
        for seen, target in ((0, 1), (1, 0)):
            both, scores, gains = predict([*tokens[seen], links], halves[target], fitted, out, settings.coarse)
            joint.append(both[:, : both.shape[1] // 2])
            stacked.append(both[:, both.shape[1] // 2 :])
            curves.append(scores)
            added.append(gains)
    curve = np.mean(curves, axis=0)[: len(settings.restarts)]
    gain = np.mean(added, axis=0)[: len(curve)]
    shares, gate = mixture(curve, gain, settings)
    if report is not None:
        report.update(curve=curve.round(4).tolist(), links=np.mean(curves, axis=0)[len(curve) :].round(4).tolist())
        report.update(gain=gain.round(4).tolist(), shares=shares.round(2).tolist(), gate=round(gate, 3))
    words = word_rows(view, np.arange(view.counts.shape[1]), settings.whole_width, 0)
    at_restarts = spreads.restarted(words, settings.restarts, settings.steps)
    smooth = np.zeros_like(words)
    for share, rows in zip(shares, at_restarts, strict=True):
        smooth += np.float32(share) * rows
    named = {
        "joint": lambda: principal(np.concatenate(joint, axis=1), view, settings.predictions),
        "stacked": lambda: principal(np.concatenate(stacked, axis=1), view, settings.predictions),
        "own": lambda: words,
        "smoothed": lambda: unit(smooth),
        "structure": lambda: structure(spreads),
    }
    weights = {
        "joint": settings.joint,
        "stacked": settings.stacked,
        "own": settings.own,
        "smoothed": settings.smoothed * gate,
        "structure": settings.structure,
    }
    return [np.float32(weights[name]) * level(named[name](), view) for name in settings.parts]


def mixture(
    curve: npt.NDArray[np.float64], gain: npt.NDArray[np.float64], settings: Settings
) -> tuple[npt.NDArray[np.float64], float]:
    """How much of each restart the smoothed words hold, and how much they count."""
    curve, gain = np.maximum(curve, 1e-6), np.maximum(gain, 1e-6)
    far = np.array(settings.restarts) <= settings.farthest
    shares = np.where(far, (curve / curve[far].max()) ** settings.sharp, 0)
    more = np.where(far, (gain / gain[far].max()) ** settings.gain_sharp, 0)
    gate = (curve[far].max() / curve.max()) ** settings.gate * min(1.0, curve.max() / settings.faint)
    return (shares / shares.sum() + more / more.sum()) / 2, float(gate)


class Spreads:
    """The two spreads of a view: present nodes see the known links, newcomers all of them."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.known = spread(view.known)
        self.whole = spread(view.whole) if view.strict else None

    def restarted(self, rows: Floats, restarts: tuple[float, ...], steps: int) -> list[Floats]:
        """Rows of length one at each restart."""
        results = restarted(self.known, rows, restarts, steps)
        if self.whole is not None:
            new = ~self.view.present
            for result, whole in zip(results, restarted(self.whole, rows, restarts, steps), strict=True):
                result[new] = whole[new]
        return [unit(result) for result in results]


def vocabulary_halves(view: View, settings: Settings, number: int) -> list[Floats]:
    """TF-IDF and SVD of each of two random halves of the words, rows of length one."""
    stream = np.random.default_rng([settings.seed, 2, number])
    first = stream.permutation(view.counts.shape[1]) % 2 == 0
    return [word_rows(view, np.flatnonzero(words), settings.width, number) for words in (first, ~first)]


def word_rows(view: View, words: npt.NDArray[np.int64], width: int, seed: int) -> Floats:
    """TF-IDF and SVD of some of the words, rows of length one."""
    weighted = tfidf(view.counts[:, words], view.present)
    basis, _ = components(weighted[np.flatnonzero(view.present)], width, seed, passes=3)
    return unit(weighted @ basis)


def link_rows(view: View, settings: Settings) -> Floats:
    """Links projected on the leading singular vectors of D^-1/2 A D^-1/2, rows of length one."""
    known = spread(view.known, loops=False)
    basis, _ = components(known[np.flatnonzero(view.present)], settings.link_width, 1, passes=5)
    if view.strict:
        new = sp.diags((~view.present).astype(np.float32))
        known = known + new @ spread(view.whole, loops=False)
    return unit(known @ basis)


def structure(spreads: Spreads) -> Floats:
    """How central a node is: logarithms of degree, neighbours' degree, and what ones become at three restarts."""
    view = spreads.view
    links = view.known + sp.diags((~view.present).astype(np.float32)) @ view.whole if view.strict else view.known
    degree = np.asarray(links.sum(axis=1)).ravel()
    around = (links @ degree) / np.maximum(degree, 1)
    columns = [np.log1p(degree), np.log1p(around)]
    ones = np.ones((len(degree), 1), np.float32)
    for rows in restarted(spread(links) if view.strict else spreads.known, ones, (0.5, 0.2, 0.05), 16):
        columns.append(np.log(np.maximum(rows[:, 0], 1e-6)))
    table = np.stack(columns, axis=1)
    among = table[view.present]
    return ((table - among.mean(axis=0)) / np.maximum(among.std(axis=0), 1e-6)).astype(np.float32)


class Moments:
    """Sums that a ridge regression needs, gathered in blocks of rows: counts, means, Gram and cross products."""

    def __init__(self, tokens: list[Floats], targets: Floats, rows: npt.NDArray[np.int64]) -> None:
        width = sum(token.shape[1] for token in tokens)
        self.count = len(rows)
        self.sum_x, self.sum_y = np.zeros(width), np.zeros(targets.shape[1])
        self.gram, self.cross = np.zeros((width, width)), np.zeros((width, targets.shape[1]))
        self.squares = np.zeros(targets.shape[1])
        for first in range(0, len(rows), _ROWS):
            part = rows[first : first + _ROWS]
            x, y = np.concatenate([token[part] for token in tokens], axis=1), targets[part]
            self.sum_x += x.sum(axis=0)
            self.sum_y += y.sum(axis=0)
            self.gram += x.T @ x
            self.cross += x.T @ y
            self.squares += np.square(y).sum(axis=0)

    def about(self, mean_x: Any, mean_y: Any) -> tuple[Any, Any, Any]:
        """Gram, cross products and squares with these means taken off."""
        gram = self.gram - np.outer(self.sum_x, mean_x) - np.outer(mean_x, self.sum_x)
        gram += self.count * np.outer(mean_x, mean_x)
        cross = self.cross - np.outer(self.sum_x, mean_y) - np.outer(mean_x, self.sum_y)
        cross += self.count * np.outer(mean_x, mean_y)
        squares = self.squares - 2 * mean_y * self.sum_y + self.count * mean_y**2
        return gram, cross, squares


def predict(
    tokens: list[Floats], targets: Floats, fitted: npt.NDArray[Any], left_out: npt.NDArray[Any], coarse: int
) -> tuple[Floats, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Joint and stacked predictions for all nodes; the R2 of each token block, and what it adds to the first."""
    inside, outside = Moments(tokens, targets, fitted), Moments(tokens, targets, left_out)
    mean_x, mean_y = inside.sum_x / inside.count, inside.sum_y / inside.count
    fit, test = inside.about(mean_x, mean_y), outside.about(mean_x, mean_y)
    ends = np.cumsum([0] + [token.shape[1] for token in tokens])
    places = [slice(a, b) for a, b in itertools.pairwise(ends)]
    broad_fit, broad_test = ((gram, cross[:, :coarse], squares[:coarse]) for gram, cross, squares in (fit, test))
    scores = np.array([ridge(broad_fit, broad_test, np.r_[place])[1] for place in places])
    beside = [np.r_[places[0], place] for place in places[1:]]
    gains = np.array([0.0] + [ridge(broad_fit, broad_test, both)[1] - scores[0] for both in beside])
    joint, _ = ridge(fit, test, np.arange(ends[-1]))
    alone = [ridge(fit, test, np.r_[place])[0] for place in places]
    weights = np.concatenate([joint, stack(alone, places, test)], axis=1)
    guess = np.zeros((len(targets), weights.shape[1]), np.float32)
    for token, place in zip(tokens, places, strict=True):
        guess += (token - mean_x[place].astype(np.float32)) @ weights[place]
    return guess, scores, gains


def stack(alone: list[Floats], places: list[slice], test: tuple[Any, Any, Any]) -> Floats:
    """Weights of the blocks' own regressions added up, each column by its own sum.

    One set of non-negative weights for all columns, then each column's least squares shrunk to it, on the test sums.
    """
    count, columns = len(alone), alone[0].shape[1]
    inner = np.zeros((columns, count, count))
    outer = np.zeros((columns, count))
    for i, j in itertools.product(range(count), repeat=2):
        inner[:, i, j] = np.einsum("dc,dc->c", alone[i], test[0][places[i], places[j]] @ alone[j])
    for i in range(count):
        outer[:, i] = np.einsum("dc,dc->c", alone[i], test[1][places[i]])
    common = inner.sum(axis=0)
    common += 1e-4 * np.trace(common) / count * np.eye(count) + 1e-12 * np.eye(count)
    root = cholesky(common, lower=True)
    shared = nnls(root.T, solve_triangular(root, outer.sum(axis=0), lower=True))[0]
    prior = common / columns
    shares = np.linalg.solve(inner + prior, (outer + prior @ shared)[:, :, None])[:, :, 0]
    return np.concatenate([part * shares[:, i].astype(np.float32) for i, part in enumerate(alone)])


def ridge(fit: tuple[Any, Any, Any], test: tuple[Any, Any, Any], place: npt.NDArray[np.int64]) -> tuple[Floats, float]:
    """Weights on some of the tokens' columns, the strength by R2 on the test sums, and that R2."""
    square = np.ix_(place, place)
    gram, cross = fit[0][square], fit[1][place]
    test_gram, test_cross = test[0][square], test[1][place]
    step = float(np.trace(gram)) / len(gram) / 100 + 1e-9
    tried: dict[float, tuple[float, Any]] = {}

    def attempt(strength: float) -> float:
        if strength not in tried:
            system = gram.copy()
            system[np.diag_indices_from(system)] += strength * step
            weights = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), cross, check_finite=False)
            error = test[2].sum() - 2 * np.vdot(weights, test_cross) + np.vdot(weights, test_gram @ weights)
            tried[strength] = (1 - float(error / max(test[2].sum(), 1e-12)), weights)
        return tried[strength][0]

    best = max(STRENGTHS, key=attempt)
    best = max((best, best * 10**0.5, best / 10**0.5), key=attempt)
    score, weights = tried[best]
    return weights.astype(np.float32), score


def level(rows: Floats, view: View) -> Floats:
    """Mean zero, and length one in the mean square, over the present nodes."""
    among = rows[view.present]
    centred = rows - among.mean(axis=0)
    return centred / np.float32(max(np.sqrt(np.mean(np.square(centred[view.present]).sum(axis=1))), 1e-12))


def principal(rows: Floats, view: View, width: int) -> Floats:
    """Rows on the principal axes of the present ones, the most important first."""
    among = rows[view.present]
    mean = among.mean(axis=0)
    _, axes = eigh((among.T @ among).astype(np.float64) - len(among) * np.outer(mean, mean))
    return (rows - mean) @ axes[:, ::-1][:, :width].astype(np.float32)
