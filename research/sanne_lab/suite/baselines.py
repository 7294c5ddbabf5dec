"""Closed-form rivals: functions of a view that give one row for every node, newcomers by the same maps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.features.svd import components
from sanne.vectors.normalise import unit
from sanne_lab.suite.parts import Floats, level, restarted, ridge_r2, spread, standardised, tfidf
from sanne_lab.suite.view import View


class LeftOut(Exception):
    """A system does not run on a graph; the message says why, in a few words for the table."""


WIDTH = 256
RESTARTS = (1.0, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.02)
STEPS = 32


def smoothings(view: View, rows: Floats, restarts: Sequence[float], steps: int = STEPS) -> list[Floats]:
    """The rows at several restarts: present nodes over the known links, newcomers over all links."""
    results = restarted(spread(view.known), rows, restarts, steps)
    if view.strict:
        new = ~view.present
        for result, whole in zip(results, restarted(spread(view.whole), rows, restarts, steps), strict=True):
            result[new] = whole[new]
    return results


def own(view: View, width: int = WIDTH) -> Floats:
    """TF-IDF and SVD of a node's own words, rows of length one; numeric columns are standardised instead."""
    if view.numeric:
        return level(standardised(view.counts, view.present))
    return _reduced(view, view.counts, width)


def words(view: View) -> Any:
    """TF-IDF of a node's own words, sparse."""
    if view.numeric:
        raise LeftOut("no words")
    return tfidf(view.counts, view.present)


def smoothed(view: View) -> Floats:
    return unit(smoothings(view, own(view), (0.1,), 16)[0])


def smoothed_picked(view: View) -> Floats:
    restart, _ = pick_restart(view)
    return unit(smoothings(view, own(view), (restart,))[0])


def pick_restart(view: View, columns: int = 16, seed: int = 0) -> tuple[float, dict[float, float]]:
    """The restart that best predicts one half of the words of a node from the other half."""
    stream = np.random.default_rng(seed)
    first = stream.random(view.counts.shape[1]) < 0.5
    halves = [half_basis(view, words) for words in (first, ~first)]
    present = np.flatnonzero(view.present)
    left_out = stream.random(len(present)) < 0.2
    curve = dict.fromkeys(RESTARTS, 0.0)
    for tokens, target in (halves, halves[::-1]):
        for restart, rows in zip(RESTARTS, restarted(spread(view.known), tokens, RESTARTS, STEPS), strict=True):
            r2 = ridge_r2(unit(rows), target[:, :columns], present[~left_out], present[left_out])
            curve[restart] += r2 / 2
    return max(curve, key=curve.__getitem__), curve


def half_basis(view: View, words: Any, width: int = 128) -> Floats:
    if view.numeric:
        return unit(standardised(view.counts[:, words], view.present))
    return _reduced(view, view.counts[:, np.flatnonzero(words)], width)


def _reduced(view: View, counts: Any, width: int) -> Floats:
    weighted = tfidf(counts, view.present)
    among = weighted[np.flatnonzero(view.present)]
    return unit(weighted @ components(among, width, np.random.default_rng(0), passes=3))


def hops(view: View) -> Floats:
    """Own features, one step and two steps side by side."""
    rows = own(view)
    return np.concatenate([unit(part) for part in (rows, *steps(view, rows, 2))], axis=1)


def steps(view: View, rows: Floats, count: int) -> list[Floats]:
    """Powers 1..count of the spread applied to the rows."""
    results, operators = [], [spread(view.known)] + ([spread(view.whole)] if view.strict else [])
    powers = [rows] * len(operators)
    for _ in range(count):
        powers = [operator @ power for operator, power in zip(operators, powers, strict=True)]
        result = powers[0].copy()
        if view.strict:
            result[~view.present] = powers[1][~view.present]
        results.append(result)
    return results


def hops_smoothed(view: View) -> Floats:
    """Own features, one step and the smoothed ones side by side."""
    rows = own(view)
    parts = (rows, steps(view, rows, 1)[0], smoothings(view, rows, (0.1,), 16)[0])
    return np.concatenate([unit(part) for part in parts], axis=1)


def neighbours_mean(view: View) -> Floats:
    """The mean of the neighbours' own features, one's own where there are none."""
    rows = own(view)
    links = view.known.copy()
    if view.strict:
        new = sp.diags((~view.present).astype(np.float32))
        links = links + new @ view.whole
    mean = links @ rows
    alone = np.asarray(links.sum(axis=1)).ravel() == 0
    mean[alone] = rows[alone]
    return unit(mean)


def fastrp(view: View, width: int = WIDTH) -> Floats:
    """FastRP: random signs spread 1 to 4 steps over the links, weights 0, 1, 1, 4 and rows of length one a step."""
    stream = np.random.default_rng(0)
    signs = stream.choice(np.array([-1, 0, 1], np.float32), (len(view.present), width), p=[1 / 6, 2 / 3, 1 / 6])
    total = np.zeros_like(signs)
    for rows, weight in zip(steps(view, signs, 4), (0.0, 1.0, 1.0, 4.0), strict=True):
        total += np.float32(weight) * unit(rows)
    return level(total)


SYSTEMS: dict[str, Callable[[View], Floats]] = {
    "own": own,
    "words": words,
    "smoothed": smoothed,
    "smoothed-picked": smoothed_picked,
    "hops": hops,
    "hops-smoothed": hops_smoothed,
    "neighbours-mean": neighbours_mean,
    "fastrp": fastrp,
}
