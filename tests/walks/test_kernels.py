"""The compiled kernels against a slow version in plain Python."""

import numpy as np
import pytest

from planted import planted_graph
from sanne.graph.csr import Adjacency, Graph
from sanne.walks.sample import WalkSampler

MASK = 2**64 - 1


def slow_mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def slow_stream(*key: int) -> int:
    state = 0
    offsets = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xABC98388FB8FAC03)
    for part, offset in zip(key, offsets, strict=True):
        state = slow_mix(state ^ ((part + offset) & MASK))
    return state


def slow_pick(adjacency: Adjacency, node: int, bits: int) -> int | None:
    row = slice(int(adjacency.indptr[node]), int(adjacency.indptr[node + 1]))
    neighbours = adjacency.indices[row].tolist()
    if not neighbours:
        return None
    if adjacency.weights is None:
        return neighbours[((bits >> 32) * len(neighbours)) >> 32]
    sums = np.cumsum(adjacency.weights[row].astype(np.float64))
    return neighbours[int(np.searchsorted(sums, (bits >> 11) * 2.0**-53 * sums[-1], side="right"))]


def slow_walk(adjacency: Adjacency, length: int, seed: int, epoch: int, start: int, number: int) -> list[int]:
    state, walk = slow_stream(seed, epoch, start, number), [start]
    while len(walk) < length:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        found = slow_pick(adjacency, walk[-1], slow_mix(state))
        walk.append(walk[-1] if found is None else found)
    return walk


def with_weights(graph: Graph) -> Graph:
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    weights = np.random.default_rng(1).integers(1, 50, len(sources)) / 7
    return Graph.from_edges(sources, graph.indices, weights, node_ids=graph.node_ids)


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
        state, expected = slow_stream(9 + 2**63, 17, row, node), []
        for _ in range(4):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            found = slow_pick(adjacency, node, slow_mix(state))
            expected.append(-1 if found is None else found)
        assert targets[row].tolist() == expected
