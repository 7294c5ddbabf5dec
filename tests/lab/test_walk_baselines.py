"""Baselines that walk, sample edges or read words: better than chance for present and new nodes, and repeatable."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from planted import accuracy, planted_graph
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.split import hide_nodes
from sanne.paper.device import torch_stream
from sanne_lab.baselines.ddrw import DDRW, Settings
from sanne_lab.baselines.deepwalk import DeepWalk
from sanne_lab.baselines.deepwalk_bow import DeepWalkBow
from sanne_lab.baselines.doc2vec import Doc2Vec
from sanne_lab.baselines.ep_b import EPB
from sanne_lab.baselines.interface import Labelled, Snapshot, System
from sanne_lab.baselines.line import Line
from sanne_lab.baselines.neighbours_mean import neighbours_mean
from sanne_lab.baselines.node2vec import Node2Vec
from sanne_lab.baselines.sdne import SDNE, _AutoEncoder
from sanne_lab.baselines.skip_gram import SkipGram
from sanne_lab.experiments.systems import make_system

WALKS: dict[str, Any] = {"dim": 16, "walk_length": 20, "window": 5}
SYSTEMS: dict[str, Callable[[], System]] = {
    "deepwalk": lambda: DeepWalk(SkipGram(**WALKS)),
    "deepwalk-bow": lambda: DeepWalkBow(deepwalk=DeepWalk(SkipGram(**WALKS))),
    "doc2vec": lambda: Doc2Vec(dim=16, epochs=200),
    "ep-b": lambda: EPB(dim=16, epochs=20),
    "line": lambda: Line(dim=16),
    "node2vec": lambda: Node2Vec(SkipGram(p=4.0, q=2.0, **WALKS)),
    "sdne": lambda: SDNE(dim=16, hidden=32, epochs=20),
}
LONELY = 7  # a node without edges


def worded_graph() -> Graph:
    """Three planted groups whose nodes have words; one node has no edges."""
    graph = planted_graph(3, 50)
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    kept = (sources < graph.indices) & (sources != LONELY) & (graph.indices != LONELY)
    likely = np.where(np.asarray(graph.labels)[:, None] == np.arange(60) % 3, 0.4, 0.1)
    words = sp.csr_matrix((np.random.default_rng(1).random(likely.shape) < likely).astype(np.float32))
    return Graph.from_edges(
        sources[kept], graph.indices[kept], node_ids=graph.node_ids, features=words, labels=graph.labels
    )


def last_snapshot(system: System, graph: Graph, seed: int = 0) -> Snapshot:
    offered: list[Snapshot] = []
    seconds = system.fit(graph, seed, None, offered.append)
    assert seconds >= 0
    return offered[-1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_vectors_tell_the_groups_apart_for_new_nodes_too(name: str) -> None:
    graph = worded_graph()
    labels: Any = graph.labels
    hidden = np.unique([LONELY, *range(4, graph.num_nodes, 5)])
    train = np.setdiff1d(np.arange(graph.num_nodes), hidden)
    snapshot = last_snapshot(SYSTEMS[name](), hide_nodes(graph, hidden))
    present, new = snapshot.present(), snapshot.new(graph, hidden)
    assert len(present) == len(train)
    assert np.isfinite(present).all()
    assert np.isfinite(new).all()
    vectors: FloatArray = np.zeros((graph.num_nodes, present.shape[1]), np.float32)
    vectors[train], vectors[hidden] = present, new
    assert accuracy(vectors, labels, train[::2], train[1::2]) > 0.6
    assert accuracy(vectors, labels, train, hidden) > 0.6


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_seed_gives_the_same_vectors(name: str) -> None:
    graph = worded_graph()
    small = graph.subgraph(np.arange(0, graph.num_nodes, 2))
    first, again, other = (last_snapshot(SYSTEMS[name](), small, seed).present() for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sdne_starts_from_how_often_columns_are_one() -> None:
    # Six thousand nodes, all but one with few links: if all columns started alike, the first steps would be spent on
    # teaching every row the same zeros.
    n = 6000
    hub = Graph.from_edges(np.zeros(n - 1, np.int64), np.arange(1, n), node_ids=np.arange(n))
    start = _AutoEncoder(np.diff(hub.indptr), SDNE(dim=4, hidden=8)._settings, torch_stream(0, "initialise"))
    rebuilt = start.rebuild(torch.zeros(1, 4), torch.tensor([0, 1, 2]))[0]
    assert rebuilt[0] > 0.9
    assert rebuilt[1:].max() < 0.01


def test_ddrw_gives_classes_to_new_nodes_too() -> None:
    graph = worded_graph()
    labels: Any = graph.labels
    hidden = np.unique([LONELY, *range(4, graph.num_nodes, 5)])
    present = np.setdiff1d(np.arange(graph.num_nodes), hidden)
    rows = np.arange(len(present))
    train, val = (Labelled(part, labels[present][part]) for part in (rows[::4], rows[1::4]))
    for classes in (3, 2):  # the last group counts as the second: two classes have one hyperplane
        kept = [Labelled(part.nodes, np.minimum(part.classes, classes - 1)) for part in (train, val)]
        system = DDRW(Settings(**WALKS, num_walks=5))
        (fitted, _), (again, _) = (system.fit_classes(hide_nodes(graph, hidden), *kept, 0, None) for _ in range(2))
        truth = np.minimum(labels, classes - 1)
        assert np.mean(fitted.present(rows[2::4]) == truth[present][2::4]) > 0.7
        assert np.mean(fitted.new(graph, hidden) == truth[hidden]) > 0.7
        np.testing.assert_array_equal(fitted.new(graph, hidden), again.new(graph, hidden))
        assert 1 <= fitted.epoch <= 5


@pytest.mark.parametrize("name", [*SYSTEMS, "ddrw"])
def test_the_grid_starts_with_the_defaults(name: str) -> None:
    system: Any = make_system(name)
    grid = type(system).grid()
    assert grid[0].settings() == system.settings()
    assert len({repr(candidate.settings()) for candidate in grid}) == len(grid)


def test_new_nodes_take_the_mean_of_known_neighbours_and_pass_it_on() -> None:
    #  0 - 1 - 2   new: 3 (beside 0 and 2), 4 (beside 3), 5 (beside 6), 6 (beside 5); present without edges: 7
    edges = np.array([(0, 1), (1, 2), (0, 3), (2, 3), (3, 4), (5, 6), (3, 7)])
    larger = Graph.from_edges(edges[:, 0], edges[:, 1], node_ids=np.arange(8))
    graph = larger.subgraph(np.array([0, 1, 2, 7]))
    vectors = np.array([[1, 0], [9, 9], [3, 2], [100, 100]], np.float32)
    found = neighbours_mean(graph, vectors, larger, np.array([3, 4, 5, 1]))
    mean = vectors.mean(axis=0)
    np.testing.assert_allclose(found, [[2, 1], [2, 1], mean, [9, 9]])
