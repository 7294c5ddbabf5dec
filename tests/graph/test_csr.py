"""What walks and users rely on in a Graph: rows, merging, directions, ids, immutability, subgraphs."""

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError, UnknownNodeError
from sanne.graph.graph import Graph

# a - b, a - c, b - c, c - d; e is isolated
SOURCES, TARGETS = [0, 0, 1, 2], [1, 2, 2, 3]
IDS = ["a", "b", "c", "d", "e"]


def five_nodes(**kwargs: object) -> Graph:
    return Graph.from_edges(SOURCES, TARGETS, node_ids=IDS, **kwargs)


def test_rows_of_a_hand_computed_graph() -> None:
    graph = five_nodes()
    assert graph.indptr.tolist() == [0, 2, 4, 7, 8, 8]
    assert graph.indices.tolist() == [1, 2, 0, 2, 0, 1, 3, 2]
    assert graph.weights is None
    assert (graph.num_nodes, graph.num_edges) == (5, 4)
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)


def test_directed_rows_hold_only_the_arcs_given() -> None:
    graph = five_nodes(directed=True)
    assert graph.indptr.tolist() == [0, 2, 3, 4, 4, 4]
    assert graph.indices.tolist() == [1, 2, 2, 3]
    assert graph.num_edges == 4


def test_order_and_repeats_of_edges_do_not_matter() -> None:
    graph = Graph.from_edges([3, 2, 0, 2, 1, 0, 1], [2, 1, 1, 0, 0, 1, 2], node_ids=IDS)
    assert graph.indices.tolist() == five_nodes().indices.tolist()
    assert graph.num_edges == 4


def test_self_loops_are_dropped() -> None:
    graph = Graph.from_edges([0, 4, 0], [0, 4, 1], node_ids=IDS)
    assert graph.num_edges == 1
    assert np.diff(graph.indptr).tolist() == [1, 1, 0, 0, 0]


def test_repeated_weights_add_up_and_both_directions_are_one_edge() -> None:
    graph = Graph.from_edges([0, 0, 1, 1], [1, 1, 0, 2], [1.0, 2.0, 3.0, 5.0], node_ids=["a", "b", "c"])
    assert graph.weights is not None
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.weights.tolist() == [3.0, 3.0, 5.0, 5.0]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_a_weight_that_is_no_positive_number_is_refused_by_its_edge(bad: float) -> None:
    with pytest.raises(InputError, match="the edge from node 'b' to node 'c' has the weight"):
        Graph.from_edges([0, 1], [1, 2], [1.0, bad], node_ids=["a", "b", "c"])


def test_directions() -> None:
    graph = Graph.from_edges([0, 0, 2], [1, 2, 1], [1.0, 2.0, 4.0], node_ids=["a", "b", "c"], directed=True)
    along, against, both = (graph.adjacency(way) for way in ("along", "against", "both"))
    assert along.to_scipy().toarray().tolist() == [[0, 1, 2], [0, 0, 0], [0, 4, 0]]
    assert against.to_scipy().toarray().tolist() == [[0, 0, 0], [1, 0, 4], [2, 0, 0]]
    assert both.to_scipy().toarray().tolist() == [[0, 1, 2], [1, 0, 4], [2, 4, 0]]
    assert along.weights is not None


def test_arcs_both_ways_are_one_neighbour_when_walked_both_ways() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], node_ids=["a", "b"], directed=True)
    both = graph.adjacency("both")
    assert both.indices.tolist() == [1, 0]
    assert both.weights is None


def test_direction_means_nothing_in_an_undirected_graph() -> None:
    graph = five_nodes()
    assert graph.adjacency("against").indices is graph.indices


def test_nodes_of_text_ids() -> None:
    graph = five_nodes()
    assert graph.nodes_of(["d", "a", "d"]).tolist() == [3, 0, 3]
    assert graph.nodes_of("e").tolist() == [4]
    assert graph.nodes_of([]).tolist() == []


