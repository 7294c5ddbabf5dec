"""The product as a system of the suite: its own vectors, newcomers unseen by the fit, settings from outside."""

from pathlib import Path

import numpy as np
import pytest
from suite_graphs import planted, with_other_words

from planted import TINY
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne_lab.suite import run
from sanne_lab.suite.product import embed
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
    (name,) = chosen = run.choose(["sanne"], ["dim=16", "hidden_splits=1"])
    assert name == "sanne dim=16 hidden_splits=1"
    assert chosen[name](view(planted())).shape == (120, 16)
    with pytest.raises(InputError, match="unknown setting 'width'"):
        run.choose(["sanne"], ["width=16"])
    with pytest.raises(InputError, match="changes the product"):
        run.choose(["own"], ["dim=16"])
    with pytest.raises(InputError, match="no system 'sane'"):
        run.choose(["sane"], [])


def test_the_product_is_scored_beside_others(tmp_path: Path) -> None:
    path, graph = tmp_path / "scores.jsonl", planted(240)
    for name, system in run.choose(["own", "sanne-fast"], []).items():
        run.run(graph, name, system, ("present", "newcomers"), path)
    rows = run.read(path)
    assert {row["system"] for row in rows} == {"own", "sanne-fast"}
    assert {row["setting"] for row in rows} == {"present", "newcomers"}
    assert all(row["accuracy"] > 50 for row in rows if row["system"] == "sanne-fast")  # by chance 33
