"""The product as a system of the suite: its own vectors, newcomers unseen by the fit, settings from outside."""

import numpy as np
import pytest
from suite_graphs import planted, with_other_words

from planted import TINY
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne_lab.baselines.dgi import DGI
from sanne_lab.suite import rivals, systems
from sanne_lab.suite.baselines import LeftOut
from sanne_lab.suite.product import embed, mean_of_neighbours
from sanne_lab.suite.view import view


def test_present_vectors_are_those_of_a_fit() -> None:
    graph = planted()
    vectors = embed(view(graph), settings=TINY)
    arcs = graph.adjacency.tocoo()
    same = Graph.from_edges(arcs.row, arcs.col, node_ids=np.arange(graph.num_nodes), features=graph.counts)
    np.testing.assert_allclose(vectors, SANNE(settings=TINY, progress=False).fit(same).embedding_, atol=1e-5)


def test_newcomers_are_not_seen_by_the_fit_and_read_with_all_their_links() -> None:
    graph, hidden = planted(), np.arange(100, 120)
    before = embed(view(graph, hidden), settings=TINY)
    after = embed(view(with_other_words(graph, 100), hidden), settings=TINY)
    np.testing.assert_allclose(before[:100], after[:100], atol=1e-5)
    assert np.abs(before[100:] - after[100:]).max() > 1e-3
    assert np.isfinite(before).all()


def test_settings_are_those_of_the_product_and_part_of_the_name() -> None:
    assert systems.find("sanne dim=16 hidden_splits=1")(view(planted())).shape == (120, 16)
    assert systems.digest("sanne dim=16") != systems.digest("sanne")
    assert systems.digest("own") == ""
    assert set(systems.names_of("rivals,own")) == {"dgi", "cca-ssg", "graphmae", "bgrl", "grace", "own"}
    assert "sanne joint_weight=0" in systems.names_of("parts")


def test_a_newcomer_may_have_the_mean_of_its_neighbours() -> None:
    graph, hidden = planted(), np.arange(100, 120)
    seen = view(graph, hidden)
    vectors = mean_of_neighbours(seen)
    np.testing.assert_allclose(vectors[:100], embed(seen)[:100], atol=1e-5)
    known = np.flatnonzero(graph.adjacency[110].toarray().ravel()[:100])
    expected = vectors[known].mean(axis=0) if len(known) else np.zeros(vectors.shape[1])
    np.testing.assert_allclose(vectors[110], expected, atol=1e-5)


def test_rivals_give_newcomers_vectors_and_are_left_out_when_they_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, hidden = planted(), np.arange(100, 120)
    monkeypatch.setitem(rivals.RIVALS, "dgi", DGI(dim=8, epochs=4))
    assert np.isfinite(rivals.embed(view(graph, hidden), "dgi")).all()
    monkeypatch.setattr(rivals, "MINUTES", 0)
    with pytest.raises(LeftOut, match="minutes"):
        rivals.embed(view(graph), "dgi")
    monkeypatch.setattr(rivals, "PAIRS", 10)
    with pytest.raises(LeftOut, match="GB of memory"):
        rivals.embed(view(graph), "grace")
