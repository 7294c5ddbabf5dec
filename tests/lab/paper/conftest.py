"""A small planted graph in the place of Cora, so that the paper's full-size model trains on it in seconds."""

import numpy as np
import pytest

from planted import planted_graph
from sanne.evaluate.splits import Splits, seeded_splits
from sanne.graph.graph import FloatArray, Graph
from sanne_lab.paper import inputs


@pytest.fixture
def small_cora(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Cora with 90 nodes and two splits."""
    graph = planted_graph(3, 30, signal=1.0, width=128)
    assert graph.labels is not None
    splits = seeded_splits(graph.labels, 0, count=2, per_class=5, validation=20, test=20)

    def data(dataset: str) -> tuple[Graph, Splits]:
        return graph, splits

    def vectors(dataset: str, source: str, seed: int, cache: object) -> FloatArray:
        assert graph.features is not None
        return np.asarray(graph.features, np.float32)

    monkeypatch.setattr(inputs, "data_of", data)
    monkeypatch.setattr(inputs, "doc2vec_vectors", vectors)
    return graph
