"""Remembered features: computed once per graph, and never changed by whoever reads them."""

import numpy as np
import pytest

from planted import planted_graph
from sanne.config import FeatureConfig
from sanne.features.choose import fit_features
from sanne.features.remembered import RememberedFeatures

GRAPH = planted_graph()


def test_features_of_a_graph_are_computed_once_and_cannot_be_changed() -> None:
    plain = fit_features(GRAPH, FeatureConfig(features="numeric"), seed=0)
    remembered = RememberedFeatures(plain)
    rows = remembered.transform(GRAPH)
    assert remembered.transform(GRAPH) is rows
    with pytest.raises(ValueError, match="read-only"):
        rows *= 2
    some = remembered.transform(GRAPH, np.array([3, 1]))
    some *= 2  # a copy, which belongs to the caller
    np.testing.assert_array_equal(remembered.transform(GRAPH), plain.transform(GRAPH))


def test_some_nodes_of_an_unknown_graph_are_computed_alone() -> None:
    plain = fit_features(GRAPH, FeatureConfig(features="numeric"), seed=0)
    chosen = np.array([3, 1])
    np.testing.assert_array_equal(RememberedFeatures(plain).transform(GRAPH, chosen), plain.transform(GRAPH)[chosen])
