"""Table 1: the size of the datasets, counted in their files, with the paper's numbers beside."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne.datasets.catalogue import CORA, find_dataset
from sanne.errors import InputError
from sanne_lab.experiments.data import DATASETS
from sanne_lab.experiments.paper_figures import TABLE1
from sanne_lab.experiments.records import append_record, read_records, sort_records
from sanne_lab.experiments.table_formats import Block, Value

NAME = "table1"
NOTE = (
    "Counted in the files; *paper*: what the paper prints. *edges*: distinct pairs of different nodes. *listed*: edges "
    "as the file lists them, with repeated pairs and self-loops, which is what the paper counts."
)


@dataclass(frozen=True)
class Statistics:
    """What table 1 says about a dataset."""

    dataset: str
    nodes: int
    edges: int
    listed_edges: int | None  # None: found in files of another kind
    classes: int
    vocabulary: int
    words_per_node: float


def count(dataset: str) -> Statistics:
    """Count nodes, edges, classes and words of a dataset."""
    if dataset not in DATASETS:
        raise InputError(f"table 1 has no dataset {dataset!r}: choose from {', '.join(DATASETS)}")
    entry = find_dataset(dataset)
    path = entry.locate()
    graph = entry.read(path)
    assert graph.labels is not None
    assert graph.features is not None
    listed = None
    if path.suffix == ".npz" and path != CORA:
        with np.load(path, allow_pickle=False) as archive:
            listed = len(archive["edges"]) // 2  # each is there in both directions
    return Statistics(
        dataset=dataset,
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        listed_edges=listed,
        classes=len(np.unique(graph.labels[graph.labels >= 0])),
        vocabulary=graph.features.shape[1],
        words_per_node=round(np.count_nonzero(graph.features.data) / graph.num_nodes, 1),
    )


def run(datasets: Sequence[str], out: Path) -> list[Statistics]:
    """Count, and keep the counts."""
    found = [count(dataset) for dataset in datasets]
    for one in found:
        append_record(out, NAME, asdict(one))
    sort_records(out, NAME)
    return found


def load(out: Path) -> list[Statistics]:
    """The counts that are kept in a folder."""
    kept = {record["dataset"]: record for record in read_records(out, NAME).values()}
    return [Statistics(**kept[dataset]) for dataset in DATASETS if dataset in kept]


def notes(found: Sequence[Statistics]) -> list[str]:
    """What the figures are."""
    return [NOTE]


def blocks(found: Sequence[Statistics]) -> list[Block]:
    """The table, ours beside the paper's."""
    headers = (
        "", "nodes", "paper", "edges", "listed", "paper", "classes", "paper", "vocabulary", "paper", "words a node",
        "paper",
    )  # fmt: skip
    lines: list[list[Value]] = []
    for one in found:
        nodes, edges, classes, vocabulary, words = (f"{number:,}" for number in TABLE1[one.dataset])
        listed = "" if one.listed_edges is None else f"{one.listed_edges:,}"
        lines.append(
            [
                one.dataset.capitalize(), f"{one.nodes:,}", nodes, f"{one.edges:,}", listed, edges, str(one.classes),
                classes, f"{one.vocabulary:,}", vocabulary, f"{one.words_per_node:.1f}", words,
            ]
        )  # fmt: skip
    return [Block("", headers, lines)]


def rows(found: Sequence[Statistics]) -> list[dict[str, Any]]:
    """The table for a CSV file."""
    names = ("nodes", "edges", "classes", "vocabulary", "words_per_node")
    return [
        asdict(one) | {f"paper_{name}": value for name, value in zip(names, TABLE1[one.dataset], strict=True)}
        for one in found
    ]
