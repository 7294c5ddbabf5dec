"""Link prediction: edges are held out, vectors fitted on the rest, and held-out edges ranked against non-edges."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.evaluate.link_prediction import pair_products, rank_links
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hold_out_edges, non_edges
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.experiments.cells import Cell, Measured, cells_of
from sanne_lab.experiments.data import graph_of
from sanne_lab.experiments.link_weights import learn_weights
from sanne_lab.experiments.records import systems_in
from sanne_lab.experiments.summaries import Column, dataset_blocks, records, seconds_of, seeds_words, tried_words
from sanne_lab.experiments.table_formats import Block

NAME = "links"
DATASETS = ("cora", "citeseer", "pubmed", "ca-astroph")
SYSTEMS = (
    "sanne-best", "sanne-fast", "smoothed", "walk-mean", "deepwalk", "node2vec", "graphsage", "dgi", "cca-ssg",
)  # fmt: skip
SEEDS = (0, 1, 2)
TEST, VALIDATION = 0.10, 0.05  # shares of the edges that are held out
HITS = (10, 50)
LEARNT_FROM = 5_000  # training edges, at most, and as many non-edges, that the learnt scorer sees
METHODS = ("cosine", "dot", "learnt")

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """A training graph with all nodes, and the pairs to be told apart."""

    graph: Graph
    validation: tuple[IntArray, IntArray]  # edges and non-edges, (m, 2) each
    test: tuple[IntArray, IntArray]


def hold_out(graph: Graph, seed: int) -> HeldOut:
    """Hold out edges for validation and for test, with as many non-edges each."""
    train, positives, negatives = hold_out_edges(graph, TEST + VALIDATION, seed)
    order = numpy_stream(seed, "split", 1).permutation(len(positives))
    cut = round(len(order) * VALIDATION / (TEST + VALIDATION))
    if not 0 < cut < len(order):
        raise InputError(f"{graph.num_edges} edges are too few to hold out some for validation and some for test")
    val, test = order[:cut], order[cut:]
    return HeldOut(train, (positives[val], negatives[val]), (positives[test], negatives[test]))


def measure(system: System | Classifier, cell: Cell, seeds: Sequence[int]) -> list[Measured]:
    """Predict links, seed by seed."""
    if isinstance(system, Classifier):
        raise InputError(f"{system.name} gives classes, not vectors: it cannot predict links")
    return [_measure(system, cell.dataset, seed) for seed in seeds]


def _measure(system: System, dataset: str, seed: int) -> Measured:
    """Fit on the training graph; epoch and way of scoring are chosen by AUC on the validation pairs."""
    held = hold_out(graph_of(dataset), seed)
    best: dict[str, Any] = {"val": -1.0}

    def consider(snapshot: Snapshot) -> None:
        found = best_scores(snapshot.present(), held, seed)
        if found["val"] > best["val"]:
            best.update(found, epoch=snapshot.epoch)

    seconds = system.fit(held.graph, seed, None, consider)
    sizes = {"edges": len(held.test[0]), "val_edges": len(held.validation[0])}
    return Measured(seconds, {"test": best | sizes})


def best_scores(vectors: FloatArray, held: HeldOut, seed: int) -> dict[str, Any]:
    """Scores of the test pairs by the way of scoring that has the best AUC on the validation pairs, and that AUC."""
    best: dict[str, Any] = {"val": -1.0}
    for method in METHODS:
        weights = _learnt(vectors, held, seed) if method == "learnt" else None
        val = _score(vectors, method, weights, held.validation)["auc"]
        if val > best["val"]:
            best = {"val": val, "method": method, **_score(vectors, method, weights, held.test)}
    return best


def _learnt(vectors: FloatArray, held: HeldOut, seed: int) -> Weights:
    stream = numpy_stream(seed, "split", 2)
    graph = held.graph
    edges = np.column_stack([np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)), graph.indices])
    count = min(LEARNT_FROM, len(edges))
    chosen = edges[stream.choice(len(edges), count, replace=False)]
    return learn_weights(vectors, chosen, non_edges(graph, count, stream), held.validation)


def _score(
    vectors: FloatArray, method: str, weights: Weights | None, pairs: tuple[IntArray, IntArray]
) -> dict[str, float]:
    rows = np.asarray(vectors, np.float64)
    rows = unit(rows) if method == "cosine" else rows
    edges, others = (pair_products(rows, part, weights) for part in pairs)
    return rank_links(edges, others, HITS)


make_cells = functools.partial(cells_of, NAME, measure, SEEDS)
load = functools.partial(systems_in, table=NAME, datasets=DATASETS, order=SYSTEMS)


def columns(results: Sequence[dict[str, Any]]) -> list[Column]:
    """The scores of a system, in percent."""
    names = {"AUC": "auc", "AP": "average_precision", "MRR": "mrr", **{f"Hits@{k}": f"hits@{k}" for k in HITS}}
    parts = [result["parts"]["test"] for result in results]
    return [(title, [100 * part[name] for part in parts]) for title, name in names.items()]


def blocks(found: Sequence[Sequence[dict[str, Any]]]) -> list[Block]:
    """A table for each dataset."""
    return dataset_blocks(
        found, columns, lambda result: f"{result['parts']['test']['edges']:,} edges among as many non-edges"
    )


def notes(found: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """How the figures came about."""
    return [
        f"{TEST:.0%} of the edges are held out for test and {VALIDATION:.0%} for validation, with as many pairs that "
        "have no edge; vectors are trained without them. A pair is scored by cosine, dot product, or a logistic "
        "regression on elementwise products trained on training edges, whichever has the best AUC on validation; the "
        f"epoch is chosen likewise. Percent, mean and standard deviation over {seeds_words(found)}; "
        "ranks (MRR, Hits) are among the pool of non-edges. Best in bold, second underlined.",
        *filter(None, [tried_words(found)]),
    ]


def rows(found: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Lines of a CSV file."""
    lines = []
    for results in found:
        facts = {"system": results[0]["system"], "dataset": results[0]["dataset"], "seeds": len(results)}
        methods = "/".join(dict.fromkeys(result["parts"]["test"]["method"] for result in results))
        line = records(facts | {"scored_by": methods}, [*columns(results), ("seconds", seconds_of(results))])
        lines.append(line)
    return lines
