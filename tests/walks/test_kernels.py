"""The compiled kernels against a slow version in plain Python."""

import numpy as np
import pytest

from planted import planted_graph
from sanne.graph.graph import Graph
from sanne.walks.sample import WalkSampler
from slow_walks import Draws, slow_pick, slow_walk, with_weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", [0, 12345, 2**63 - 1])
def test_walks_equal_the_slow_version_bit_for_bit(weighted: bool, seed: int) -> None:
    graph = planted_graph(inside=0.05, outside=0.0, size=30)  # sparse, so that some nodes have no neighbour
    assert (np.diff(graph.indptr) == 0).any()
    adjacency = (with_weights(graph) if weighted else graph).adjacency()
    starts = np.random.default_rng(2).integers(graph.num_nodes, size=200)
    epochs, numbers = np.arange(200) % 5, np.arange(200) % 7
    walks = WalkSampler(adjacency, walk_length=6, seed=seed).walks(starts, epochs, numbers)
    keys = np.stack([epochs, starts, numbers], axis=1).tolist()
    assert walks.tolist() == [slow_walk(adjacency, 6, seed, *key) for key in keys]


@pytest.mark.parametrize("weighted", [False, True])
def test_target_neighbours_equal_the_slow_version_bit_for_bit(weighted: bool) -> None:
    graph = planted_graph(inside=0.05, outside=0.0, size=30)
    adjacency = (with_weights(graph) if weighted else graph).adjacency()
    nodes = np.random.default_rng(3).integers(graph.num_nodes, size=150).astype(np.int32)
    targets = WalkSampler(adjacency, walk_length=3, seed=9).neighbours(nodes, 4, position=17)
    for row, node in enumerate(nodes.tolist()):
        draws = Draws(9 + 2**63, 17, row, node)
        picked = [slow_pick(adjacency, node, draws.bits()) for _ in range(4)]
        assert targets[row].tolist() == [-1 if found is None else found for found in picked]


def test_weighted_rows_of_every_length_and_place_equal_the_slow_version() -> None:
    """Running sums are stored for some positions only: rows must begin and end anywhere between them."""
    counts = np.arange(1, 60)
    sources = np.repeat(np.arange(59), counts)
    targets = np.concatenate([np.delete(np.arange(100), node)[:count] for node, count in enumerate(counts)])
    weights = np.random.default_rng(5).lognormal(sigma=2, size=len(sources))
    graph = Graph.from_edges(sources, targets, weights, node_ids=np.arange(100), directed=True)
    starts = np.tile(np.arange(59), 40)
    walks = WalkSampler(graph.adjacency("along"), walk_length=2, seed=3).walks(starts, 0, np.arange(len(starts)))
    expected = [slow_walk(graph.adjacency("along"), 2, 3, 0, start, i) for i, start in enumerate(starts.tolist())]
    assert walks.tolist() == expected
