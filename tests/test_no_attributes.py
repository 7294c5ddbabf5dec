"""Graphs without attributes from fit to newcomers, and how undecided a vector is."""

from pathlib import Path

import numpy as np
import pytest

from planted import TINY, accuracy, planted_graph
from sanne import SANNE
from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes

PLANTED = planted_graph(3, 40)
BARE = Graph(PLANTED.indptr, PLANTED.indices, None, PLANTED.node_ids, labels=PLANTED.labels)
NEW = np.arange(0, BARE.num_nodes, 5)
KNOWN = np.setdiff1d(np.arange(BARE.num_nodes), NEW)


@pytest.fixture(scope="module")
def fitted() -> SANNE:
    return SANNE(settings=TINY).fit(hide_nodes(BARE, NEW))


def test_features_follow_the_assignments_by_themselves(fitted: SANNE) -> None:
    assert fitted.embedding_.shape[1] == 8 + 2 * 8  # two clusterings of four, two structural views of eight
    with_attributes = SANNE(settings=TINY).fit(PLANTED)
    assert with_attributes.embedding_.shape[1] == 8 + 12
    never = SANNE(settings=TINY | {"append_features": "never"}).fit(BARE)
    assert never.embedding_.shape[1] == 8


def test_newcomers_get_vectors_through_the_same_map(fitted: SANNE) -> None:
    vectors = np.zeros((BARE.num_nodes, fitted.embedding_.shape[1]), np.float32)
    vectors[KNOWN] = fitted.embedding_
    vectors[NEW] = fitted.transform(BARE, BARE.node_ids[NEW])
    assert BARE.labels is not None
    assert accuracy(vectors, BARE.labels, KNOWN, NEW) > 0.8  # chance is a third


def test_a_saved_model_reads_newcomers_alike(fitted: SANNE, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again = SANNE.load(tmp_path / "model")
    ids = BARE.node_ids[NEW]
    assert np.array_equal(again.transform(BARE, ids), fitted.transform(BARE, ids))


def test_uncertainty_is_a_number_for_every_vector(fitted: SANNE) -> None:
    uncertainty = fitted.uncertainty()
    assert uncertainty.shape == (len(KNOWN),)
    assert ((uncertainty >= 0) & (uncertainty < 0.75)).all()  # four clusters: one of them has a quarter at least
    assert np.array_equal(fitted.uncertainty(fitted.embedding_[:7]), uncertainty[:7])
    with pytest.raises(InputError, match="vectors of this model"):
        fitted.uncertainty(np.zeros((3, 5), np.float32))
    table = SANNE(settings=TINY | {"objective": "neighbours", "epochs": 1}).fit(BARE)
    with pytest.raises(InputError, match="no uncertainty"):
        table.uncertainty()
