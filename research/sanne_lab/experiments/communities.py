"""Community extraction: k-means on vectors, as many clusters as classes, compared with the classes and the graph."""

import functools
from collections.abc import Sequence
from typing import Any

from sanne.errors import InputError
from sanne.evaluate.clustering import score_communities
from sanne.graph.graph import FloatArray
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.experiments.cells import Cell, Measured, cells_of
from sanne_lab.experiments.data import DATASETS as DATASETS
from sanne_lab.experiments.data import graph_of
from sanne_lab.experiments.links import SEEDS
from sanne_lab.experiments.links import SYSTEMS as SYSTEMS
from sanne_lab.experiments.records import systems_in
from sanne_lab.experiments.summaries import Column, dataset_blocks, records, seconds_of, seeds_words
from sanne_lab.experiments.table_formats import Block

NAME = "communities"


def measure(system: System | Classifier, cell: Cell, seeds: Sequence[int]) -> list[Measured]:
    """Find communities, seed by seed."""
    if isinstance(system, Classifier):
        raise InputError(f"{system.name} gives classes, not vectors: it cannot find communities")
    return [_measure(system, cell.dataset, seed) for seed in seeds]


def _measure(system: System, dataset: str, seed: int) -> Measured:
    """Fit on the whole graph; there is nothing to choose an epoch by, so the last one counts."""
    graph = graph_of(dataset)
    last: list[FloatArray] = []

    def consider(snapshot: Snapshot) -> None:
        last[:] = [snapshot.present()]

    seconds = system.fit(graph, seed, None, consider)
    scores = score_communities(last[0], graph.labels, adjacency=graph.adjacency("both").to_scipy(), seed=seed)
    return Measured(seconds, {"all": {"val": None, **scores}})


make_cells = functools.partial(cells_of, NAME, measure, SEEDS)
load = functools.partial(systems_in, table=NAME, datasets=DATASETS, order=SYSTEMS)


def columns(results: Sequence[dict[str, Any]]) -> list[Column]:
    """The scores of a system, in percent."""
    names = {"NMI": "nmi", "ARI": "ari", "modularity": "modularity"}
    return [(title, [100 * result["parts"]["all"][name] for result in results]) for title, name in names.items()]


def blocks(found: Sequence[Sequence[dict[str, Any]]]) -> list[Block]:
    """A table for each dataset."""
    return dataset_blocks(found, columns, lambda result: f"{result['parts']['all']['num_communities']} communities")


def notes(found: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """How the figures came about."""
    return [
        "k-means on normalised vectors (the best of ten starts by its own objective), with as many clusters as there "
        "are classes. NMI and ARI compare the clusters with the classes, modularity with the graph. No label is used: "
        "every system runs with its first settings and its last epoch. Times 100, mean and standard deviation over "
        f"{seeds_words(found)}. Best in bold, second underlined."
    ]


def rows(found: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Lines of a CSV file."""
    return [
        records(
            {"system": results[0]["system"], "dataset": results[0]["dataset"], "seeds": len(results)},
            [*columns(results), ("seconds", seconds_of(results))],
        )
        for results in found
    ]
