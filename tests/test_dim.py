"""`dim`, the size of a vector: vectors reduced to their main axes."""

from pathlib import Path

import numpy as np
import pytest

from planted import TINY, planted_graph
from sanne.config import Config, recipe_config
from sanne.errors import InputError, ModelFolderError
from sanne.estimator import SANNE

GRAPH = planted_graph()
SETTINGS = TINY | {"cluster_sizes": (8,), "epochs": 1}  # 2 x 8 assignments and 12 features: 28 numbers


def fitted(**settings: object) -> SANNE:
    return SANNE(settings=SETTINGS | settings, progress=False).fit(GRAPH)


def cosines(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def test_vectors_have_the_size_asked_for_and_keep_their_cosines() -> None:
    natural, whole, small = fitted(), fitted(dim=28), fitted(dim=16)
    assert (natural.embedding_.shape[1], whole.embedding_.shape[1], small.embedding_.shape[1]) == (28, 28, 16)
    np.testing.assert_allclose(cosines(whole.embedding_), cosines(natural.embedding_), atol=1e-4)
    assert np.abs(cosines(small.embedding_) - cosines(natural.embedding_)).mean() < 0.05
    np.testing.assert_allclose(whole.embedding_[:, :16], small.embedding_, atol=1e-4)
    np.testing.assert_allclose(whole.spread_, natural.spread_, atol=1e-4)  # a rotation keeps lengths


def test_columns_are_in_order_of_importance() -> None:
    weight = (fitted(dim=20).embedding_.astype(np.float64) ** 2).sum(axis=0)
    assert (np.diff(weight) <= 1e-6 * weight[0]).all()


def test_reduced_vectors_come_back_from_the_folder_and_are_what_transform_gives(tmp_path: Path) -> None:
    model = fitted(dim=16)
    model.save(tmp_path / "m")
    loaded = SANNE.load(tmp_path / "m")
    nodes = GRAPH.node_ids[[5, 60]].tolist()
    np.testing.assert_allclose(loaded.transform(GRAPH, nodes), model.embedding_[[5, 60]], atol=1e-5)
    np.testing.assert_allclose(loaded.uncertainty(), model.uncertainty(), atol=1e-6)


def test_uncertainty_is_about_the_same_with_reduced_vectors() -> None:
    natural, small = fitted().uncertainty(), fitted(dim=24).uncertainty()
    np.testing.assert_allclose(small, natural, atol=0.1)


def test_a_size_larger_than_the_vectors_is_refused() -> None:
    with pytest.raises(InputError, match=r"dim \(64\) is larger than the vectors of this model \(28 numbers\)"):
        fitted(dim=64)


@pytest.mark.parametrize("size", [-1, 8, 5000])
def test_sizes_out_of_range_are_refused(size: int) -> None:
    with pytest.raises(InputError, match="dim must lie between 16 and 4096, or be 0"):
        Config().replace(dim=size)


def test_the_papers_vectors_are_as_wide_as_its_encoder() -> None:
    with pytest.raises(InputError, match=r"dim \(32\) must equal encoder_dim \(16\)"):
        fitted(objective="neighbours", dim=32)
    assert fitted(objective="neighbours", dim=16).embedding_.shape[1] == 16
    assert recipe_config("paper").model.dim == 0


def test_a_folder_whose_settings_and_axes_disagree_is_refused(tmp_path: Path) -> None:
    fitted().save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace('"dim": 0', '"dim": 16'), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="axes is missing"):
        SANNE.load(tmp_path / "m")
