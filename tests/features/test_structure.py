"""Structural features: a node without attributes is described by its neighbours, new nodes too."""

import numpy as np

from planted import planted_graph
from sanne.config import FeatureConfig
from sanne.features.structure import StructureMap
from sanne.graph.graph import Graph

CONFIG = FeatureConfig(features="structure", feature_dim=12)


def bare(seed: int = 0) -> Graph:
    planted = planted_graph(seed=seed)
    return Graph(planted.indptr, planted.indices, None, planted.node_ids, labels=planted.labels)


def grown(graph: Graph, links: dict[str, list[str]]) -> Graph:
    """The graph with new nodes linked as `links` says."""
    ids = [*graph.node_ids.tolist(), *links]
    row = {node_id: i for i, node_id in enumerate(ids)}
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)).tolist()
    targets = graph.indices.tolist()
    for new, ends in links.items():
        sources += [row[new]] * len(ends)
        targets += [row[end] for end in ends]
    return Graph.from_edges(sources, targets, node_ids=np.array(ids, object))


def test_groups_show_in_the_vectors() -> None:
    graph = bare()
    vectors = StructureMap.fit(graph, CONFIG, 0).transform(graph)
    assert graph.labels is not None
    same = graph.labels[:, None] == graph.labels[None]
    cosine = vectors @ vectors.T
    assert cosine[same].mean() > cosine[~same].mean() + 0.3


def test_a_node_alone_gets_the_row_it_gets_among_all() -> None:
    graph = bare()
    fitted = StructureMap.fit(graph, CONFIG, 0)
    together = fitted.transform(graph)
    assert np.allclose(fitted.transform(graph, np.array([8, 2])), together[[8, 2]], atol=1e-6)


def test_a_new_node_is_described_by_its_links_to_known_nodes() -> None:
    graph = bare()
    fitted = StructureMap.fit(graph, CONFIG, 0)
    assert graph.labels is not None
    friends = graph.node_ids[graph.labels == 1][:5].tolist()
    bigger = grown(graph, {"new": friends, "newer": ["new"], "alone": []})
    new, newer, alone = fitted.transform(bigger)[-3:]
    means = np.stack([fitted.transform(graph)[graph.labels == c].mean(axis=0) for c in range(3)])
    assert np.argmax(means @ new) == 1
    assert np.linalg.norm(new) > 0.99
    assert not newer.any()  # it knows only a node that fit did not
    assert not alone.any()


def test_nodes_are_known_by_id_not_by_row() -> None:
    graph = bare()
    fitted = StructureMap.fit(graph, CONFIG, 0)
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    assert np.allclose(fitted.transform(graph.subgraph(order)), fitted.transform(graph)[order], atol=1e-5)


def test_integer_ids_written_as_text_are_the_same_nodes() -> None:
    graph = bare()
    numbers = Graph(graph.indptr, graph.indices, None, np.arange(graph.num_nodes))
    names = Graph(graph.indptr, graph.indices, None, np.arange(graph.num_nodes).astype(str).astype(object))
    for first, second in ((numbers, names), (names, numbers)):
        fitted = StructureMap.fit(first, CONFIG, 0)
        assert np.array_equal(fitted.transform(first), fitted.transform(second))
        assert fitted.transform(second).any()


def test_weights_and_direction_do_not_matter() -> None:
    plain = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], node_ids=[0, 1, 2, 3])
    heavy = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1, 5, 2, 9], node_ids=[0, 1, 2, 3])
    directed = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], node_ids=[0, 1, 2, 3], directed=True)
    fitted = StructureMap.fit(plain, CONFIG, 0)
    expected = fitted.transform(plain)
    assert np.array_equal(fitted.transform(heavy), expected)
    assert np.array_equal(fitted.transform(directed), expected)
