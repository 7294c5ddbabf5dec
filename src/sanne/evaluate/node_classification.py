"""Node classification from vectors: logistic regression as in the paper, and one-vs-rest for multi-label data.

Vectors of any length are welcome: each set is divided by one number, the root mean square distance of its
training rows from their mean, so that the grid of C means the same for every system. Nothing else is done
to them; to scale every dimension, for one, would cost 6 to 15 points on smoothed text features.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

from sanne.errors import InputError
from sanne.evaluate.logistic import calm_threads, fit_one_vs_rest, fit_softmax
from sanne.seeds import numpy_stream

# Wide enough for the best C of every feature map tried on Cora, Citeseer and Pubmed to lie inside; below
# the first, the classifier no longer changes.
C_GRID: tuple[float, ...] = tuple(2.0**k for k in range(-8, 7))

Split = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]  # train, val, test nodes


@dataclass(frozen=True)
class SplitScore:
    """Accuracies on one split, in percent, at the C that validation chose."""

    val: float
    test: float
    C: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True)
class Classification:
    """Test accuracy over splits, in percent; `std` is over the splits themselves (divided by their number)."""

    mean: float
    std: float
    splits: list[SplitScore]

    @property
    def val_mean(self) -> float:
        return float(np.mean([split.val for split in self.splits]))

    def to_dict(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std, "splits": [split.to_dict() for split in self.splits]}


def classify(
    vectors: npt.ArrayLike, labels: npt.ArrayLike, splits: Iterable[Split], *, Cs: Sequence[float] = C_GRID
) -> Classification:
    """Score vectors on every (train, val, test) split of the node indices.

    >>> classify(model.embedding_, graph.labels, splits).mean
    """
    scores = [score_split(vectors, labels, *split, Cs=Cs) for split in splits]
    if not scores:
        raise InputError("no splits to score: give at least one (train, val, test)")
    return summarise(scores)


def summarise(scores: Sequence[SplitScore]) -> Classification:
    """Mean and standard deviation of scores that were computed one by one, as in the inductive setting."""
    tests = [score.test for score in scores]
    return Classification(float(np.mean(tests)), float(np.std(tests)), list(scores))


def score_split(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike,
    train: npt.ArrayLike,
    val: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
) -> SplitScore:
    """Score one split: `vectors` is (n, dim), `labels` is (n,), the rest are node indices."""
    rows, names = np.asarray(vectors), np.asarray(labels)
    if len(rows) != len(names):
        raise InputError(f"{len(rows)} vectors but {len(names)} labels: give one label per vector")
    parts = [_nodes(nodes, len(rows), name) for nodes, name in ((train, "train"), (val, "val"), (test, "test"))]
    arrays = [array for part in parts for array in (rows[part], names[part])]
    return score_arrays(*arrays, Cs=Cs)


def score_arrays(
    train_vectors: npt.ArrayLike,
    train_labels: npt.ArrayLike,
    val_vectors: npt.ArrayLike,
    val_labels: npt.ArrayLike,
    test_vectors: npt.ArrayLike,
    test_labels: npt.ArrayLike,
    *,
    Cs: Sequence[float] = C_GRID,
) -> SplitScore:
    """Fit on the train rows, choose C by accuracy on the val rows (the smaller of equals), score the test rows."""
    train, val, test = (
        _checked(vectors, labels, name)
        for vectors, labels, name in (
            (train_vectors, train_labels, "train"),
            (val_vectors, val_labels, "val"),
            (test_vectors, test_labels, "test"),
        )
    )
    grid = np.sort(np.asarray(Cs, np.float64))
    if len(grid) == 0 or grid[0] <= 0:
        raise InputError(f"Cs must be positive numbers, not {list(Cs)}")
    classes, targets = np.unique(train[1], return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"the train nodes all have label {classes[0]!r}: a classifier needs two classes or more")
    with calm_threads(train[0]):
        scale = _scale(train[0])
        solutions = fit_softmax(train[0] / scale, targets, len(classes), grid)
        choices = solutions.scores(val[0] / scale).argmax(axis=2)
        accuracies = (classes[choices] == val[1]).mean(axis=1)
        best = int(accuracies.argmax())
        predicted = classes[solutions.pick(best).scores(test[0] / scale)[0].argmax(axis=1)]
    return SplitScore(
        val=_percent(accuracies[best]),
        test=_percent((predicted == test[1]).mean()),
        C=float(grid[best]),
    )


@dataclass(frozen=True)
class PairedTest:
    """A two-tailed paired t-test: the mean of a - b, t and p."""

    difference: float
    t: float
    p: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def paired_t_test(a: npt.ArrayLike, b: npt.ArrayLike) -> PairedTest:
    """Compare two systems by their scores on the same splits."""
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise InputError(
            f"a paired test needs two scores or more, the same splits in both: got {first.shape} and {second.shape}"
        )
    differences = first - second
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    if error == 0:
        return PairedTest(mean, 0.0 if mean == 0 else float(np.copysign(np.inf, mean)), float(mean == 0))
    t = mean / error
    return PairedTest(mean, t, float(2 * scipy.stats.t.sf(abs(t), len(differences) - 1)))


@dataclass(frozen=True)
class MultilabelScore:
    """F1 in percent: over all decisions (micro), and averaged over labels (macro)."""

    micro_f1: float
    macro_f1: float
    C: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def classify_multilabel(
    vectors: npt.ArrayLike,
    indicators: Any,
    *,
    train_fraction: float,
    num_splits: int = 10,
    seed: int = 0,
    Cs: Sequence[float] = C_GRID,
) -> list[MultilabelScore]:
    """The BlogCatalog protocol: train on a random share of the labelled nodes, test on the others."""
    if not 0 < train_fraction < 1:
        raise InputError(f"train_fraction must lie between 0 and 1, not {train_fraction}")
    marks = _indicator_array(indicators)
    labelled = np.flatnonzero(marks.any(axis=1))
    size = round(train_fraction * len(labelled))
    if size < 2 or size == len(labelled):
        raise InputError(f"{len(labelled)} labelled nodes are too few for a training share of {train_fraction}")
    scores = []
    for i in range(num_splits):
        order = numpy_stream(seed, "split", i).permutation(labelled)
        scores.append(score_multilabel(vectors, marks, order[:size], order[size:], Cs=Cs))
    return scores


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
    marks = _indicator_array(indicators)
    rows, marks = _checked(vectors, marks, "multi-label")
    train_nodes, test_nodes = _nodes(train, len(rows), "train"), _nodes(test, len(rows), "test")
    rows = rows / _scale(rows[train_nodes])
    with calm_threads(rows[train_nodes]):
        C = _choose_multilabel_c(rows[train_nodes], marks[train_nodes], Cs)
        scores = fit_one_vs_rest(rows[train_nodes], marks[train_nodes], [C]).scores(rows[test_nodes])[0]
    truth = marks[test_nodes]
    micro, macro = _f1(truth, top_labels(scores, truth.sum(axis=1)))
    return MultilabelScore(_percent(micro), _percent(macro), C)


def _choose_multilabel_c(rows: npt.NDArray[np.float64], marks: npt.NDArray[np.bool_], Cs: Sequence[float]) -> float:
    grid = np.sort(np.asarray(Cs, np.float64))
    if len(grid) == 1 or len(rows) < 5:
        return float(grid[0])
    val = np.arange(len(rows)) % 5 == 4
    counts = marks[val].sum(axis=1)
    scores = fit_one_vs_rest(rows[~val], marks[~val], grid).scores(rows[val])
    return float(grid[np.argmax([_f1(marks[val], top_labels(each, counts))[0] for each in scores])])


def top_labels(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Mark the counts[i] best-scored labels of each row i."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(ranks < counts[:, None])


def _f1(truth: npt.NDArray[np.bool_], predicted: npt.NDArray[np.bool_]) -> tuple[float, float]:
    hits = (truth & predicted).sum(axis=0)
    marked = truth.sum(axis=0) + predicted.sum(axis=0)
    each = 2 * hits / np.maximum(marked, 1)  # a label that nobody has or gets counts 0, as in scikit-learn
    return float(2 * hits.sum() / max(marked.sum(), 1)), float(each.mean())


def _percent(share: Any) -> float:
    return round(100 * float(share), 6)


def _scale(train_vectors: npt.NDArray[np.float64]) -> float:
    """Root mean square distance of the rows from their mean."""
    variance = float(((train_vectors - train_vectors.mean(axis=0)) ** 2).sum(axis=1).mean())
    return float(np.sqrt(variance)) or 1.0


def _indicator_array(indicators: Any) -> npt.NDArray[np.bool_]:
    dense = indicators.toarray() if hasattr(indicators, "toarray") else np.asarray(indicators)
    if dense.ndim != 2:
        raise InputError(f"multi-label indicators must be (nodes, labels), not of shape {dense.shape}")
    return np.asarray(dense, bool)


def _nodes(nodes: npt.ArrayLike, count: int, name: str) -> npt.NDArray[np.int64]:
    array = np.asarray(nodes)
    if array.dtype == bool:
        array = np.flatnonzero(array)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= count):
        raise InputError(f"{name} nodes must be indices in 0..{count - 1}")
    return array.astype(np.int64)


def _checked(vectors: npt.ArrayLike, labels: npt.ArrayLike, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    rows, names = np.asarray(vectors, np.float64), np.asarray(labels)
    if rows.ndim != 2 or len(rows) != len(names):
        raise InputError(f"{name}: vectors of shape {rows.shape} with labels of shape {names.shape}")
    if len(rows) == 0:
        raise InputError(f"there are no {name} nodes to score")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InputError(f"{name}: vector {bad} holds NaN or infinite values")
    return rows, names
