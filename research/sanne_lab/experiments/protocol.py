"""The paper's protocol: ten splits, transductive or inductive, the epoch and C chosen on validation alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne.graph.graph import Graph, IntArray
from sanne.graph.split import hide_nodes
from sanne_lab.baselines.interface import Classifier, Labelled, Snapshot, System
from sanne_lab.evaluate.node_classification import Prediction, predict_arrays, score_split
from sanne_lab.experiments.cells import Cell, Measured
from sanne_lab.experiments.data import DATASETS, NUM_SPLITS, SETTINGS, FeaturesFrom, data_of

# Called in the inductive setting with each state that is the best so far, and what it says of the test nodes.
Watch = Callable[[Snapshot, Prediction], None]


class Best:
    """The best candidate so far on one split, by validation accuracy; test is scored but never compared."""

    def __init__(self) -> None:
        self.val, self.test = -1.0, -1.0
        self.C: float | None = None
        self.epoch = 0
        self.predicted: IntArray | None = None  # classes of the test nodes, in the inductive setting

    def offer(self, val: float, test: float, C: float | None, epoch: int, predicted: IntArray | None = None) -> bool:
        """Take a candidate if it is better; whether it was."""
        if val <= self.val:
            return False
        self.val, self.test, self.C, self.epoch, self.predicted = val, test, C, epoch, predicted
        return True


def transductive(system: System, graph: Graph, splits: Splits, seed: int) -> tuple[list[Best], float]:
    """All nodes are there in training, so that one training serves all splits."""
    labels = _labels(graph)
    best = [Best() for _ in range(len(splits))]

    def consider(snapshot: Snapshot) -> None:
        vectors = snapshot.present()
        for number, one in enumerate(best):
            score = score_split(vectors, labels, splits.train[number], splits.val[number], splits.test[number])
            one.offer(score.val, score.test, score.C, snapshot.epoch)

    seconds = system.fit(graph, seed, None, consider)
    return best, seconds


def classes(
    system: Classifier,
    graph: Graph,
    splits: Splits,
    number: int,
    setting: str,
    seed: int,
    features_from: FeaturesFrom,
) -> tuple[Best, float]:
    """One split of a system that is trained on classes; inductive as below."""
    labels, test = _labels(graph), splits.test[number]
    present = np.arange(graph.num_nodes)
    if setting == "inductive":
        present = np.setdiff1d(present, test)
    train, val = (
        Labelled(np.searchsorted(present, nodes), labels[nodes]) for nodes in (splits.train[number], splits.val[number])
    )
    source = graph if features_from == "all" else None
    if setting == "inductive":
        train_graph = hide_nodes(graph, test)
        fitted, seconds = system.fit_classes(train_graph, train, val, seed, source)
        # Validation nodes are asked for as newcomers are: Planetoid has a variant of its own for them.
        judged, found = fitted.new(train_graph, val.nodes), fitted.new(graph, test)
    else:
        fitted, seconds = system.fit_classes(graph, train, val, seed, None)
        judged, found = fitted.present(val.nodes), fitted.present(test)
    best = Best()
    best.offer(_accuracy(judged, val.classes), _accuracy(found, labels[test]), None, fitted.epoch, found)
    return best, seconds


def inductive(
    system: System,
    graph: Graph,
    splits: Splits,
    number: int,
    seed: int,
    features_from: FeaturesFrom = "present",
    watch: Watch | None = None,
) -> tuple[Best, float]:
    """The split's test nodes, their edges and their texts are gone before anything is fitted, then arrive."""
    labels = _labels(graph)
    test = splits.test[number]
    present = np.setdiff1d(np.arange(graph.num_nodes), test)
    train_graph = hide_nodes(graph, test)
    best = Best()

    def consider(snapshot: Snapshot) -> None:
        train, val = splits.train[number], splits.val[number]
        old = snapshot.rows(np.searchsorted(present, np.concatenate([train, val])))
        found = predict_arrays(
            old[: len(train)],
            labels[train],
            old[len(train) :],
            labels[val],
            snapshot.new(graph, test),
            labels[test],
        )
        score = found.score
        if best.offer(score.val, score.test, score.C, snapshot.epoch, found.labels) and watch is not None:
            watch(snapshot, found)

    seconds = system.fit(train_graph, seed, graph if features_from == "all" else None, consider)
    return best, seconds


def split_cell(
    table: str,
    label: str,
    system: str,
    dataset: str,
    setting: str,
    *,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    features_from: FeaturesFrom = "present",
) -> Cell:
    """A system on the splits of a dataset."""
    if dataset not in DATASETS:
        raise InputError(f"{table} has no dataset {dataset!r}: choose from {', '.join(DATASETS)}")
    if setting not in SETTINGS:
        raise InputError(f"unknown setting {setting!r}: choose transductive or inductive")
    features_used: FeaturesFrom = features_from if setting == "inductive" else "all"
    return Cell(
        table, label, system, dataset, measure_splits, tuple(range(NUM_SPLITS)), setting, settings or {}, seed,
        features_used,
    )  # fmt: skip


def measure_splits(system: System | Classifier, cell: Cell, numbers: Sequence[int]) -> list[Measured]:
    """Run a system on some splits."""
    graph, splits = data_of(cell.dataset)
    seed, features_from = cell.seed or 0, cell.features_from or "present"
    pairs: list[tuple[Best, float]]
    if isinstance(system, Classifier):
        pairs = [classes(system, graph, splits, number, cell.setting, seed, features_from) for number in numbers]
    elif cell.setting == "transductive":
        best, seconds = transductive(system, graph, splits, seed)
        pairs = [(best[number], seconds) for number in numbers]
    else:
        pairs = [inductive(system, graph, splits, number, seed, features_from) for number in numbers]
    return [Measured(seconds, {"split": _scores(best)}) for best, seconds in pairs]


def _scores(best: Best) -> dict[str, Any]:
    return {"val": best.val, "test": best.test, "epoch": best.epoch, "C": best.C}


def _accuracy(found: IntArray, classes: IntArray) -> float:
    return round(100 * float(np.mean(found == classes)), 6)


def _labels(graph: Graph) -> Any:
    if graph.labels is None:
        raise InputError("the graph has no labels: nothing to classify")
    return graph.labels
