"""Planted communities are found, and modularity equals networkx's."""

import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.evaluate.clustering import modularity, score_communities
from sanne.evaluate.splits import has_label

RANDOM = np.random.default_rng(0)
LABELS = RANDOM.integers(3, size=90)
VECTORS = (np.eye(3)[LABELS] + 0.05 * RANDOM.normal(size=(90, 3))) * RANDOM.uniform(0.1, 9, size=(90, 1))
SAME = sp.csr_matrix((LABELS[:, None] == LABELS).astype(float) - np.eye(90))


def test_planted_communities_are_found_whatever_the_lengths() -> None:
    scores = score_communities(VECTORS, LABELS, adjacency=SAME)
    assert scores["num_communities"] == 3
    assert scores["nmi"] == pytest.approx(1)
    assert scores["ari"] == pytest.approx(1)
    assert scores["modularity"] == pytest.approx(modularity(SAME, LABELS))
    assert scores["modularity"] == pytest.approx(0.66, abs=0.02)
    assert json.loads(json.dumps(scores))["num_communities"] == 3


def test_random_vectors_score_near_zero() -> None:
    scores = score_communities(RANDOM.normal(size=(90, 3)), LABELS)
    assert scores["nmi"] is not None
    assert scores["nmi"] < 0.2
    assert scores["modularity"] is None


def test_nodes_without_a_label_are_not_compared() -> None:
    names = np.array(["a", "b", "c"], dtype=object)[LABELS]
    names[:10] = ""
    scores = score_communities(VECTORS, names)
    assert scores["num_communities"] == 3
    assert scores["nmi"] == pytest.approx(1)


def test_graph_alone_is_enough_when_the_number_is_given() -> None:
    scores = score_communities(VECTORS, adjacency=SAME, num_communities=3)
    assert scores["nmi"] is None
    assert scores["modularity"] == pytest.approx(modularity(SAME, LABELS))


@pytest.mark.parametrize("directed", [False, True])
def test_modularity_equals_networkx(directed: bool) -> None:
    graph = nx.gnp_random_graph(30, 0.2, seed=1, directed=directed)
    for i, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = 1 + i % 3
    communities = np.arange(30) % 4
    groups = [set(np.flatnonzero(communities == k).tolist()) for k in range(4)]
    expected = nx.community.modularity(graph, groups)
    assert modularity(nx.to_scipy_sparse_array(graph), communities) == pytest.approx(expected)
    assert modularity(sp.csr_matrix((30, 30)), communities) == 0.0


def test_communities_are_repeatable_and_survive_equal_vectors() -> None:
    vectors = RANDOM.normal(size=(60, 4))
    links = sp.csr_matrix(RANDOM.integers(2, size=(60, 60)))
    first, again = (
        score_communities(vectors, adjacency=links, num_communities=5, num_starts=2, seed=3) for _ in range(2)
    )
    assert first == again
    one = score_communities(np.ones((6, 2)), [0, 0, 0, 1, 1, 1], adjacency=np.ones((6, 6)), num_communities=3)
    assert (one["nmi"], one["modularity"]) == (0, 0)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="how many communities"):
        score_communities(VECTORS)
    with pytest.raises(InputError, match="choose 1 to 90"):
        score_communities(VECTORS, num_communities=91)
    with pytest.raises(InputError, match="labels of shape"):
        score_communities(VECTORS, LABELS[:5])


def test_has_label() -> None:
    assert has_label(np.array([0, -1, 2])).tolist() == [True, False, True]
    assert has_label([0.0, float("nan")]).tolist() == [True, False]
    assert has_label(np.array(["a", "", None, 3, -1], dtype=object)).tolist() == [True, False, False, True, False]
