"""Graph neural baselines on a small planted graph: far better than chance, for newcomers too, and repeatable."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
import torch

from planted import accuracy, planted_graph
from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes
from sanne_lab.baselines.bgrl import BGRL
from sanne_lab.baselines.cca_ssg import CCASSG
from sanne_lab.baselines.dgi import DGI
from sanne_lab.baselines.gat import GAT
from sanne_lab.baselines.gcn import GCN
from sanne_lab.baselines.grace import GRACE
from sanne_lab.baselines.graphmae import GraphMAE
from sanne_lab.baselines.graphsage import GraphSAGE
from sanne_lab.baselines.interface import Classifier, Labelled, Snapshot, System
from sanne_lab.baselines.neural import Reader, Words
from sanne_lab.baselines.planetoid import Planetoid

CLASSIFIERS = [
    GAT(hidden=4, heads=2, epochs=40),
    GCN(hidden=8, epochs=40),
    Planetoid(pairs=512, pretraining=40, epochs=60),
]
SYSTEMS: list[System] = [
    BGRL(dim=16, hidden=16, epochs=60, learning_rate=0.01),
    CCASSG(dim=16, epochs=20, learning_rate=0.01),
    DGI(dim=16, epochs=40, learning_rate=0.01),
    GRACE(dim=16, epochs=40, learning_rate=0.01),
    GraphMAE(dim=16, epochs=40, learning_rate=0.01),
    GraphSAGE(dim=16, hidden=16, pairs=256, epochs=40, learning_rate=0.01),
]
LONELY = 0  # a newcomer without edges


def words_graph() -> Graph:
    """Three groups of 40 nodes with 0/1 words; the first node has no edges."""
    graph = planted_graph(width=24, signal=0.8)
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    kept = (sources < graph.indices) & (sources != LONELY) & (graph.indices != LONELY)
    return Graph.from_edges(
        sources[kept],
        graph.indices[kept],
        node_ids=graph.node_ids,
        features=sp.csr_matrix((graph.features > 0.7).astype(np.float32)),
        labels=graph.labels,
    )


GRAPH = words_graph()
LABELS: npt.NDArray[np.int64] = np.asarray(GRAPH.labels)
NEWCOMERS = np.arange(0, GRAPH.num_nodes, 4)
PRESENT = np.setdiff1d(np.arange(GRAPH.num_nodes), NEWCOMERS)
TRAIN, VAL, TEST = (np.arange(first, len(PRESENT), 3) for first in range(3))  # rows of PRESENT


def name_of(system: Any) -> str:
    return str(system.name)


def classes_of(system: Classifier, seed: int = 0) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    labels = LABELS[PRESENT]
    parts = [Labelled(rows, labels[rows]) for rows in (TRAIN, VAL)]
    fitted, seconds = system.fit_classes(hide_nodes(GRAPH, NEWCOMERS), parts[0], parts[1], seed, None)
    assert seconds > 0
    return fitted.present(TEST), fitted.new(GRAPH, NEWCOMERS)


def vectors_of(system: System, seed: int = 0) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Vectors of the last snapshot."""
    found: list[Snapshot] = []
    assert system.fit(hide_nodes(GRAPH, NEWCOMERS), seed, None, found.append) > 0
    return found[-1].present(), found[-1].new(GRAPH, NEWCOMERS)


@pytest.mark.parametrize("system", CLASSIFIERS, ids=name_of)
def test_a_classifier_knows_present_and_new_nodes(system: Classifier) -> None:
    before = torch.random.get_rng_state()
    present, new = classes_of(system)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert (present == LABELS[PRESENT][TEST]).mean() > 0.7
    assert (new == LABELS[NEWCOMERS]).mean() > 0.7
    again = classes_of(system)
    np.testing.assert_array_equal(present, again[0])
    np.testing.assert_array_equal(new, again[1])


