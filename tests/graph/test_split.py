"""Hidden nodes leave no trace; held-out edges and non-edges are what link prediction needs."""

import numpy as np
import pytest

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes, hold_out_edges


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in pairs}


def edge_set(graph: Graph) -> set[tuple[int, int]]:
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    return keys(np.column_stack([rows, graph.indices]))


def test_hidden_nodes_are_gone_with_their_edges_words_and_labels(cora: Graph) -> None:
    rest = hide_nodes(cora, np.arange(1000))
    assert rest.node_ids.tolist() == cora.node_ids[1000:].tolist()
    assert rest.features.shape[0] == 1708
    assert edge_set(rest) == {(a - 1000, b - 1000) for a, b in edge_set(cora) if a >= 1000 and b >= 1000}


def test_hiding_nothing_keeps_everything(cora: Graph) -> None:
    assert hide_nodes(cora, []).num_edges == cora.num_edges


def test_a_mask_hides_too() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], node_ids=["a", "b", "c"])
    assert hide_nodes(graph, np.array([True, False, False])).node_ids.tolist() == ["b", "c"]


def test_held_out_edges_of_cora(cora: Graph) -> None:
    train, positives, negatives = hold_out_edges(cora, 0.1, seed=3)
    assert len(positives) == len(negatives) == 528
    assert train.num_nodes == cora.num_nodes
    assert train.num_edges == cora.num_edges - 528
    assert keys(positives) <= edge_set(cora)
    assert not keys(positives) & edge_set(train)
    assert not keys(negatives) & edge_set(cora)
    assert len(keys(negatives)) == 528
    assert (positives[:, 0] < positives[:, 1]).all()
    assert (negatives[:, 0] < negatives[:, 1]).all()


def test_the_seed_decides(cora: Graph) -> None:
    first, again, other = (hold_out_edges(cora, 0.05, seed) for seed in (1, 1, 2))
    assert np.array_equal(first[1], again[1])
    assert np.array_equal(first[2], again[2])
    assert not np.array_equal(first[1], other[1])


def test_directed_arcs_keep_their_direction_and_weights() -> None:
    sources, targets = np.triu_indices(30, 1)
    weights = np.arange(1, len(sources) + 1, dtype=np.float32)
    graph = Graph.from_edges(targets, sources, weights, node_ids=np.arange(30), directed=True)
    train, positives, negatives = hold_out_edges(graph, 0.5, seed=0)
    assert (positives[:, 0] > positives[:, 1]).all()  # every arc runs down ...
    assert (negatives[:, 0] < negatives[:, 1]).all()  # ... so every non-arc runs up
    before, after = graph.adjacency("along").to_scipy(), train.adjacency("along").to_scipy()
    assert train.directed
    assert all(before[a, b] == after[a, b] for a, b in edge_set(train))


def test_every_free_pair_can_be_drawn() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], node_ids=list("abcd"))
    _, _, negatives = hold_out_edges(graph, 0.99, seed=0)
    assert keys(negatives) == {(0, 2), (0, 3), (1, 3)}


def test_non_edges_of_a_large_dense_graph() -> None:
    sources, targets = np.triu_indices(2100, 1)  # more nodes than are listed pair by pair
    half = (sources + targets) % 2 == 0
    graph = Graph.from_edges(sources[half], targets[half], node_ids=np.arange(2100))
    _, _, negatives = hold_out_edges(graph, 0.01, seed=0)
    assert ((negatives.sum(axis=1) % 2) == 1).all()
    assert len(keys(negatives)) == len(negatives) == round(0.01 * graph.num_edges)


def test_impossible_requests_say_why() -> None:
    full = Graph.from_edges(*np.triu_indices(5, 1), node_ids=np.arange(5))
    with pytest.raises(InputError, match="without an edge are needed, but the graph has 0"):
        hold_out_edges(full, 0.5, seed=0)
    with pytest.raises(InputError, match="less than one edge"):
        hold_out_edges(full, 0.01, seed=0)
    with pytest.raises(InputError, match="between 0 and 1"):
        hold_out_edges(full, 1.5, seed=0)
