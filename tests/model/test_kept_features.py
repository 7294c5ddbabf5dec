"""Feature vectors of a graph are computed once, and cannot be changed by those who read them."""

import copy
import gc
import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planted import TINY, TRAINED, planted_graph, trained_config
from sanne.config import FeatureConfig
from sanne.estimator import SANNE
from sanne.features import words
from sanne.features.base import FeatureMap
from sanne.features.choose import choose_features, fit_features
from sanne.graph.graph import Graph
from sanne.model.artifact import Artifact
from sanne.paper.walk_model import WalkModel


def fitted_with_rows(graph: Graph, config: FeatureConfig) -> tuple[Any, Any]:
    return choose_features(graph, config).fit_transform(graph, config, 0)


def documents(count: int = 40) -> Graph:
    texts = np.array([f"topic{i % 3} common number{i}" for i in range(count)], dtype=object)
    return Graph.from_edges(np.arange(count - 1), np.arange(1, count), node_ids=np.arange(count), texts=texts)


@pytest.fixture
def split(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text was split into words."""
    seen: Counter[str] = Counter()
    original = words.words

    def counted(document: str) -> list[str]:
        seen[document] += 1
        return original(document)

    monkeypatch.setattr(words, "words", counted)
    return seen


def some_rows(artifact: Artifact, graph: Graph, nodes: list[int]) -> Any:
    table, places = artifact.table(graph, np.array(nodes))
    return table[places]


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
    SANNE(settings=TRAINED | {"epochs": 2}).fit(graph, on_epoch=lambda artifact, _: seen.append(artifact.rows(graph)))
    assert len(seen) == 2
    assert split == dict.fromkeys(graph.texts, 1)  # type: ignore[arg-type]


def artifact_of(feature_map: FeatureMap, graph: Graph) -> Artifact:
    config = trained_config()
    model = WalkModel(config, width=3, num_nodes=1, seed=0)
    return Artifact(config, 0, feature_map, model, graph.num_nodes)


@pytest.mark.parametrize("features", ["tfidf", "doc2vec"])
def test_vectors_of_the_fit_are_those_of_the_map_and_cannot_be_changed(features: Any) -> None:
    graph = documents()
    fitted, rows = fitted_with_rows(graph, FeatureConfig(features=features, feature_dim=6, doc2vec_epochs=2))
    expected = fitted.transform(graph)
    assert np.allclose(rows, expected, atol=1e-6)
    artifact = artifact_of(fitted, graph)
    artifact.keep(graph, rows)
    with pytest.raises(ValueError, match="read-only"):
        artifact.rows(graph)[:] = 9.0
    assert np.array_equal(artifact.rows(graph), rows)
    assert np.array_equal(some_rows(artifact, graph, [2, 0]), rows[[2, 0]])
    assert np.allclose(artifact.rows(documents()), expected, atol=1e-6)  # another graph is read by the map


def test_vectors_are_kept_no_longer_than_their_graph_and_not_in_copies() -> None:
    graph = documents()
    fitted, rows = fitted_with_rows(graph, FeatureConfig(feature_dim=3))
    artifact = artifact_of(fitted, graph)
    artifact.keep(graph, rows)
    assert len(artifact._kept) == 1
    other = fit_features(graph, FeatureConfig(feature_dim=2), 0)
    for twin in (copy.deepcopy(artifact), pickle.loads(pickle.dumps(artifact)), replace(artifact, feature_map=other)):
        assert (twin.feature_map.name, twin.num_nodes, len(twin._kept)) == ("tfidf", 40, 0)
    del graph
    gc.collect()
    assert len(artifact._kept) == 0


def test_texts_of_a_whole_graph_are_read_once_and_those_of_some_nodes_alone(split: Counter[str]) -> None:
    graph = documents()
    plain = fit_features(graph, FeatureConfig(feature_dim=6), seed=0)
    artifact, chosen = artifact_of(plain, graph), [3, 1]
    split.clear()
    np.testing.assert_allclose(some_rows(artifact, graph, chosen), plain.transform(graph)[chosen], atol=1e-6)
    assert len(artifact._kept) == 0
    split.clear()
    assert artifact.rows(graph) is artifact.rows(graph)
    assert split == dict.fromkeys(graph.texts, 1)  # type: ignore[arg-type]


def test_features_that_are_cheap_are_not_kept() -> None:
    graph = planted_graph()
    artifact = artifact_of(fit_features(graph, FeatureConfig(features="numeric"), seed=0), graph)
    artifact.rows(graph)[0] = 1  # the caller's
    assert len(artifact._kept) == 0
