"""The choice of the feature map, and its way to disk and back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.choose import choose_features, fit_features, restore_features
from sanne.graph.graph import Graph

COUNTS = sp.csr_matrix(np.random.default_rng(0).poisson(1, (6, 5)).astype(np.float32))
TEXTS = np.array([f"word{i} word{i % 2} ünï" for i in range(6)], dtype=object)


def graph(**node_data: Any) -> Graph:
    return Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], node_ids=["a", "b", "c", "d", "e", "日本"], **node_data)


@pytest.mark.parametrize(
    ("node_data", "name"),
    [
        ({"texts": TEXTS, "features": COUNTS}, "tfidf"),
        ({"features": COUNTS}, "tfidf"),
        ({"features": -COUNTS}, "numeric"),
        ({"features": COUNTS.toarray()}, "numeric"),
        ({"features": np.empty((6, 0), np.float32)}, "structure"),
        ({}, "structure"),
    ],
)
def test_auto_takes_text_then_features_then_structure(node_data: Any, name: str) -> None:
    assert choose_features(graph(**node_data), FeatureConfig()).name == name
    assert fit_features(graph(**node_data), FeatureConfig(feature_dim=3), 0).name == name


BAG = np.array([[1 + (i + j) % 3 if (i * j) % 3 == 1 else 0 for j in range(40)] for i in range(1, 7)], np.float32)
WEIGHTS = np.where(BAG == 3, np.random.default_rng(2).random(BAG.shape), 0)


@pytest.mark.parametrize(
    ("features", "name"),
    [
        (BAG, "tfidf"),
        (np.sign(BAG), "tfidf"),
        (BAG / np.maximum(BAG.sum(axis=1, keepdims=True), 1), "tfidf"),
        (WEIGHTS, "tfidf"),
        (np.zeros((6, 40)), "tfidf"),
        (BAG[:, :20], "numeric"),
        (BAG - 0.1, "numeric"),
        (BAG + 1, "numeric"),
        (np.random.default_rng(3).uniform(-1.5, 1, (6, 40)).clip(0), "numeric"),
    ],
    ids=["counts", "signs", "shares", "weights", "nothing", "narrow", "negative", "dense", "activations"],
)
def test_a_dense_matrix_of_words_is_known_by_its_zeros(features: Any, name: str) -> None:
    assert choose_features(graph(features=features.astype(np.float32)), FeatureConfig()).name == name


def test_a_dense_matrix_of_words_is_read_like_a_sparse_one() -> None:
    dense, sparse = graph(features=BAG), graph(features=sp.csr_matrix(BAG))
    read = [fit_features(given, FeatureConfig(feature_dim=3), 0).transform(given) for given in (dense, sparse)]
    np.testing.assert_array_equal(*read)


@pytest.mark.parametrize("wanted", ["tfidf", "doc2vec", "numeric"])
@pytest.mark.parametrize("node_data", [{}, {"features": np.empty((6, 0), np.float32)}])
def test_features_that_the_graph_cannot_give_are_refused(wanted: Any, node_data: Any) -> None:
    with pytest.raises(InputError, match=wanted):
        fit_features(graph(**node_data), FeatureConfig(features=wanted), 0)


@pytest.mark.parametrize(
    ("wanted", "node_data"),
    [
        ("tfidf", {"texts": TEXTS}),
        ("tfidf", {"features": COUNTS}),
        ("tfidf", {"features": COUNTS * 0.3}),
        ("doc2vec", {"texts": TEXTS}),
        ("doc2vec", {"features": COUNTS}),
        ("numeric", {"features": COUNTS.toarray()}),
        ("structure", {}),
    ],
)
def test_a_map_comes_back_from_disk_exactly(tmp_path: Path, wanted: Any, node_data: Any) -> None:
    data = graph(**node_data)
    config = FeatureConfig(features=wanted, feature_dim=3, doc2vec_epochs=20, feature_scale=1.7)
    fitted = fit_features(data, config, 5)
    description, arrays = fitted.state()
    save_file(arrays, tmp_path / "arrays.safetensors")
    read = json.loads(json.dumps(description))
    restored = restore_features(fitted.name, read, load_file(tmp_path / "arrays.safetensors"))
    assert restored.width == fitted.width
    assert np.array_equal(restored.transform(data), fitted.transform(data))
    assert np.array_equal(restored.transform(data, np.array([5])), fitted.transform(data, np.array([5])))


def test_parts_that_do_not_fit_together_are_refused() -> None:
    for wanted, node_data in (
        ("tfidf", {"texts": TEXTS}),
        ("numeric", {"features": COUNTS.toarray()}),
        ("structure", {}),
    ):
        fitted = fit_features(graph(**node_data), FeatureConfig(features=wanted, feature_dim=3), 0)  # type: ignore[arg-type]
        description, arrays = fitted.state()
        name = {"numeric": "mean", "tfidf": "idf", "structure": "idf"}[fitted.name]
        with pytest.raises(InputError):
            restore_features(fitted.name, description, arrays | {name: arrays[name][:-1]})


@pytest.mark.parametrize(
    ("node_data", "wanted", "reads"),
    [
        ({"texts": TEXTS, "features": COUNTS}, "auto", "text"),
        ({"texts": TEXTS}, "doc2vec", "text"),
        ({"features": COUNTS}, "tfidf", "counts"),
        ({"features": COUNTS.toarray()}, "numeric", "numbers"),
        ({"features": COUNTS}, "structure", "nothing"),
    ],
)
def test_a_map_declares_what_it_reads(node_data: Any, wanted: str, reads: str) -> None:
    fitted = fit_features(graph(**node_data), FeatureConfig(features=wanted, feature_dim=3, doc2vec_epochs=2), 0)
    assert fitted.reads == reads


def test_an_unknown_map_is_refused() -> None:
    with pytest.raises(InputError, match="unknown features 'tf-idf': choose one of doc2vec"):
        fit_features(graph(), FeatureConfig(features="tf-idf"), 0)


def test_a_map_of_a_later_version_is_named() -> None:
    with pytest.raises(InputError, match="'telepathy'"):
        restore_features("telepathy", {}, {})
