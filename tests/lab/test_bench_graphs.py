"""The graphs that speed is measured on: the same for everybody, and of the promised shape."""

import numpy as np
import pytest

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne_lab.bench.graphs import bench_graph
from sanne_lab.bench.plain import networkx_graph


@pytest.mark.parametrize("name", ["uniform", "hub"])
def test_the_same_seed_gives_the_same_graph_of_about_the_size_asked_for(name: str) -> None:
    graph = bench_graph(name, 2000, 10_000)  # type: ignore[arg-type]
    again = bench_graph(name, 2000, 10_000)  # type: ignore[arg-type]
    assert graph.num_nodes == 2000
    assert 0.9 * 10_000 < graph.num_edges <= 10_000
    assert np.array_equal(graph.indices, again.indices)
    other = bench_graph(name, 2000, 10_000, seed=1)  # type: ignore[arg-type]
    assert not np.array_equal(graph.indptr, other.indptr)


def test_the_hub_touches_a_fifth_of_all_nodes_and_stands_out() -> None:
    degrees = np.sort(np.diff(bench_graph("hub", 20_000, 200_000).indptr))[::-1]
    assert 4000 <= degrees[0] < 4100
    assert degrees[0] > 1.5 * degrees[1]
    # A power law: degrees fall as the root of the rank.
    assert degrees[100] / degrees[10_000] == pytest.approx(10, rel=0.3)


def test_cora_is_itself(cora: Graph) -> None:
    assert bench_graph("cora", 10, 10).num_edges == cora.num_edges


@pytest.mark.parametrize(("nodes", "edges"), [(5, 5), (100, 5000)])
def test_impossible_sizes_are_refused(nodes: int, edges: int) -> None:
    with pytest.raises(InputError, match="at least 10 nodes"):
        bench_graph("uniform", nodes, edges)


def test_the_networkx_graph_has_the_same_edges() -> None:
    graph = bench_graph("hub", 100, 400)
    sources = np.repeat(np.arange(100), np.diff(graph.indptr))
    other = networkx_graph(graph.adjacency())
    assert other.number_of_nodes() == 100
    assert {frozenset(edge) for edge in other.edges} == {
        frozenset(edge) for edge in zip(sources.tolist(), graph.indices.tolist(), strict=True)
    }