@pytest.mark.parametrize("system", SYSTEMS, ids=name_of)
def test_vectors_tell_the_groups_apart_for_present_and_new_nodes(system: System) -> None:
    before = torch.random.get_rng_state()
    present, new = vectors_of(system)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.isfinite(present).all()
    assert np.isfinite(new).all()  # the first has no neighbours
    labels = LABELS[PRESENT]
    assert accuracy(present, labels, TRAIN, TEST) > 0.7
    together, rows = np.concatenate([present, new]), np.arange(len(PRESENT), GRAPH.num_nodes)
    assert accuracy(together, np.concatenate([labels, LABELS[NEWCOMERS]]), TRAIN, rows) > 0.7
    again = vectors_of(system)
    np.testing.assert_array_equal(present, again[0])
    np.testing.assert_array_equal(new, again[1])


@pytest.mark.parametrize("system", [*CLASSIFIERS, *SYSTEMS], ids=name_of)
def test_the_grid_starts_with_the_defaults_and_repeats_nothing(system: Any) -> None:
    settings = [candidate.settings() for candidate in type(system).grid()]
    assert settings[0] == type(system)().settings()
    assert all(one not in settings[:number] for number, one in enumerate(settings))


@pytest.mark.parametrize("share", [0.02, 0.5])
@pytest.mark.parametrize("outputs", [3, 200])
def test_words_times_weights_and_its_gradient_are_those_of_the_dense_product(share: float, outputs: int) -> None:
    dense = sp.random(30, 20, share, random_state=np.random.default_rng(1), dtype=np.float32)
    rows = torch.from_numpy(dense.toarray())
    weights = torch.randn(20, outputs, generator=torch.Generator().manual_seed(0), requires_grad=True)
    found = Words(dense).product(weights)
    torch.testing.assert_close(found, rows @ weights)
    found.square().sum().backward()
    torch.testing.assert_close(weights.grad, 2 * rows.T @ (rows @ weights))


def test_dropped_words_are_dropped_from_the_gradient_too() -> None:
    words = Words(sp.identity(1000, dtype=np.float32, format="csr"))
    weights = torch.ones(1000, 1, requires_grad=True)
    torch.manual_seed(0)
    found = words.product(weights, dropout=0.75)
    found.sum().backward()
    torch.testing.assert_close(found, weights.grad)  # the identity: what is kept, times four
    assert 0.2 < float((found == 4).float().mean()) < 0.3


def test_word_counts_become_shares_and_a_node_without_words_stays_empty() -> None:
    counts = sp.csr_matrix(np.array([[1, 3, 0], [0, 0, 0]], np.float32))
    graph = Graph.from_edges([0], [1], node_ids=[0, 1], features=counts)
    reader = Reader.fit(graph, None, 0)
    found = reader.read(graph).words.product(torch.eye(3))
    torch.testing.assert_close(found, torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 0.0]]))
    with pytest.raises(InputError, match="3 columns"):
        reader.read(Graph.from_edges([0], [1], node_ids=[0, 1]))


def test_the_part_around_some_nodes_gives_them_what_the_whole_graph_does() -> None:
    inputs = Reader.fit(GRAPH, None, 0).read(GRAPH)
    nodes = np.array([50, LONELY, 7])
    part, rows = inputs.around(nodes, 2)
    assert part.num_nodes < GRAPH.num_nodes
    weights = torch.eye(inputs.words.shape[1])
    whole, some = (one.spread @ (one.spread @ one.words.product(weights)) for one in (inputs, part))
    torch.testing.assert_close(some[rows], whole[nodes])


def test_text_and_dense_features_are_read_through_the_projects_maps() -> None:
    texts = np.array(["red apple", "green apple", "blue sky"], object)
    told = Graph.from_edges([0], [1], node_ids=[0, 1, 2], texts=texts)
    assert Reader.fit(told, None, 0).read(told).words.shape == (3, 3)
    dense = planted_graph()
    assert Reader.fit(dense, None, 0).read(dense).words.shape == (120, 12)
