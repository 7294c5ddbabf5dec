"""Feature vectors of a graph are computed once, and cannot be changed by those who read them."""

import copy
import gc
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from planted import TINY, TRAINED, planted_graph
from sanne.config import FeatureConfig
from sanne.estimator import SANNE
from sanne.features import text
from sanne.features.cache import CachedFeatures
from sanne.features.choose import fit_features, fit_transform_features
from sanne.graph.graph import Graph


def documents(count: int = 40) -> Graph:
    texts = np.array([f"topic{i % 3} common number{i}" for i in range(count)], dtype=object)
    return Graph.from_edges(np.arange(count - 1), np.arange(1, count), node_ids=np.arange(count), texts=texts)


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text was split into words."""
    seen: Counter[str] = Counter()
    original = text.words

    def counted(document: str) -> list[str]:
        seen[document] += 1
        return original(document)

    monkeypatch.setattr(text, "words", counted)
    return seen


@pytest.mark.parametrize("objective", ["hidden", "neighbours"])
@pytest.mark.parametrize("features", ["tfidf", "doc2vec"])
def test_a_fit_splits_every_text_once(features: str, objective: str, split: Counter[str]) -> None:
    graph = documents()
    settings = TINY | {"features": features, "objective": objective, "epochs": 1, "doc2vec_epochs": 2}
    model = SANNE(settings=settings).fit(graph)
    assert split == dict.fromkeys(graph.texts, 1)  # type: ignore[arg-type]
    assert len(model.transform(graph)) == len(model.transform(graph, [3, 4])) + 38
    assert split == dict.fromkeys(graph.texts, 1)  # type: ignore[arg-type]


def test_a_hook_after_an_epoch_does_not_split_texts_again(split: Counter[str]) -> None:
    graph = documents()
    seen: list[Any] = []
    SANNE(settings=TRAINED | {"epochs": 2}).fit(
        graph, on_epoch=lambda artifact, _: seen.append(artifact.feature_map.transform(graph))
    )
    assert len(seen) == 2
    assert split == dict.fromkeys(graph.texts, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("features", ["tfidf", "doc2vec", "structure"])
def test_vectors_of_the_fit_are_those_of_the_map_and_cannot_be_changed(features: Any) -> None:
    graph = documents()
    fitted, rows = fit_transform_features(graph, FeatureConfig(features=features, feature_dim=6, doc2vec_epochs=2), 0)
    expected = fitted.transform(graph)
    assert np.allclose(rows, expected, atol=1e-6)
    cache = CachedFeatures(fitted)
    cache.keep(graph, rows)
    with pytest.raises(ValueError, match="read-only"):
        cache.transform(graph)[:] = 9.0
    cache.transform(graph, np.array([1, 2]))[:] = 9.0  # a copy
    assert np.array_equal(cache.transform(graph), rows)
    assert np.array_equal(cache.transform(graph, np.array([2, 0])), rows[[2, 0]])
    assert np.allclose(cache.transform(documents()), expected, atol=1e-6)  # another graph is read by the map


def test_vectors_are_kept_no_longer_than_their_graph() -> None:
    graph = documents()
    fitted, rows = fit_transform_features(graph, FeatureConfig(feature_dim=3), 0)
    cache = CachedFeatures(fitted)
    cache.keep(graph, rows)
    assert len(cache._rows) == 1
    for twin in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert (twin.name, twin.reads_text, len(twin._rows)) == ("tfidf", True, 0)
    del graph
    gc.collect()
    assert len(cache._rows) == 0


def test_a_whole_graph_is_transformed_once_and_some_nodes_of_an_unknown_one_alone() -> None:
    graph = planted_graph()
    plain = fit_features(graph, FeatureConfig(features="numeric"), seed=0)
    cache, chosen = CachedFeatures(plain), np.array([3, 1])
    np.testing.assert_array_equal(cache.transform(graph, chosen), plain.transform(graph)[chosen])
    assert len(cache._rows) == 0
    assert cache.transform(graph) is cache.transform(graph)
    np.testing.assert_array_equal(cache.transform(graph), plain.transform(graph))
