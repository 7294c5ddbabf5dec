"""Walks: along edges, fair, and the same however the work is cut up."""

import itertools

import numpy as np
import pytest
import scipy.stats

from planted import planted_graph
from sanne.graph.graph import Graph
from sanne.walks.sample import WalkSampler


def star(leaves: int, weights: np.ndarray | None = None) -> Graph:
    """A hub, node 0, with many leaves."""
    return Graph.from_edges(np.zeros(leaves, int), np.arange(1, leaves + 1), weights, node_ids=np.arange(leaves + 1))


def test_every_step_is_an_edge() -> None:
    graph = planted_graph()
    walks = WalkSampler(graph.adjacency(), walk_length=8, seed=0).walks_of_each(np.arange(graph.num_nodes), 5)
    edges = {(i, j) for i in range(graph.num_nodes) for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]}
    degree = np.diff(graph.indptr)
    for walk in walks.tolist():
        for here, there in itertools.pairwise(walk):
            assert (here, there) in edges or (here == there and degree[here] == 0)


def test_walks_of_each_start_at_their_nodes_and_differ_by_number() -> None:
    graph = planted_graph()
    nodes = np.array([5, 3, 5])
    walks = WalkSampler(graph.adjacency(), walk_length=8, seed=0).walks_of_each(nodes, 20)
    assert walks.shape == (60, 8)
    assert walks[:, 0].tolist() == [5] * 20 + [3] * 20 + [5] * 20
    assert np.array_equal(walks[:20], walks[40:])  # the same node, the same walks
    assert len(np.unique(walks[:20], axis=0)) > 10


@pytest.mark.parametrize("leaves", [3, 2000])
@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_are_chosen_in_proportion(leaves: int, weighted: bool) -> None:
    weights = 1.0 + np.arange(leaves) % 5 if weighted else None
    sampler = WalkSampler(star(leaves, weights).adjacency(), walk_length=2, seed=4)
    draws = 40 * leaves + 20_000
    steps = sampler.walks(np.zeros(draws, np.int64), 0, np.arange(draws))[:, 1]
    targets = sampler.neighbours(np.zeros(draws, np.int32), 1, position=3)[:, 0]
    share = np.ones(leaves) / leaves if weights is None else weights / weights.sum()
    for chosen in (steps, targets):
        counts = np.bincount(chosen, minlength=leaves + 1)
        assert counts[0] == 0  # the hub is not its own neighbour
        assert scipy.stats.chisquare(counts[1:], share * draws).pvalue > 1e-3


def test_consecutive_steps_are_independent() -> None:
    square = Graph.from_edges([0, 0, 1, 1], [2, 3, 2, 3], node_ids=[0, 1, 2, 3])
    sampler = WalkSampler(square.adjacency(), walk_length=3, seed=1)
    walks = sampler.walks(np.zeros(20_000, np.int64), 0, np.arange(20_000))
    table = np.zeros((2, 2))
    np.add.at(table, (walks[:, 1] - 2, walks[:, 2]), 1)
    assert scipy.stats.chi2_contingency(table).pvalue > 1e-3


def test_an_isolated_node_stays_where_it_is() -> None:
    graph = Graph.from_edges([0], [1], node_ids=["a", "b", "alone"])
    sampler = WalkSampler(graph.adjacency(), walk_length=4, seed=0)
    assert sampler.walks(np.array([2]), 0, 0).tolist() == [[2, 2, 2, 2]]
    assert sampler.neighbours(np.array([2], np.int32), 3, 0).tolist() == [[-1, -1, -1]]


def test_a_walk_of_length_one_is_its_start() -> None:
    graph = planted_graph()
    nodes = np.arange(graph.num_nodes)
    assert np.array_equal(WalkSampler(graph.adjacency(), walk_length=1, seed=0).walks(nodes, 0, 0), nodes[:, None])


def test_walks_do_not_depend_on_batches_or_order() -> None:
    graph = planted_graph()
    sampler = WalkSampler(graph.adjacency(), walk_length=6, seed=5)
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    whole = sampler.walks(np.arange(graph.num_nodes), 2, 3)
    assert np.array_equal(sampler.walks(order, 2, 3), whole[order])
    pieces = [sampler.walks(np.arange(graph.num_nodes)[i : i + 7], 2, 3) for i in range(0, graph.num_nodes, 7)]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_seed_epoch_and_number_each_give_other_walks() -> None:
    graph = planted_graph()
    nodes = np.arange(graph.num_nodes)

    def walks(seed: int, epoch: int, number: int) -> bytes:
        return WalkSampler(graph.adjacency(), walk_length=6, seed=seed).walks(nodes, epoch, number).tobytes()

    assert len({walks(0, 0, 0), walks(1, 0, 0), walks(0, 1, 0), walks(0, 0, 1), walks(0, 1, 1)}) == 5
    assert walks(0, 1, 1) == walks(0, 1, 1)


def test_a_directed_graph_is_walked_along_against_or_both_ways() -> None:
    path = Graph.from_edges([0, 1, 2], [1, 2, 3], node_ids=[0, 1, 2, 3], directed=True)

    def visited(direction: str, start: int) -> list[list[int]]:
        sampler = WalkSampler(path.adjacency(direction), walk_length=3, seed=0)  # type: ignore[arg-type]
        return np.unique(sampler.walks(np.full(100, start), 0, np.arange(100)), axis=0).tolist()

    assert visited("along", 0) == [[0, 1, 2]]
    assert visited("along", 2) == [[2, 3, 3]]  # a dead end: the walk stays there
    assert visited("against", 2) == [[2, 1, 0]]
    assert visited("against", 0) == [[0, 0, 0]]
    assert visited("both", 1) == [[1, 0, 1], [1, 2, 1], [1, 2, 3]]
