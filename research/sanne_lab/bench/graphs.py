"""Graphs to measure on: generated ones, the same for the same seed, and Cora."""

from typing import Literal

import numpy as np

from sanne.datasets.catalogue import load_dataset
from sanne.errors import InputError
from sanne.graph.graph import Graph

GraphName = Literal["uniform", "hub", "cora"]

_HUB_SHARE = 0.2  # of all nodes that the hub touches: 200,000 of a million
_RANK_POWER = 2.0  # rank = nodes x u ** 2: degrees fall as rank ** -0.5, a power law with exponent 3


def bench_graph(name: GraphName, num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    """A graph by name; Cora has its own size."""
    if name == "cora":
        return load_dataset("cora")
    if num_nodes < 10 or num_edges > num_nodes * (num_nodes - 1) // 4:
        raise InputError(
            f"{num_nodes:,} nodes and {num_edges:,} edges: a generated graph has at least 10 nodes, "
            "and at most half of all possible edges"
        )
    make = uniform_graph if name == "uniform" else hub_graph
    return make(num_nodes, num_edges, seed)


def uniform_graph(num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    """Both ends of every edge drawn evenly; the few edges drawn twice are merged."""
    ends = np.random.default_rng(seed).integers(num_nodes, size=(2, num_edges), dtype=np.int32)
    return Graph.from_edges(ends[0], ends[1], node_ids=np.arange(num_nodes))


def featured_graph(num_nodes: int, num_edges: int, width: int, seed: int = 0) -> Graph:
    """Even degrees and features: communities of a hundred nodes, half of the edges inside them, noisy features."""
    random = np.random.default_rng(seed)
    size = 100
    ends = random.integers(num_nodes, size=(2, num_edges), dtype=np.int32)
    inside = slice(0, num_edges // 2)
    ends[1, inside] = np.minimum(ends[0, inside] // size * size + ends[1, inside] % size, num_nodes - 1)
    topics = random.standard_normal((-(-num_nodes // size), width), dtype=np.float32)
    features = random.standard_normal((num_nodes, width), dtype=np.float32)
    features += topics[np.arange(num_nodes) // size]
    return Graph.from_edges(ends[0], ends[1], node_ids=np.arange(num_nodes), features=features)


def hub_graph(num_nodes: int, num_edges: int, seed: int = 0) -> Graph:
    """Degrees by a power law, in no order of the node ids, and one node that touches a fifth of all the others."""
    random = np.random.default_rng(seed)
    spokes = random.choice(num_nodes - 1, size=int(_HUB_SHARE * num_nodes), replace=False)
    ranks = (num_nodes * random.random((2, max(0, num_edges - len(spokes)))) ** _RANK_POWER).astype(np.int32)
    name_of = random.permutation(num_nodes).astype(np.int32)
    hub = np.full(len(spokes), num_nodes - 1)  # the last rank, which has hardly another edge
    sources, targets = np.concatenate([ranks[0], hub]), np.concatenate([ranks[1], spokes])
    return Graph.from_edges(name_of[sources], name_of[targets], node_ids=np.arange(num_nodes))