def test_nodes_of_integer_ids_also_as_text() -> None:
    graph = Graph.from_edges([0], [1], node_ids=[31336, 7, -2])
    assert graph.nodes_of([7, 31336]).tolist() == [1, 0]
    assert graph.nodes_of(["7", "-2"]).tolist() == [1, 2]
    assert graph.nodes_of(np.array([7])).tolist() == [1]
    assert graph.nodes_of(np.int64(7)).tolist() == [1]
    assert graph.nodes_of([]).tolist() == []


@pytest.mark.parametrize("unknown", [8, "8", "x", 7.5, None, 2**70])
def test_unknown_integer_ids_are_named(unknown: object) -> None:
    graph = Graph.from_edges([0], [1], node_ids=[31336, 7])
    with pytest.raises(UnknownNodeError, match=r"1 of 2 node ids .*" + str(unknown)[:5]):
        graph.nodes_of([7, unknown])


def test_integers_in_an_object_array_are_integer_ids() -> None:
    graph = Graph.from_edges([0], [1], node_ids=np.array([5, 9], dtype=object))
    assert graph.has_integer_ids
    assert graph.nodes_of(["9"]).tolist() == [1]


def test_mixed_ids_become_text() -> None:
    graph = Graph.from_edges([0], [1], node_ids=np.array([5, "x"], dtype=object))
    assert graph.node_ids.tolist() == ["5", "x"]


def test_a_graph_cannot_be_changed() -> None:
    graph = five_nodes(weights=None)
    for array in (graph.indptr, graph.indices, graph.node_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(AttributeError):
        graph.directed = True  # type: ignore[misc]


@pytest.mark.parametrize("ids", [np.array(["a", "b"], dtype=object), np.array([4, 6])])
def test_the_callers_arrays_stay_writable(ids: np.ndarray) -> None:
    Graph.from_edges([0], [1], node_ids=ids)
    ids[0] = ids[1]


def test_subgraph_keeps_the_order_asked_for_and_carries_node_data() -> None:
    features = np.arange(10, dtype=np.float32).reshape(5, 2)
    graph = five_nodes(
        weights=[1.0, 2.0, 3.0, 4.0],
        features=sp.csr_matrix(features),
        texts=np.array(IDS, dtype=object),
        labels=np.arange(5),
    )
    part = graph.subgraph([3, 2, 0])
    assert part.node_ids.tolist() == ["d", "c", "a"]
    assert part.adjacency().to_scipy().toarray().tolist() == [[0, 4, 0], [4, 0, 2], [0, 2, 0]]
    assert part.features.toarray().tolist() == features[[3, 2, 0]].tolist()
    assert part.texts is not None
    assert part.texts.tolist() == ["d", "c", "a"]
    assert part.labels is not None
    assert part.labels.tolist() == [3, 2, 0]


def test_subgraph_takes_a_mask() -> None:
    mask = np.array([True, True, False, False, True])
    assert five_nodes().subgraph(mask).node_ids.tolist() == ["a", "b", "e"]


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        Graph.from_edges([], [], node_ids=[])
    with pytest.raises(InputError, match=r"4 rows of features for 5 nodes"):
        five_nodes(features=np.zeros((4, 2)))
    with pytest.raises(InputError, match=r"outside 0\.\.1"):
        Graph.from_edges([0], [2], node_ids=["a", "b"])
    with pytest.raises(InputError, match=r"'a' occurs more than once"):
        Graph.from_edges([0], [1], node_ids=["a", "b", "a"])
    with pytest.raises(InputError, match="2 edge sources but 1"):
        Graph.from_edges([0, 1], [1], node_ids=["a", "b"])


def test_a_graph_without_edges_is_a_graph() -> None:
    graph = Graph.from_edges([], [], node_ids=["a", "b"])
    assert graph.num_edges == 0
    assert graph.indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("direction", ["along", "against", "both"])
def test_the_arcs_that_a_graph_keeps_cannot_be_changed(direction: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, 2.0], node_ids=[0, 1, 2], directed=True)
    arcs = graph.adjacency(direction)  # type: ignore[arg-type]
    for array in (arcs.indptr, arcs.indices, arcs.weights):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
