"""Learn a classifier from vectors and labels: C by cross-validation, probabilities calibrated on left-out nodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from sanne.errors import InputError
from sanne.evaluate.logistic import C_GRID, Floats, Members, regressions
from sanne.evaluate.node_classification import percent
from sanne.model.classifier import Classifier, Label, given_labels, probabilities_of, shown_labels
from sanne.progress import steps
from sanne.seeds import numpy_stream

FEW_LABELS = 5  # a class with fewer is learnt, but hardly measured
_FOLDS = 5
FEW_CALIBRATED = 50  # labelled nodes; with fewer, probabilities were seen to be ten points off, and 4 with 50
_MOST_CHECKED = 5000  # labelled nodes that cross-validation looks at; more cost minutes and change little
_PATIENCE = 3  # values of C with a worse score, before larger ones are given up


def learn_classifier(
    vectors: npt.NDArray[Any],
    members: Members,
    classes: Sequence[Label],
    *,
    several: bool = False,
    C: float | None = None,
    seed: int = 0,
    progress: bool | None = False,
) -> Classifier:
    """The classifier of labelled nodes; without `several`, every node has exactly one label.

    With one label a node, classes with a single node are left out: nothing could be said about how well they are
    learnt. `record` of the result has the scores and counts.

    >>> learn_classifier(model.embedding_, labels[:, None] == classes, classes).record["accuracy"]
    """
    sizes = members.sum(axis=0)
    left_out = [] if several else [label for label, size in zip(classes, sizes, strict=True) if size < 2]
    keep = np.array([label not in set(left_out) for label in classes], bool)
    if keep.sum() < 2 or (sizes[keep] > 0).sum() < 2:
        why = f" ({shown_labels(left_out)} have one each)" if left_out else ""
        raise InputError(
            f"a classifier needs two classes with two labelled nodes or more{why}: "
            "label more nodes, or check that the label column holds classes"
        )
    names = [label for label, kept in zip(classes, keep, strict=True) if kept]
    used = members[:, keep].any(axis=1) | several
    rows, members = vectors[used], members[used][:, keep]
    checked = _sample(members, seed)
    truth, start = members[checked], None
    best_C, scores = _cross_validate(rows[checked], truth, several, C, seed, progress)
    if len(checked) < len(rows):  # the folds were far smaller than what there is to learn from
        others = np.delete(np.arange(len(rows)), checked)
        _, start = next(regressions(rows[others], members[others], (best_C,), several=several))
        scores = start.scores(rows[checked])
    heat = _temperature(scores, truth, several)
    likely = probabilities_of(scores / heat, several=several)
    threshold = _threshold(likely, truth) if several else None
    _, fitted = next(regressions(rows, members, (best_C,), several=several, start=start))
    commonest = np.zeros_like(truth)
    commonest[:, members.sum(axis=0).argmax()] = True
    record = {
        "labels": int(members.sum()),
        "nodes": len(rows),
        "accuracy": _agreement(given_labels(likely, threshold), truth),
        "majority": _agreement(commonest, truth),
        "checked": len(checked),
        "C": best_C,
        "counts": [int(size) for size in sizes[keep]],
        "left_out": left_out,
    }
    return Classifier(
        tuple(names),
        np.ascontiguousarray(fitted.weight / heat, np.float32),
        np.asarray(fitted.bias / heat, np.float32),
        threshold,
        record,
    )


def _cross_validate(
    rows: npt.NDArray[Any], members: Members, several: bool, C: float | None, seed: int, progress: bool | None
) -> tuple[float, Floats]:
    """The best C (the smaller of equals), and the scores that it gives every node from the folds without it."""
    fold = _folds(members, seed)
    grid = C_GRID if C is None else (C,)
    folds = range(fold.max() + 1)
    paths = [regressions(rows[fold != k], members[fold != k], grid, several=several) for k in folds]
    best, best_C, waited = -1.0, grid[0], 0
    best_scores: Floats = np.empty(members.shape)
    bar = steps(grid, of="choosing C", unit="value", shown=progress)
    for C_now, *fits in zip(bar, *paths, strict=True):
        scores = np.empty(members.shape)
        for k, (_, fitted) in enumerate(fits):
            scores[fold == k] = fitted.scores(rows[fold == k])
        likely = probabilities_of(scores, several=several)
        found = _agreement(given_labels(likely, 0.5 if several else None), members)
        waited = waited + 1 if found < best else 0
        if found > best:
            best, best_C, best_scores = found, C_now, scores
        if waited == _PATIENCE or best == 100:
            break
    bar.close()
    return best_C, best_scores


def _sample(members: Members, seed: int) -> npt.NDArray[np.int64]:
    """Some nodes to cross-validate on: all if they are not too many, else a share of every class, two at least."""
    order = numpy_stream(seed, "checked").permutation(len(members))
    if len(members) <= _MOST_CHECKED:
        return np.sort(order)
    first = members[order].argmax(axis=1)
    nodes_of = [order[first == k] for k in range(members.shape[1])]
    return np.sort(np.concatenate([nodes[: max(2, len(nodes) * _MOST_CHECKED // len(order))] for nodes in nodes_of]))


def _folds(members: Members, seed: int) -> npt.NDArray[np.int64]:
    """The fold of every node, from 0; the nodes of a class go to the folds in turn."""
    order = numpy_stream(seed, "folds").permutation(len(members))
    order = order[np.argsort(members[order].argmax(axis=1), kind="stable")]
    fold = np.empty(len(members), np.int64)
    fold[order] = np.arange(len(members)) % min(_FOLDS, len(members))
    return fold


def _temperature(scores: Floats, members: Members, several: bool) -> float:
    """The number that scores are divided by so that the left-out labels are likeliest.

    As if there were one more node that might have any label: few nodes, all of them right, do not make certainty.
    """
    doubt = 1 / (len(members) + 1)
    target = members * (1 - doubt) + doubt * (0.5 if several else 1 / members.shape[1])

    def loss(log_heat: float) -> float:
        warm = scores / np.exp(log_heat)
        if several:
            return float((np.logaddexp(0, warm) - target * warm).mean())
        return float((np.logaddexp.reduce(warm, axis=1) - (target * warm).sum(axis=1)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))


def _threshold(likely: Floats, members: Members) -> float:
    """The probability from which on a label is given, for the best agreement with the labels."""
    tried = [k / 20 for k in range(1, 20)]
    return max(tried, key=lambda threshold: _agreement(given_labels(likely, threshold), members))


def _agreement(given: Members, members: Members) -> float:
    """Micro-averaged F1 in percent, which is accuracy where every node has one label."""
    both = (given & members).sum()
    return percent(2 * both / max(1, given.sum() + members.sum()))
