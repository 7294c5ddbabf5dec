"""BlogCatalog, a graph without attributes: groups of bloggers from their vectors, and of bloggers who come later."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hide_nodes
from sanne.seeds import numpy_stream
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.evaluate.multi_label import indicator_array, score_multilabel
from sanne_lab.experiments.cells import Cell, Measured, Parts, cells_of
from sanne_lab.experiments.data import graph_of
from sanne_lab.experiments.records import systems_in
from sanne_lab.experiments.summaries import Column, figures_block, records, seconds_of, seeds_words, tried_words
from sanne_lab.experiments.table_formats import Block

NAME = "blogcatalog"
PRESENT, NEW = "present", "new"  # nodes
DATASETS = ("blogcatalog",)
SYSTEMS = ("sanne-best", "sanne-fast", "smoothed", "walk-mean", "deepwalk", "node2vec")
SHARES = (0.1, 0.5, 0.9)  # of the labelled nodes, to train the classifier
SPLITS = 5  # random ones, for every seed and share
SEEDS = (0, 1)
HIDDEN = 0.1  # share of the nodes that come after the fit
C_VALUES = tuple(2.0**k for k in range(-4, 5, 2))  # the best lay inside for every system tried


def measure(system: System | Classifier, cell: Cell, seeds: Sequence[int]) -> list[Measured]:
    """Predict groups of present or of new nodes, seed by seed."""
    if isinstance(system, Classifier):
        raise InputError(f"{system.name} is trained on one class a node: it has no place in this table")
    one = _measure_present if cell.setting == PRESENT else _measure_new
    return [one(system, graph_of(cell.dataset), seed) for seed in seeds]


def _measure_present(system: System, graph: Graph, seed: int) -> Measured:
    """All nodes are there in the fit; each random split of each training share is a part of its own."""
    marks = _marks(graph)
    labelled = np.flatnonzero(marks.any(axis=1))
    parts: Parts = {}

    def consider(snapshot: Snapshot) -> None:
        vectors = snapshot.present()
        for share in SHARES:
            size = round(share * len(labelled))
            for number in range(SPLITS):
                order = numpy_stream(seed, "split", number).permutation(labelled)
                _offer(parts, f"{share:.0%}/{number}", vectors, marks, order[:size], order[size:])

    return Measured(system.fit(graph, seed, None, consider), parts)


def _measure_new(system: System, graph: Graph, seed: int) -> Measured:
    """Some nodes come after the fit; the classifier learns from all present ones and is judged on the newcomers."""
    marks = _marks(graph)
    labelled = np.flatnonzero(marks.any(axis=1))
    hidden = np.sort(numpy_stream(seed, "split", SPLITS).permutation(labelled)[: round(HIDDEN * len(labelled))])
    present = np.setdiff1d(np.arange(graph.num_nodes), hidden)
    train = numpy_stream(seed, "split", SPLITS + 1).permutation(np.setdiff1d(labelled, hidden))
    parts: Parts = {}

    def consider(snapshot: Snapshot) -> None:
        old = snapshot.present()
        vectors = np.zeros((graph.num_nodes, old.shape[1]), np.float32)
        vectors[present], vectors[hidden] = old, snapshot.new(graph, hidden)
        _offer(parts, "new", vectors, marks, train, hidden)

    return Measured(system.fit(hide_nodes(graph, hidden), seed, None, consider), parts)


def _offer(parts: Parts, name: str, vectors: FloatArray, marks: Any, train: IntArray, test: IntArray) -> None:
    """Keep a score if it is the first of its part, or the best by the validation among its own train nodes."""
    score = score_multilabel(vectors, marks, train, test, Cs=C_VALUES).to_dict()
    if name not in parts or score["val"] > parts[name]["val"]:
        parts[name] = {name: value if name == "C" else round(value, 4) for name, value in score.items()}


def _marks(graph: Graph) -> Any:
    if graph.labels is None or graph.labels.ndim != 2:
        raise InputError("the graph has no groups: labels (nodes, groups) are needed")
    return indicator_array(graph.labels)


def make_cells(
    systems: Sequence[str], datasets: Sequence[str] = DATASETS, changes: dict[str, Any] | None = None
) -> list[Cell]:
    """Two cells for every system: nodes that were there, and nodes that came."""
    return [
        cell
        for setting in (PRESENT, NEW)
        for cell in cells_of(NAME, measure, SEEDS, systems, datasets, changes, setting)
    ]


def load(out: Path) -> list[list[dict[str, Any]]]:
    """All records, a list for each system, those of present nodes first."""
    return [records for nodes in (PRESENT, NEW) for records in systems_in(out, NAME, DATASETS, SYSTEMS, nodes)]


def columns(results: Sequence[dict[str, Any]]) -> list[Column]:
    """The scores of a system, over seeds and splits."""
    parts = [(name.split("/")[0], part) for result in results for name, part in result["parts"].items()]
    found: list[Column] = []
    for title, key in (("micro", "micro_f1"), ("macro", "macro_f1")):
        for share in dict.fromkeys(name for name, _ in parts):
            found.append(
                (f"{title} {share}".removesuffix(" new"), [part[key] for name, part in parts if name == share])
            )
    return found


def blocks(found: Sequence[Sequence[dict[str, Any]]]) -> list[Block]:
    """A table for nodes that were there and one for newcomers."""
    titles = {
        PRESENT: "All nodes present in training, by share of labelled nodes",
        NEW: f"New nodes: {HIDDEN:.0%} of the nodes are added after training",
    }
    tables = []
    for setting, title in titles.items():
        mine = [results for results in found if results[0]["setting"] == setting]
        if mine:
            tables.append(figures_block(title, "", [(results[0]["system"], columns(results)) for results in mine]))
    return tables


def notes(found: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """How the figures came about."""
    return [
        "F1 in percent, over all decisions (micro) and averaged over the 39 groups (macro): one-vs-rest logistic "
        "regression with each test node's number of groups known, as in DeepWalk's evaluation. Mean and standard "
        f"deviation over {SPLITS} random splits for each of {seeds_words(found)} (new nodes: over seeds); C, and the "
        "candidate if there are several, chosen for every split by micro-F1 on a fifth of its training nodes. DeepWalk "
        "and node2vec have no vector for a new node: it gets the mean of its neighbours'. Best in bold, second "
        "underlined.",
        *filter(None, [tried_words(found)]),
    ]


def rows(found: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Lines of a CSV file, one for each training share."""
    lines = []
    for results in found:
        values = dict(columns(results))
        shares = [name.removeprefix("micro").strip() for name in values if name.startswith("micro")]
        for share in shares:
            facts = {"system": results[0]["system"], "nodes": results[0]["setting"], "share": share}
            scores = [(title, values[f"{title} {share}".strip()]) for title in ("micro", "macro")]
            lines.append(records(facts, [*scores, ("seconds", seconds_of(results))]))
    return lines
