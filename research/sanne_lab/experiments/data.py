"""The data of experiments; what was read stays in memory, read-only."""

import functools
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from sanne.datasets.catalogue import load_dataset
from sanne.evaluate.splits import Splits
from sanne.graph.graph import Graph
from sanne_lab.datasets.splits import load_splits

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
    graph = load_dataset(dataset)
    features: Any = graph.features
    for array in (features.data if sp.issparse(features) else features, graph.labels):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return graph


@functools.cache
def data_of(dataset: str) -> tuple[Graph, Splits]:
    """A dataset and its splits."""
    splits = load_splits(dataset)
    for rows in (splits.train, splits.val, splits.test):
        rows.flags.writeable = False
    return graph_of(dataset), splits
