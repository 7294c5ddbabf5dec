"""node2vec's p and q: exact probabilities, hubs and weights included, and the same walks however they are drawn."""

import numpy as np
import pytest
import scipy.stats

from planted import planted_graph
from sanne.graph.graph import Adjacency, Graph
from sanne.walks.sample import WalkSampler
from sanne_lab.walks.second_order import make_sampler
from slow_walks import bias, row_of, slow_biased_walk, with_weights

BIASES = [(0.25, 4.0), (4.0, 0.25), (0.05, 0.2), (8.0, 1.0)]
KINDS = ["plain", "weighted", "directed", "directed weighted"]


def hub_graph() -> Graph:
    """Node 0 touches all the others, which form a sparse random graph; the last node has no other edge."""
    others = planted_graph(groups=1, size=60, inside=0.08)
    sources = np.repeat(np.arange(60), np.diff(others.indptr)) + 1
    everyone = np.arange(1, 62)
    return Graph.from_edges(
        np.concatenate([sources, np.zeros(61, int)]),
        np.concatenate([others.indices + 1, everyone]),
        node_ids=np.arange(62),
    )


def graph_of(kind: str) -> Adjacency:
    graph = hub_graph()
    if "directed" in kind:
        sources = np.repeat(np.arange(62), np.diff(graph.indptr))
        keep = np.random.default_rng(0).random(len(sources)) < 0.6  # many arcs have no way back
        graph = Graph.from_edges(sources[keep], graph.indices[keep], node_ids=np.arange(62), directed=True)
    return (with_weights(graph) if "weighted" in kind else graph).adjacency("along")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "q"), BIASES)
def test_walks_equal_the_slow_version_bit_for_bit(kind: str, p: float, q: float) -> None:
    adjacency = graph_of(kind)
    starts = np.random.default_rng(2).integers(62, size=150)
    epochs, numbers = np.arange(150) % 3, np.arange(150)
    walks = make_sampler(adjacency, walk_length=7, seed=11, p=p, q=q).walks(starts, epochs, numbers)
    keys = np.stack([epochs, starts, numbers], axis=1).tolist()
    assert walks.tolist() == [slow_biased_walk(adjacency, 7, p, q, 11, *key) for key in keys]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "q"), BIASES)
def test_steps_have_the_exact_probabilities(kind: str, p: float, q: float) -> None:
    """Every (previous, node) pair that is seen often, through the hub and past it, against node2vec's formula."""
    adjacency = graph_of(kind)
    starts = np.tile(np.arange(62), 5000)
    walks = make_sampler(adjacency, walk_length=4, seed=1, p=p, q=q).walks(starts, 0, np.arange(len(starts)))
    steps = np.concatenate([walks[:, :3], walks[:, 1:]]).astype(np.int64)
    table = np.bincount((steps[:, 0] * 62 + steps[:, 1]) * 62 + steps[:, 2], minlength=62**3).reshape(62, 62, 62)
    pvalues, hub_pairs = [], 0
    for previous, node in np.argwhere(table.sum(axis=2) >= 400).tolist():
        neighbours, weights = row_of(adjacency, node)
        if len(neighbours) < 2:
            continue
        share = weights * [bias(adjacency, previous, x, p, q) for x in neighbours]
        counts = table[previous, node]
        assert counts.sum() == counts[neighbours].sum()  # every step is an edge
        expected = share / share.sum() * counts.sum()
        common = expected >= 5  # pool the rest, as the test asks for
        seen = np.append(counts[neighbours][common], counts[neighbours][~common].sum())
        wanted = np.append(expected[common], expected[~common].sum())
        kept = wanted > 0
        pvalues.append(scipy.stats.chisquare(seen[kept], wanted[kept]).pvalue)
        hub_pairs += 0 in (previous, node)
    assert len(pvalues) >= 20
    assert hub_pairs >= 20
    assert min(pvalues) > 1e-3 / len(pvalues)
    assert scipy.stats.kstest(pvalues, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_walks_do_not_depend_on_what_else_is_drawn(kind: str) -> None:
    sampler = make_sampler(graph_of(kind), walk_length=8, seed=5, p=0.5, q=2)
    together = sampler.walks_of_each(np.arange(62), 9).reshape(62, 9, 8)
    assert np.array_equal(sampler.walks_of_each(np.arange(40, 62), 9).reshape(22, 9, 8), together[40:])


def test_one_and_one_is_the_first_order_walk() -> None:
    nodes = np.arange(62)
    plain = WalkSampler(graph_of("plain"), walk_length=8, seed=5).walks(nodes, 0, 0)
    assert np.array_equal(make_sampler(graph_of("plain"), walk_length=8, seed=5, p=1, q=1).walks(nodes, 0, 0), plain)


def test_a_large_p_hardly_ever_turns_back_and_a_small_one_nearly_always() -> None:
    ring = Graph.from_edges(np.arange(20), (np.arange(20) + 1) % 20, node_ids=np.arange(20))

    def share_of_returns(p: float) -> float:
        walks = make_sampler(ring.adjacency(), walk_length=10, seed=0, p=p, q=1).walks_of_each(np.arange(20), 50)
        return float((walks[:, 2:] == walks[:, :-2]).mean())

    assert share_of_returns(1000) < 0.01
    assert share_of_returns(0.001) > 0.99


def test_dead_ends_and_isolated_nodes() -> None:
    graph = Graph.from_edges([0], [1], node_ids=["a", "b", "alone"])
    sampler = make_sampler(graph.adjacency(), walk_length=4, seed=0, p=1000, q=0.5)
    assert sampler.walks(np.array([0, 2]), 0, 0).tolist() == [[0, 1, 0, 1], [2, 2, 2, 2]]
