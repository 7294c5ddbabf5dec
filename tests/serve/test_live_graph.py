"""A graph that changed step by step is walked on like one that was built at once."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanne.config import WalkConfig
from sanne.graph.graph import Graph
from sanne.serve.live.graph import Links, LiveGraph
from sanne.walks.diffusion import Diffusion
from sanne.walks.sample import WalkSampler

SEED = 5
BASE_NODES = 6
Direction = Literal["both", "along", "against"]


@dataclass
class Plain:
    """The slow way: all edges in a dictionary, and a graph built from it when asked."""

    directed: bool
    weighted: bool
    nodes: int = BASE_NODES
    arcs: dict[tuple[int, int], float] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)

    def put(self, source: int, target: int, weight: float) -> None:
        if source != target:
            self.arcs[source, target] = weight
            if not self.directed:
                self.arcs[target, source] = weight

    def drop(self, node: int, *, incoming: bool) -> None:
        def goes(pair: tuple[int, int]) -> bool:
            return pair[0] == node or (pair[1] == node and (incoming or not self.directed))

        self.arcs = {pair: weight for pair, weight in self.arcs.items() if not goes(pair)}

    def graph(self) -> Graph:
        pairs = np.array(list(self.arcs), np.int64).reshape(-1, 2)
        weights = np.array(list(self.arcs.values()), np.float32) if self.weighted else None
        return Graph.from_edges(
            pairs[:, 0], pairs[:, 1], weights, node_ids=np.arange(self.nodes), directed=self.directed
        )


def walks_of(live: LiveGraph, starts: list[int]) -> npt.NDArray[np.int64]:
    nodes = np.array(starts, np.int64)
    return live.walks(nodes, nodes.astype(np.uint64), 4)


def add_node(live: LiveGraph) -> int:
    live.resize(live.num_slots + 1)
    return live.num_slots - 1


def connect(live: LiveGraph, links: Links) -> None:
    for (source, target), weight in links.items():
        live.put(source, target, weight)


def remove(live: LiveGraph, node: int, *, incoming: bool = False) -> set[int]:
    """Remove the links of a node; returns its former neighbours."""
    links = live.links(node, incoming=incoming)
    connect(live, dict.fromkeys(links, 0.0))
    return {end for pair in links for end in pair} - {node}


def plain_walks(graph: Graph, config: WalkConfig, starts: list[int]) -> npt.NDArray[np.int32]:
    sampler = WalkSampler(graph.adjacency(config.direction), walk_length=config.walk_length, seed=SEED)
    return sampler.walks_of_each(np.array(starts, np.int64), 4)


def check_same(live: LiveGraph, plain: Plain, config: WalkConfig) -> None:
    graph = plain.graph()
    adjacency = graph.adjacency(config.direction)
    alive = [node for node in range(plain.nodes) if node not in plain.dead]
    assert np.flatnonzero(live.alive).tolist() == alive
    assert live.num_edges == graph.num_edges
    for node in alive:
        row = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        indices, weights = live.neighbours(node)
        assert indices.tolist() == adjacency.indices[row].tolist()
        if adjacency.weights is not None:
            assert weights.tolist() == adjacency.weights[row].tolist()
    assert walks_of(live, alive).tolist() == plain_walks(graph, config, alive).tolist()


weights = st.sampled_from([0.25, 1.0, 3.5])
numbers = st.integers(0, 30)
links = st.lists(st.tuples(numbers, weights), max_size=5)
changes = st.one_of(
    st.tuples(st.just("add"), links),
    st.tuples(st.just("edge"), numbers, numbers, weights),
    st.tuples(st.just("replace"), numbers, links),
    st.tuples(st.just("delete"), numbers),
)
configs = st.builds(
    WalkConfig,
    walk_length=st.just(6),
    direction=st.sampled_from(["both", "along", "against"]),
)


@settings(max_examples=200, deadline=None)
@given(
    directed=st.booleans(),
    weighted=st.booleans(),
    config=configs,
    base=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), weights), min_size=4, max_size=16),
    sequence=st.lists(changes, min_size=2, max_size=12),
    guests=st.lists(links, max_size=3),
)
def test_any_sequence_of_changes_equals_the_graph_built_at_once(
    directed: bool, weighted: bool, config: WalkConfig, base: Any, sequence: Any, guests: Any
) -> None:
    plain = Plain(directed, weighted)
    for source, target, weight in base:
        plain.put(source, target, weight)
    live = LiveGraph(plain.graph(), config, SEED)

    def merged(node: int, ends: list[tuple[int, float]]) -> dict[tuple[int, int], float]:
        known = [end for end in range(plain.nodes) if end not in plain.dead] + [node]
        return live.merged((node, known[end % len(known)], weight if weighted else 1.0) for end, weight in ends)

    def put(new: dict[tuple[int, int], float]) -> None:
        connect(live, new)
        for (source, target), weight in new.items():
            plain.put(source, target, weight)

    for kind, *change in sequence:
        alive = [node for node in range(plain.nodes) if node not in plain.dead]
        if kind == "add":
            assert add_node(live) == plain.nodes
            plain.nodes += 1
            put(merged(plain.nodes - 1, change[0]))
        elif alive and kind == "edge":
            first, second = alive[change[0] % len(alive)], alive[change[1] % len(alive)]
            put(live.merged([(first, second, change[2] if weighted else 1.0)]))
        elif alive and kind == "replace":
            node = alive[change[0] % len(alive)]
            remove(live, node)
            plain.drop(node, incoming=False)
            put(merged(node, change[1]))
        elif alive and kind == "delete":
            node = alive[change[0] % len(alive)]
            remove(live, node, incoming=True)
            live.alive[node] = False
            plain.drop(node, incoming=True)
            plain.dead.add(node)
    check_same(live, plain, config)

    # Guests are seen by their own walks, as if they had been added, and leave no trace.
    first = plain.nodes
    plain.nodes += len(guests)
    every = live.merged(
        (source, target, weight)
        for number, ends in enumerate(guests)
        for (source, target), weight in merged(first + number, ends).items()
    )
    for (source, target), weight in every.items():
        plain.put(source, target, weight)
    starts = [node for node in range(plain.nodes) if node not in plain.dead]
    there = [node for node in starts if node < first]
    before, rows = walks_of(live, there), [live.neighbours(node)[0].tolist() for node in there]
    with live.visited(len(guests), every):
        assert walks_of(live, starts).tolist() == plain_walks(plain.graph(), config, starts).tolist()
        assert [live.neighbours(node)[0].tolist() for node in there] == rows
    assert walks_of(live, there).tolist() == before.tolist()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("direction", ["both", "along", "against"])
def test_arcs_in_both_directions_are_two_arcs(direction: Direction, weighted: bool) -> None:
    config = WalkConfig(walk_length=6, direction=direction)
    plain = Plain(directed=True, weighted=weighted)
    for source, target in ((0, 1), (1, 0), (2, 0), (0, 3), (3, 4)):
        plain.put(source, target, 2.0 if weighted else 1.0)
    live = LiveGraph(plain.graph(), config, SEED)

    plain.put(1, 0, 5.0 if weighted else 1.0)
    live.put(1, 0, 5.0 if weighted else 1.0)
    check_same(live, plain, config)

    assert remove(live, 0) == {1, 3}
    plain.drop(0, incoming=False)  # the arcs from 1 and 2 stay
    check_same(live, plain, config)

    live.put(0, 4, 1.0)
    assert remove(live, 0, incoming=True) == {1, 2, 4}
    live.alive[0] = False
    plain.drop(0, incoming=True)
    plain.dead.add(0)
    check_same(live, plain, config)


def star(leaves: int) -> Graph:
    return Graph.from_edges(np.zeros(leaves, np.int64), np.arange(1, leaves + 1), node_ids=np.arange(leaves + 1))


def test_a_weighted_link_to_a_graph_without_weights_is_followed_in_proportion() -> None:
    live = LiveGraph(star(3), WalkConfig(walk_length=2), SEED)
    live.put(add_node(live), 0, 7.0)
    nodes = np.zeros(4000, np.int64)
    walks = live.walks(nodes, np.arange(4000, dtype=np.uint64), 1)
    assert np.mean(walks[:, 1] == 4) == pytest.approx(0.7, abs=0.03)
    with live.visited(1, {(5, 0): 10.0}):
        walks = live.walks(nodes, np.arange(4000, dtype=np.uint64), 1)
    assert np.mean(walks[:, 1] == 5) == pytest.approx(0.5, abs=0.03)
    assert np.mean(walks[:, 1] == 1) == pytest.approx(0.05, abs=0.02)


def test_an_addition_to_a_hub_touches_nothing_else() -> None:
    """What is copied and kept grows with the additions, not with the graph."""
    live = LiveGraph(star(100_000), WalkConfig(), SEED)
    for _ in range(50):
        live.put(add_node(live), 7, 1.0)
    overlay = live._walked.overlay()
    assert len(overlay.indices) < 1000
    assert len(live.neighbours(7)[0]) == 51
    assert live.num_edges == 100_050


def test_repeated_links_are_merged_as_a_graph_merges_them() -> None:
    weighted = Graph.from_edges([0], [1], [2.0], node_ids=np.arange(3))
    live = LiveGraph(weighted, WalkConfig(), SEED)
    assert live.merged([(3, 0, 1.0), (3, 0, 2.0), (3, 3, 9.0)]) == {(3, 0): 3.0}
    assert live.merged([(3, 4, 1.0), (4, 3, 2.5)]) == {(3, 4): 2.5}
    directed = LiveGraph(Graph.from_edges([0], [1], node_ids=np.arange(3), directed=True), WalkConfig(), SEED)
    assert directed.merged([(3, 4, 1.0), (4, 3, 1.0), (4, 3, 1.0)]) == {(3, 4): 1.0, (4, 3): 1.0}


def test_the_walks_of_a_node_go_where_embed_follows_them() -> None:
    """Also where few of them go and they are not followed to the end."""
    stream = np.random.default_rng(0)
    ends = stream.integers(0, 12_000, (2, 60_000))
    ends[0, :1200] = 0  # a hub
    graph = Graph.from_edges(*ends[:, ends[0] != ends[1]], node_ids=np.arange(12_000))
    live, diffusion = LiveGraph(graph, WalkConfig(), SEED), Diffusion(graph.adjacency())
    for node in (0, 7, 1200):
        nodes = np.array([node])
        (found,), (expected,) = (walks.around(nodes, (1.0, 0.2, 0.02), 32) for walks in (live, diffusion))
        assert expected.elsewhere.max() > 0.01
        order, same = np.argsort(found.nodes), np.argsort(expected.nodes)
        np.testing.assert_array_equal(found.nodes[order], expected.nodes[same])
        np.testing.assert_allclose(found.shares[order], expected.shares[same], atol=1e-6)
        np.testing.assert_allclose(found.elsewhere, expected.elsewhere, atol=1e-6)
