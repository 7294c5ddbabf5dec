"""Where walks lead, as a vector: groups show, small components do not take over, newcomers go through the same map."""

from typing import Any

import numpy as np
import pytest

from planted import accuracy, planted_graph
from sanne.errors import InputError
from sanne.features import walk_profile
from sanne.features.walk_profile import WalkProfile
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes

PLANTED = planted_graph()
BARE = Graph(PLANTED.indptr, PLANTED.indices, None, PLANTED.node_ids, labels=PLANTED.labels)
SAME = np.asarray(BARE.labels)[:, None] == np.asarray(BARE.labels)


def test_newcomers_are_described_by_their_links_to_known_nodes() -> None:
    new = np.arange(0, 120, 6)
    known = np.setdiff1d(np.arange(120), new)
    fitted = WalkProfile.fit(hide_nodes(BARE, new), 6, seed=0)
    rows = fitted.transform(BARE, None)
    assert accuracy(rows, np.asarray(BARE.labels), known, new) > 0.8  # chance is a third
    assert not fitted.transform(BARE.subgraph(new), None).any()  # they know only each other
    np.testing.assert_allclose(fitted.transform(BARE, np.array([7, 0, 7])), rows[[7, 0, 7]], atol=1e-5)


def test_small_components_do_not_take_up_all_columns() -> None:
    n = BARE.num_nodes
    sources = np.repeat(np.arange(n), np.diff(BARE.indptr)).tolist() + list(range(n, n + 60, 2))
    targets = BARE.indices.tolist() + list(range(n + 1, n + 61, 2))  # thirty pairs that know nobody else
    patched = Graph.from_edges(sources, targets, node_ids=np.arange(n + 60))
    vectors = WalkProfile.fit(patched, 6, seed=0).transform(patched, None)[:n]
    cosine = vectors @ vectors.T
    assert cosine[SAME].mean() > cosine[~SAME].mean() + 0.1


def test_many_nodes_are_read_by_a_few_eigenvectors_as_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = WalkProfile.fit(BARE, 6, seed=0).transform(BARE, None)
    monkeypatch.setattr(walk_profile, "_DENSE", 10)
    monkeypatch.setattr(walk_profile, "_RANK", 40)
    few = WalkProfile.fit(BARE, 6, seed=0).transform(BARE, None)
    assert np.corrcoef((exact @ exact.T).ravel(), (few @ few.T).ravel())[0, 1] > 0.8


def test_a_restored_map_gives_the_same_rows_and_damaged_parts_are_refused() -> None:
    fitted = WalkProfile.fit(BARE, 6, seed=0)
    description, arrays = fitted.state()
    np.testing.assert_array_equal(
        WalkProfile.from_state(description, arrays).transform(BARE, None), fitted.transform(BARE, None)
    )
    damaged: list[tuple[Any, Any]] = [
        (description | {"known_ids": description["known_ids"][1:]}, arrays),
        (description | {"jump": 0.0}, arrays),
        (description, arrays | {"places": arrays["places"][:, 1:]}),
        (description, arrays | {"components": arrays["components"][1:]}),
    ]
    for parts in damaged:
        with pytest.raises(InputError):
            WalkProfile.from_state(*parts)
