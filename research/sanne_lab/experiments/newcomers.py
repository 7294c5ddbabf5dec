"""Newcomers of the strict inductive setting, node by node: classified correctly? known neighbours? how unsure?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import Graph, IntArray
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.evaluate.node_classification import Prediction
from sanne_lab.experiments.cells import Cell, Measured, cells_of
from sanne_lab.experiments.data import DATASETS as DATASETS
from sanne_lab.experiments.data import NUM_SPLITS, data_of
from sanne_lab.experiments.protocol import classes, inductive
from sanne_lab.experiments.records import Record, systems_in

NAME = "newcomers"
SYSTEMS = ("sanne-best", "sanne-fast", "smoothed", "walk-mean", "dgi", "cca-ssg", "graphsage", "gcn", "deepwalk")
SEED = 0


def measure(system: System | Classifier, cell: Cell, splits: Sequence[int]) -> list[Measured]:
    """Classify newcomers, split by split."""
    return [_measure(system, cell.dataset, number) for number in splits]


def _measure(system: System | Classifier, dataset: str, number: int) -> Measured:
    """One split: its test nodes arrive after the fit. Every number of a node is kept, in the order of the split."""
    graph, splits = data_of(dataset)
    test = splits.test[number]
    sure: dict[str, npt.NDArray[Any]] = {}

    def watch(snapshot: Snapshot, found: Prediction) -> None:
        sure["certainty"] = found.certainty
        sure.update(snapshot.unsure(graph, test) if snapshot.unsure is not None else {})

    if isinstance(system, Classifier):
        best, seconds = classes(system, graph, splits, number, "inductive", SEED, "present")
    else:
        best, seconds = inductive(system, graph, splits, number, SEED, watch=watch)
    assert graph.labels is not None
    assert best.predicted is not None
    nodes = {"correct": (best.predicted == graph.labels[test]).astype(int), "known": known_neighbours(graph, test)}
    facts = {"val": best.val, "test": best.test, "epoch": best.epoch, "splits_source": splits.source}
    return Measured(seconds, {"test": facts | {name: _written(values) for name, values in (nodes | sure).items()}})


def known_neighbours(graph: Graph, new: IntArray) -> IntArray:
    """How many neighbours of each new node were there before any of them came."""
    present = np.ones(graph.num_nodes, np.float32)
    present[new] = 0
    links = graph.adjacency("both").to_scipy()[new]
    links.data = np.ones_like(links.data)
    return np.asarray(links @ present, np.int64)


def _written(values: npt.NDArray[Any]) -> str:
    """Numbers as one line of text, so that a file stays readable."""
    return " ".join(f"{value:.4g}" for value in values.tolist())


@dataclass(frozen=True, eq=False)
class Newcomers:
    """The newcomers of one split."""

    system: str
    dataset: str
    split: int
    splits_source: str
    correct: npt.NDArray[np.bool_]
    known: IntArray
    spread: npt.NDArray[np.float64] | None
    uncertainty: npt.NDArray[np.float64] | None
    certainty: npt.NDArray[np.float64] | None


def make_cells(
    systems: Sequence[str],
    datasets: Sequence[str] = DATASETS,
    changes: dict[str, Any] | None = None,
) -> list[Cell]:
    """A cell for every dataset and system."""
    return cells_of(NAME, measure, range(NUM_SPLITS), systems, datasets, changes)


def load(out: Path) -> list[list[Newcomers]]:
    """All records, a list for each system and dataset."""
    return [[_read(record) for record in records] for records in systems_in(out, NAME, DATASETS, SYSTEMS)]


def _read(record: Record) -> Newcomers:
    part = record["parts"]["test"]

    def numbers(name: str) -> npt.NDArray[np.float64] | None:
        return np.array(part[name].split(), np.float64) if name in part else None

    return Newcomers(
        record["system"],
        record["dataset"],
        record["number"],
        part["splits_source"],
        np.array(part["correct"].split(), np.int64) == 1,
        np.array(part["known"].split(), np.int64),
        numbers("spread"),
        numbers("uncertainty"),
        numbers("certainty"),
    )
