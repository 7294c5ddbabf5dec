"""Graphs without attributes from fit to newcomers, and how undecided a vector is."""

from pathlib import Path

import numpy as np
import pytest

from planted import TINY, TRAINED, accuracy, planted_graph
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
    assert ((uncertainty >= 0) & (uncertainty < 1)).all()
    np.testing.assert_allclose(fitted.uncertainty(fitted.embedding_[:7]), uncertainty[:7], atol=1e-5)
    with pytest.raises(InputError, match="vectors of this model"):
        fitted.uncertainty(np.zeros((3, 5), np.float32))
    table = SANNE(settings=TRAINED | {"epochs": 1}).fit(BARE)
    with pytest.raises(InputError, match="no uncertainty"):
        table.uncertainty()
