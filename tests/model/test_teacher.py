"""Smoothing and clustering: against dense algebra and against planted clusters."""

from typing import Any

import numpy as np
import pytest

from planted import planted_graph
from sanne.config import ObjectiveConfig
from sanne.graph.graph import Graph
from sanne.model import teacher
from sanne.model.teacher import cluster_centres, normalised, smooth, spherical_kmeans
from sanne.vectors.normalise import unit


def dense(graph: Graph, direction: Any = "both") -> np.ndarray[Any, Any]:
    matrix: np.ndarray[Any, Any] = graph.adjacency(direction).to_scipy().toarray().astype(np.float64)
    matrix = matrix + np.eye(len(matrix))
    return matrix / np.sqrt(matrix.sum(axis=1)[:, None]) / np.sqrt(matrix.sum(axis=0)[None])


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0]])
@pytest.mark.parametrize("directed", [False, True])
def test_smoothing_equals_dense_algebra(weights: Any, directed: bool) -> None:
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], weights, node_ids=list("abcde"), directed=directed)
    features = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    adjacency = graph.adjacency("along")
    assert np.allclose(normalised(adjacency).toarray(), dense(graph, "along"), atol=1e-6)
    expected = features.astype(np.float64)
    for _ in range(7):
        expected = 0.8 * dense(graph, "along") @ expected + 0.2 * features
    found = smooth(adjacency, features, 0.2, 7)
    assert found.dtype == np.float32
    assert np.allclose(found, expected, atol=1e-5)


def test_many_steps_reach_personalised_pagerank() -> None:
    graph = planted_graph(size=10)
    features: Any = graph.features
    exact = 0.3 * np.linalg.solve(np.eye(30) - 0.7 * dense(graph), features)
    assert np.allclose(smooth(graph.adjacency(), features, 0.3, 100), exact, atol=1e-4)


def test_an_isolated_node_and_no_steps_keep_the_features() -> None:
    graph = Graph.from_edges([0], [1], node_ids=["a", "b", "alone"])
    features = np.array([[1, 0], [0, 1], [2, 3]], np.float32)
    assert np.allclose(smooth(graph.adjacency(), features, 0.1, 16)[2], features[2], atol=1e-5)
    assert np.array_equal(smooth(graph.adjacency(), features, 0.1, 0), features)


def planted_rows(count: int = 4, each: int = 50) -> tuple[Any, Any]:
    stream = np.random.default_rng(0)
    centres = np.eye(count, 8)
    labels = np.repeat(np.arange(count), each)
    return unit((centres[labels] + 0.1 * stream.normal(size=(len(labels), 8))).astype(np.float32)), labels


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_finds_planted_clusters(seed: int) -> None:
    rows, labels = planted_rows()
    centres = spherical_kmeans(rows, 4, np.random.default_rng(seed))
    assert np.allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)
    assigned = np.argmax(rows @ centres.T, axis=1)
    groups = {frozenset(np.flatnonzero(assigned == c).tolist()) for c in range(4)}
    assert groups == {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(4)}


def test_centres_repeat_for_a_seed_and_differ_between_runs() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    config = ObjectiveConfig(cluster_sizes=(3, 5), cluster_seeds=2)
    first, again = cluster_centres(rows, config, 0, 0), cluster_centres(rows, config, 0, 0)
    assert [centres.shape for centres in first] == [(3, 6), (3, 6), (5, 6), (5, 6)]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], cluster_centres(rows, config, 1, 0)[0])
    assert not np.array_equal(first[0], cluster_centres(rows, config, 0, 1)[0])


def test_fewer_rows_than_clusters_and_no_rows_at_all_still_give_centres() -> None:
    config = ObjectiveConfig(cluster_sizes=(5,), cluster_seeds=1)
    few = cluster_centres(np.eye(2, 3, dtype=np.float32), config, 0, 0)[0]
    none = cluster_centres(np.zeros((4, 3), np.float32), config, 0, 0)[0]
    assert few.shape == none.shape == (5, 3)
    assert np.isfinite(few).all()
    assert np.isfinite(none).all()


def test_rows_of_zeros_do_not_pull_the_centres() -> None:
    rows, _ = planted_rows()
    config = ObjectiveConfig(cluster_sizes=(4,), cluster_seeds=1)
    padded = np.concatenate([rows, np.zeros((300, 8), np.float32)])
    assert np.array_equal(cluster_centres(rows, config, 0, 0)[0], cluster_centres(padded, config, 0, 0)[0])


def test_a_large_graph_is_clustered_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = planted_rows()
    monkeypatch.setattr(teacher, "_FIT_ROWS", 60)
    centres = cluster_centres(rows, ObjectiveConfig(cluster_sizes=(4,), cluster_seeds=1), 0, 0)[0]
    assert sorted(np.argmax(centres, axis=1).tolist()) == [0, 1, 2, 3]
