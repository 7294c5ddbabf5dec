"""The data of experiments; what was read stays in memory."""

import functools
from typing import Literal

from sanne.datasets import Splits, load_dataset, load_splits
from sanne.graph.csr import Graph

Setting = Literal["transductive", "inductive"]
FeaturesFrom = Literal["present", "all"]

DATASETS = ("cora", "citeseer", "pubmed")
SETTINGS: tuple[Setting, ...] = ("transductive", "inductive")
NUM_SPLITS = 10
WITHOUT_ATTRIBUTES = ("blogcatalog", "ca-astroph")
SOURCES = {"paper": "the paper's own", "seeded": "drawn from a seed"}  # of splits, in words


@functools.cache
def graph_of(dataset: str) -> Graph:
    """A dataset, which may have no splits."""
    return load_dataset(dataset)


@functools.cache
def data_of(dataset: str) -> tuple[Graph, Splits]:
    """A dataset and its splits."""
    return graph_of(dataset), load_splits(dataset)
