"""Settings are chosen on a pool of nodes that the final run does not score."""

import numpy as np
import pytest
import scipy.sparse as sp

from sanne_lab.suite import splits
from sanne_lab.suite.graphs import SuiteGraph


def graph(name: str, masks: dict[str, np.ndarray]) -> SuiteGraph:  # type: ignore[type-arg]
    nodes = 600
    empty = sp.csr_matrix((nodes, nodes), dtype=np.float32)
    return SuiteGraph(name, empty, empty, np.arange(nodes) % 4, masks)


def drawn() -> SuiteGraph:
    return graph("drawn", {})


def masked() -> SuiteGraph:
    part = np.random.default_rng(0).integers(0, 3, (2, 600))
    return graph("masked", {f"mask_{name}": part == i for i, name in enumerate(("train", "val", "test"))})


def published() -> SuiteGraph:
    order = np.stack([np.random.default_rng(i).permutation(600) for i in range(2)])
    paper = {"paper_train": order[:, :80], "paper_val": order[:, 80:300], "paper_test": order[:, 300:]}
    public = {"public_train": np.arange(80), "public_val": np.arange(80, 180), "public_test": np.arange(400, 600)}
    return graph("published", paper | public)


@pytest.mark.parametrize("make", [drawn, masked, published])
def test_no_node_is_scored_for_a_choice_and_in_the_final_run(make) -> None:  # type: ignore[no-untyped-def]
    tried = make()
    for regime in splits.regimes(tried):
        final = splits.final(tried, regime, 0)
        assert len(final.test) > 50
        for other in splits.regimes(tried):
            choice = splits.choice(tried, other, 1)
            assert len(choice.val) > 50
            assert not np.intersect1d(choice.val, choice.train).size
            assert not np.intersect1d(choice.val, final.test).size


def test_the_pool_has_no_public_test_node() -> None:
    assert not splits.pool(published())[400:].any()


@pytest.mark.parametrize("make", [drawn, masked, published])
def test_newcomers_are_hidden_from_training_and_scored_once(make) -> None:  # type: ignore[no-untyped-def]
    tried = make()
    choice, final = splits.newcomer_choice(tried, "many", 0), splits.newcomer_final(tried, "many", 0)
    assert np.isin(choice.val, splits.hidden(tried, 0)).all()
    assert np.isin(final.test, splits.hidden(tried, 0, last=True)).all()
    assert min(len(choice.val), len(final.test)) > 20
    for number in range(2):
        assert not np.intersect1d(splits.newcomer_choice(tried, "many", number).val, final.test).size
    for part in (choice.train, choice.val), (final.train, final.test), (final.val, final.test):
        assert not np.intersect1d(*part).size
