"""Newcomers of the strict inductive setting, node by node: are they classified rightly, who do they know, how sure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.evaluate.node_classification import Prediction
from sanne.graph.csr import Graph, IntArray
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.experiments.protocol import classes, inductive
from sanne_lab.experiments.result_files import DATASETS as DATASETS
from sanne_lab.experiments.runs import data_of
from sanne_lab.experiments.task_runs import Measured, TaskCell, stored, task_cells

NAME = "newcomers"
SYSTEMS = ("sanne-best", "sanne-fast", "smoothed", "walk-mean", "dgi", "cca-ssg", "graphsage", "gcn", "deepwalk")
SEED = 0
NUM_SPLITS = 10


def measure(system: System | Classifier, dataset: str, number: int) -> Measured:
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
    doubt: npt.NDArray[np.float64] | None
    certainty: npt.NDArray[np.float64] | None


def make_cells(
    systems: Sequence[str],
    datasets: Sequence[str] = DATASETS,
    changes: dict[str, Any] | None = None,
) -> list[TaskCell]:
    """A cell for every dataset and system."""
    return task_cells(NAME, measure, range(NUM_SPLITS), systems, datasets, changes)


def load(out: Path) -> list[list[Newcomers]]:
    """All result files, a list for each system and dataset."""
    return [[_read(result) for result in results] for results in stored(NAME, out, DATASETS, SYSTEMS)]


def _read(result: dict[str, Any]) -> Newcomers:
    part = result["parts"]["test"]

    def numbers(name: str) -> npt.NDArray[np.float64] | None:
        return np.array(part[name].split(), np.float64) if name in part else None

    return Newcomers(
        result["system"],
        result["dataset"],
        result["number"],
        part["splits_source"],
        np.array(part["correct"].split(), np.int64) == 1,
        np.array(part["known"].split(), np.int64),
        numbers("spread"),
        numbers("doubt"),
        numbers("certainty"),
    )
