"""Parts registered from outside the package work like those inside it: fit, save, load, embed."""

from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import torch
from torch import Tensor

import sanne.paper.walk_model  # noqa: F401 (registers the objectives of the package)
from planted import TINY, planted_graph
from sanne.config import Config, FeatureConfig
from sanne.errors import InputError, ModelFolderError
from sanne.estimate import estimate_fit
from sanne.estimator import SANNE
from sanne.features import base
from sanne.features.base import FeatureMap, register_features
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.paper import objective
from sanne.paper.batches import Batch
from sanne.paper.encoder import WalkEncoder
from sanne.paper.objective import Objective, register_objective

SETTINGS = TINY | {"epochs": 1}


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(base, "_MAPS", dict(base._MAPS))
    monkeypatch.setattr(objective, "_OBJECTIVES", dict(objective._OBJECTIVES))


class LetterCounts(FeatureMap):
    """A toy text encoder: how often some letters occur."""

    name = "letters"
    reads = "text"

    def __init__(self, letters: str) -> None:
        self._letters = letters
        self.width = len(letters)

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        assert graph.texts is not None
        return cls("".join(sorted(set("".join(graph.texts)))))

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        assert graph.texts is not None
        texts = graph.texts if nodes is None else graph.texts[nodes]
        return np.array([[text.count(letter) for letter in self._letters] for text in texts], np.float32)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {"letters": self._letters}, {}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(str(description["letters"]))


class StartFeatures(Objective):
    """A toy objective: the walk's mean vector predicts the features of its first node."""

    name = "start"

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__(config, width=width, num_nodes=num_nodes, seed=seed)
        self.vector_dim = config.model.encoder_dim
        self.predict = torch.nn.Linear(self.vector_dim, width)
        self.steps = 0

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        self.steps += 1
        return (self.predict(encoder(features).mean(dim=1)) - features[:, 0]).square().mean()

    def read(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        mean: Tensor = encoder(features).mean(dim=1)
        return mean

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        return torch.full(features.shape[:2], 1 / features.shape[1])


def text_graph() -> Graph:
    texts = np.array([("abc" if i % 2 else "xyz") * (1 + i % 3) for i in range(30)], object)
    return Graph.from_edges(np.arange(29), np.arange(1, 30), node_ids=np.arange(30), texts=texts)


@pytest.mark.parametrize("objective", ["hidden", "neighbours"])
def test_a_text_encoder_from_outside_is_fitted_saved_and_loaded(tmp_path: Path, objective: str) -> None:
    register_features(LetterCounts)
    graph = text_graph()
    settings = SETTINGS | {"features": "letters", "objective": objective, "present_vectors": "walks"}
    model = SANNE(settings=settings, progress=False).fit(graph)
    assert (model.artifact_.feature_map.base_name, model.artifact_.feature_map.reads) == ("letters", "text")
    model.save(tmp_path / "m")
    loaded = SANNE.load(tmp_path / "m")
    np.testing.assert_allclose(loaded.transform(graph), model.embedding_, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 24])
def test_an_objective_from_outside_is_trained_saved_and_loaded(tmp_path: Path, dim: int) -> None:
    register_objective(StartFeatures)
    graph = planted_graph()
    settings = SETTINGS | {"objective": "start", "encoder_dim": 24, "dim": dim}
    model = SANNE(settings=settings, progress=False).fit(graph)
    trained: Any = model.artifact_.model.objective
    assert trained.steps > 0
    assert model.embedding_.shape == (graph.num_nodes, 24)
    with pytest.raises(InputError, match="no uncertainty"):
        model.uncertainty()
    model.save(tmp_path / "m")
    loaded = SANNE.load(tmp_path / "m")
    found = loaded.transform(graph, graph.node_ids[:3].tolist(), explain=2)
    np.testing.assert_allclose(found.vectors, model.embedding_[:3], atol=1e-5)
    assert [len(named) for named in found.explanation or []] == [2, 2, 2]
    assert "training" in estimate_fit(graph, Config().replace(**settings)).stages


def test_a_model_whose_parts_are_not_registered_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(base, "_MAPS", dict(base._MAPS))
        register_features(LetterCounts)
        SANNE(settings=SETTINGS | {"features": "letters"}, progress=False).fit(text_graph()).save(tmp_path / "m")
    with pytest.raises(ModelFolderError, match=r"unknown features 'letters'.*import the module that registers it"):
        SANNE.load(tmp_path / "m")


def test_a_name_is_registered_once() -> None:
    register_features(LetterCounts)
    register_features(LetterCounts)  # the same module imported again
    with pytest.raises(InputError, match="already a feature map 'letters'"):
        register_features(type("Other", (LetterCounts,), {}))
    for name in ("neighbours", "hidden"):
        with pytest.raises(InputError, match=f"already an objective '{name}'"):
            register_objective(type("Other", (StartFeatures,), {"name": name}))
