"""Baselines that do not learn: what they read of a node, and what smoothing makes of it."""

import numpy as np

from planted import planted_graph
from sanne.config import FeatureConfig
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.node_features import fit_rows
from sanne_lab.baselines.smoothed import Smoothed

GRAPH = planted_graph(3, 40)
BARE = Graph(GRAPH.indptr, GRAPH.indices, None, GRAPH.node_ids)


def test_nodes_without_attributes_have_two_views_of_their_links() -> None:
    rows = fit_rows(hide_nodes(BARE, np.arange(100, 120)), FeatureConfig(feature_dim=16), 0)(BARE)
    assert rows.shape == (120, 16)
    linked = np.diff(BARE.indptr) > 0
    for view in (rows[:, :8], rows[:, 8:]):  # alike in length, newcomers included
        lengths = np.linalg.norm(view[:100][linked[:100]], axis=1)
        np.testing.assert_allclose(lengths, 0.5**0.5, atol=1e-5)
        assert view[100:].any(axis=1).sum() > 15


def test_attributes_come_before_links() -> None:
    rows = fit_rows(GRAPH, FeatureConfig(feature_dim=16), 0)(GRAPH)
    assert rows.shape[1] == GRAPH.features.shape[1]  # type: ignore[union-attr]


def test_smoothing_is_personalised_pagerank_by_dense_algebra() -> None:
    found: list[Snapshot] = []
    Smoothed(alpha=0.2, steps=5).fit(GRAPH, 0, None, found.append)
    links = GRAPH.adjacency("both").to_scipy().toarray() + np.eye(GRAPH.num_nodes)
    roots = np.diag(links.sum(axis=1) ** -0.5)
    rows = fit_rows(GRAPH, FeatureConfig(), 0)(GRAPH)
    expected = rows
    for _ in range(5):
        expected = 0.2 * rows + 0.8 * (roots @ links @ roots) @ expected
    np.testing.assert_allclose(found[0].present(), expected, atol=1e-5)
