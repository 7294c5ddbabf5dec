"""A model in another process: pickled, as multiprocessing and joblib do it, or loaded there."""

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest

from planted import TINY, planted_graph
from sanne.estimator import SANNE
from sanne.graph.graph import FloatArray, Graph

GRAPH = planted_graph()
NODES = ["p3", "p50", "p119"]


@pytest.fixture(scope="module")
def model() -> SANNE:
    return SANNE(settings=TINY | {"epochs": 1, "threads": 0}, progress=False).fit(GRAPH)


def transform_with(model: SANNE, graph: Graph) -> FloatArray:
    return model.transform(graph, nodes=NODES)


def transform_loaded(folder: Path, graph: Graph) -> FloatArray:
    return SANNE.load(folder).transform(graph, nodes=NODES)


def test_a_spawned_process_uses_a_model_that_it_is_given_or_loads(model: SANNE, tmp_path: Path) -> None:
    expected = model.transform(GRAPH, nodes=NODES)  # so that threads have been used before the process starts
    model.save(tmp_path / "model")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        given = pool.apply_async(transform_with, (model, GRAPH))
        loaded = pool.apply_async(transform_loaded, (tmp_path / "model", GRAPH))
        np.testing.assert_allclose(given.get(timeout=300), expected, atol=1e-5)
        np.testing.assert_allclose(loaded.get(timeout=300), expected, atol=1e-5)


@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_a_pickled_model_is_the_same_and_its_vectors_stay_read_only(recipe: str) -> None:
    settings = TINY | {"epochs": 1, "features": "numeric"}
    model = SANNE(recipe, settings=settings, progress=False).fit(GRAPH)
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.transform(GRAPH), model.transform(GRAPH))
    assert again.similar("p3") == model.similar("p3")
    with pytest.raises(ValueError, match="read-only"):
        again.embedding_[0] = 0


def test_a_model_that_is_not_fitted_can_be_pickled() -> None:
    model = SANNE("fast", settings={"epochs": 3})
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
