"""Links as vectors: nodes with the same neighbours are alike, and newcomers go through the same map."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planted import accuracy, planted_graph
from sanne.errors import InputError
from sanne.features.links import LinkMap
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes

GRAPH = planted_graph(3, 40)


def test_it_is_the_adjacency_matrix_on_its_leading_singular_vectors() -> None:
    graph = planted_graph(size=12, inside=0.6)
    matrix = graph.adjacency().to_scipy().toarray().astype(np.float64)
    roots = matrix.sum(axis=1) ** -0.5
    axes = np.linalg.svd(roots[:, None] * matrix * roots)[2][:3].T
    expected = matrix @ (roots[:, None] * axes)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = LinkMap.fit(graph, 3, seed=0).transform(graph, None)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-3)


def test_planted_groups_are_found() -> None:
    rows = LinkMap.fit(GRAPH, 4, seed=0).transform(GRAPH, None)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    train = np.arange(GRAPH.num_nodes) % 2 == 0
    assert GRAPH.labels is not None
    assert accuracy(rows, GRAPH.labels, train, ~train) > 0.85  # chance is a third


def test_some_nodes_have_the_rows_that_they_have_among_all() -> None:
    fitted = LinkMap.fit(GRAPH, 8, seed=0)
    whole = fitted.transform(GRAPH, None)
    chosen = np.array([70, 3, 3, 119])
    np.testing.assert_array_equal(fitted.transform(GRAPH, chosen), whole[chosen])
    assert fitted.transform(GRAPH, np.empty(0, np.int64)).shape == (0, 8)


def test_newcomers_are_described_by_their_links_to_known_nodes_alone() -> None:
    new = np.arange(0, 120, 6)
    known = np.setdiff1d(np.arange(120), new)
    fitted = LinkMap.fit(hide_nodes(GRAPH, new), 4, seed=0)
    rows = fitted.transform(GRAPH, None)
    assert GRAPH.labels is not None
    assert accuracy(rows, GRAPH.labels, known, new) > 0.8
    between = GRAPH.subgraph(new)  # whatever links newcomers have among each other
    assert not fitted.transform(between, None).any()


def test_nodes_are_known_by_their_ids_and_not_by_their_order() -> None:
    fitted = LinkMap.fit(GRAPH, 4, seed=0)
    order = np.random.default_rng(0).permutation(120)
    np.testing.assert_allclose(fitted.transform(GRAPH.subgraph(order), None), fitted.transform(GRAPH, order), atol=1e-5)


def test_a_node_without_links_has_zeros() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], node_ids=["a", "b", "c", "alone"])
    fitted = LinkMap.fit(graph, 2, seed=0)
    assert not fitted.transform(graph, None)[3].any()
    assert not fitted.transform(graph, np.array([3])).any()


def test_heavier_links_count_more() -> None:
    ids = ["a", "b", "c", "d", "e"]
    weights = [5.0, 5.0, 1.0]
    graph = Graph.from_edges([0, 2, 1], [1, 3, 2], weights, node_ids=ids)
    fitted = LinkMap.fit(graph, 2, seed=0)
    ends = fitted.transform(graph, None)

    def newcomer(to_a: float, to_d: float) -> Any:
        changed = Graph.from_edges([0, 2, 1, 4, 4], [1, 3, 2, 0, 3], [*weights, to_a, to_d], node_ids=ids)
        return fitted.transform(changed, np.array([4]))[0]

    assert newcomer(9, 1) @ ends[1] > 0.9 > newcomer(1, 9) @ ends[1]  # b is what links to a


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_the_unit_of_weights_does_not_matter(unit: float) -> None:
    weights = 1 + np.arange(len(GRAPH.indices)) % 3
    rows = []
    for factor in (1.0, unit):
        graph = replace(GRAPH, weights=(factor * weights).astype(np.float32))
        rows.append(LinkMap.fit(graph, 4, seed=0).transform(graph, None))
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-3)


def test_the_direction_of_edges_does_not_matter() -> None:
    arcs = [0, 1, 2, 3, 0], [1, 2, 3, 4, 2]
    rows = [
        LinkMap.fit(graph, 2, seed=0).transform(graph, None)
        for graph in (
            Graph.from_edges(*arcs, node_ids=range(5), directed=True),
            Graph.from_edges(*arcs[::-1], node_ids=range(5), directed=True),
            Graph.from_edges(*arcs, node_ids=range(5)),
        )
    ]
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)
    np.testing.assert_allclose(rows[0], rows[2], atol=1e-5)


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_a_restored_map_gives_the_same_rows(kind: str) -> None:
    graph = GRAPH if kind == "text" else Graph(GRAPH.indptr, GRAPH.indices, None, np.arange(120) * 7)
    fitted = LinkMap.fit(graph, 4, seed=0)
    again = LinkMap.from_state(*fitted.state())
    np.testing.assert_array_equal(again.transform(graph, None), fitted.transform(graph, None))


@pytest.mark.parametrize(
    ("ids", "shape"),
    [(["a"], (2, 3)), (["a", "b"], (2,)), (["a", 7], (2, 3)), ([2**70, 1], (2, 3)), ([["a"], "b"], (2, 3))],
)
def test_damaged_parts_are_refused(ids: Any, shape: Any) -> None:
    with pytest.raises(InputError, match="known nodes"):
        LinkMap.from_state({"known_ids": ids}, {"components": np.zeros(shape, np.float32)})
