"""Multi-label classification from vectors: one-vs-rest logistic regression, as DeepWalk was judged on BlogCatalog."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.device import calm_threads
from sanne.errors import InputError
from sanne.evaluate.logistic import C_GRID, row_scale
from sanne.evaluate.node_classification import percent
from sanne_lab.evaluate.logistic import fit_one_vs_rest
from sanne_lab.evaluate.node_classification import checked_rows, node_indices


@dataclass(frozen=True)
class MultilabelScore:
    """F1 in percent: over all decisions (micro), and averaged over labels (macro)."""

    micro_f1: float
    macro_f1: float
    C: float
    val: float  # micro-F1 on the train nodes that chose C; not a number where nothing was chosen

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def score_multilabel(
    vectors: npt.ArrayLike,
    indicators: Any,
    train: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
) -> MultilabelScore:
    """One-vs-rest on `indicators` (nodes, labels; 0 or 1), where each test node's number of labels is known.

    C is chosen by micro-F1 on every fifth of the train nodes; with a single C all of them train at once.
    """
    marks = indicator_array(indicators)
    rows, marks = checked_rows(vectors, marks, "multi-label")
    train_nodes, test_nodes = node_indices(train, len(rows), "train"), node_indices(test, len(rows), "test")
    rows = rows / row_scale(rows[train_nodes])
    with calm_threads(rows[train_nodes]):
        C, val = _choose_multilabel_c(rows[train_nodes], marks[train_nodes], Cs)
        scores = fit_one_vs_rest(rows[train_nodes], marks[train_nodes], [C]).scores(rows[test_nodes])[0]
    truth = marks[test_nodes]
    micro, macro = _f1(truth, top_labels(scores, truth.sum(axis=1)))
    return MultilabelScore(percent(micro), percent(macro), C, percent(val))


def _choose_multilabel_c(
    rows: npt.NDArray[np.float64], marks: npt.NDArray[np.bool_], Cs: Sequence[float]
) -> tuple[float, float]:
    grid = np.sort(np.asarray(Cs, np.float64))
    if len(grid) == 1 or len(rows) < 5:
        return float(grid[0]), float("nan")
    val = np.arange(len(rows)) % 5 == 4
    counts = marks[val].sum(axis=1)
    scores = fit_one_vs_rest(rows[~val], marks[~val], grid).scores(rows[val])
    micro = [_f1(marks[val], top_labels(each, counts))[0] for each in scores]
    best = int(np.argmax(micro))
    return float(grid[best]), micro[best]


def top_labels(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Mark the counts[i] best-scored labels of each row i."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(ranks < counts[:, None])


def _f1(truth: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> tuple[float, float]:
    hits = (truth & predicted).sum(axis=0)
    marked = truth.sum(axis=0) + predicted.sum(axis=0)
    each = 2 * hits / np.maximum(marked, 1)  # a label that nobody has or gets counts 0, as in scikit-learn
    return float(2 * hits.sum() / max(marked.sum(), 1)), float(each.mean())


def indicator_array(indicators: Any) -> npt.NDArray[np.bool_]:
    """Labels (nodes, labels), sparse or dense, as an array of true and false."""
    dense = indicators.toarray() if hasattr(indicators, "toarray") else np.asarray(indicators)
    if dense.ndim != 2:
        raise InputError(f"multi-label indicators must be (nodes, labels), not of shape {dense.shape}")
    return np.asarray(dense, bool)
