"""Given features: standardised by what fit saw, whatever arrives later."""

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.numeric import Standardised
from sanne.graph.graph import Graph


def graph_of(features: object, ids: object = None) -> Graph:
    n = features.shape[0]  # type: ignore[attr-defined]
    return Graph.from_edges(
        np.arange(n - 1), np.arange(1, n), node_ids=np.arange(n) if ids is None else ids, features=features
    )


def test_columns_are_standardised_and_an_average_row_has_length_scale() -> None:
    values = np.random.default_rng(0).normal([5, -3, 100], [1, 0.1, 30], (200, 3)).astype(np.float32)
    vectors = Standardised.fit(graph_of(values), FeatureConfig(feature_scale=2.0), 0).transform(graph_of(values))
    assert np.allclose(vectors, 2 / np.sqrt(3) * (values - values.mean(0)) / values.std(0), atol=1e-4)
    assert np.sqrt((vectors**2).sum(1).mean()) == pytest.approx(2.0, abs=1e-3)


def test_a_constant_column_stays_at_zero_even_if_it_changes_later() -> None:
    values = np.array([[1, 0.1], [2, 0.1], [4, 0.1]], np.float32)
    fitted = Standardised.fit(graph_of(values), FeatureConfig(), 0)
    assert not fitted.transform(graph_of(values))[:, 1].any()
    assert fitted.transform(graph_of(values + 7))[:, 1].tolist() == [0, 0, 0]
    # The other column alone has length one.
    assert (fitted.transform(graph_of(values))[:, 0] ** 2).mean() == pytest.approx(1.0, abs=1e-5)


def test_a_new_node_goes_through_the_map_of_fit() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    fitted = Standardised.fit(graph_of(values), FeatureConfig(), 0)
    together = fitted.transform(graph_of(values))
    assert np.array_equal(fitted.transform(graph_of(values), np.array([7, 3])), together[[7, 3]])
    assert np.array_equal(fitted.transform(graph_of(values[[7, 3]])), together[[7, 3]])


def test_sparse_and_dense_features_give_the_same() -> None:
    values = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    values[values < 0] = 0
    sparse = graph_of(sp.csr_matrix(values.astype(np.float64)))
    dense = graph_of(values)
    fitted = Standardised.fit(dense, FeatureConfig(), 0)
    found = fitted.transform(sparse)
    assert found.dtype == np.float32
    assert np.array_equal(found, fitted.transform(dense))
    assert np.array_equal(fitted.transform(sparse, np.array([3])), found[[3]])


def test_another_width_is_refused_with_both_numbers() -> None:
    fitted = Standardised.fit(graph_of(np.eye(4, dtype=np.float32)), FeatureConfig(), 0)
    with pytest.raises(InputError, match=r"3 feature columns .* fitted on 4"):
        fitted.transform(graph_of(np.eye(3, dtype=np.float32)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_feature_that_is_not_finite_names_its_node(bad: float) -> None:
    values = np.ones((4, 2), np.float32)
    values[2, 1] = bad
    graph = graph_of(values, ids=np.array(list("wxyz"), object))
    with pytest.raises(InputError, match="node 'y'"):
        Standardised.fit(graph, FeatureConfig(), 0)
    fitted = Standardised.fit(graph_of(np.eye(2, dtype=np.float32)), FeatureConfig(), 0)
    with pytest.raises(InputError, match="node 'y'"):
        fitted.transform(graph, np.array([0, 2]))
    assert fitted.transform(graph, np.array([0, 1])).shape == (2, 2)


def test_a_graph_without_features_is_named() -> None:
    fitted = Standardised.fit(graph_of(np.eye(4, dtype=np.float32)), FeatureConfig(), 0)
    with pytest.raises(InputError, match="has none"):
        fitted.transform(Graph.from_edges([0], [1], node_ids=[0, 1]))
