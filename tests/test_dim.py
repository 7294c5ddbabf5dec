"""`dim`, the size of a vector."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from planted import TINY, planted_graph
from sanne.config import Config, recipe_config
from sanne.errors import InputError, ModelFolderError
from sanne.estimator import SANNE

GRAPH = planted_graph()


def fitted(**settings: object) -> SANNE:
    return SANNE(settings=TINY | {"epochs": 1} | settings, progress=False).fit(GRAPH)


def cosines(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def test_vectors_have_the_size_asked_for_and_keep_their_cosines() -> None:
    natural, small = fitted(), fitted(dim=24)
    assert natural.embedding_.shape[1] > 24 == small.embedding_.shape[1]
    np.testing.assert_allclose(natural.embedding_[:, :24], small.embedding_, atol=1e-4)
    assert np.abs(cosines(small.embedding_) - cosines(natural.embedding_)).mean() < 0.05


def test_small_vectors_come_back_from_the_folder_and_are_what_transform_gives(tmp_path: Path) -> None:
    model = fitted(dim=16)
    model.save(tmp_path / "m")
    loaded = SANNE.load(tmp_path / "m")
    nodes = GRAPH.node_ids[[5, 60]].tolist()
    np.testing.assert_allclose(loaded.transform(GRAPH, nodes), model.embedding_[[5, 60]], atol=1e-2)
    np.testing.assert_allclose(loaded.uncertainty(), model.uncertainty(), atol=1e-6)


def test_vectors_have_512_dimensions_unless_columns_of_numbers_need_more() -> None:
    graph = planted_graph(3, 400, inside=0.005, outside=0.005, width=400)
    few = SANNE(settings={"hidden_splits": 1, "restart_steps": 4}, progress=False)
    flat = few.fit(graph).embedding_  # every column tells something else
    rest = SANNE(settings=few.settings | {"dim": 1024}, progress=False).fit(graph).embedding_[:, flat.shape[1] :]
    assert 512 < flat.shape[1] < 1024
    assert np.square(rest).sum() < 0.011 * np.square(flat).sum()
    alike = graph.features[:, :40] @ np.random.default_rng(0).normal(size=(40, 400)).astype(np.float32)
    graph = dataclasses.replace(graph, features=alike)
    assert few.fit(graph).embedding_.shape[1] <= 512


def test_a_size_larger_than_the_graph_fills_is_refused() -> None:
    with pytest.raises(InputError, match=r"dim \(640\) is more than this graph can fill \(\d+ numbers\)"):
        fitted(dim=640)


@pytest.mark.parametrize("size", [-1, 8, 5000])
def test_sizes_out_of_range_are_refused(size: int) -> None:
    with pytest.raises(InputError, match="dim must lie between 16 and 4096, or be 0"):
        Config().replace(dim=size)


def test_the_papers_vectors_are_as_wide_as_its_encoder() -> None:
    with pytest.raises(InputError, match=r"dim \(32\) must equal encoder_dim \(16\)"):
        fitted(objective="neighbours", dim=32)
    assert fitted(objective="neighbours", dim=16).embedding_.shape[1] == 16
    assert recipe_config("paper").model.dim == 0


def test_a_folder_whose_settings_and_vectors_disagree_is_refused(tmp_path: Path) -> None:
    fitted().save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace('"dim": 0', '"dim": 16'), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="the setting dim is 16"):
        SANNE.load(tmp_path / "m")
