"""Doc2Vec (Le and Mikolov 2014): PV-DBOW vectors of the nodes' words alone; edges are not read."""

import time
from collections.abc import Callable
from typing import Any, Self

from sanne.config import FeatureConfig
from sanne.features.doc2vec import Doc2VecMap
from sanne.graph.graph import Graph
from sanne_lab.baselines.interface import Snapshot


class Doc2Vec:
    """The feature map of SANNE's paper; a new node's vector is inferred from its words."""

    name = "doc2vec"

    def __init__(self, dim: int = 128, epochs: int = 80) -> None:
        self._config = FeatureConfig(features="doc2vec", feature_dim=dim, doc2vec_epochs=epochs)

    @classmethod
    def grid(cls) -> list[Self]:
        """Epochs. Long documents need few: with 80 those of Pubmed are learned by heart and lose six points."""
        return [cls(epochs=epochs) for epochs in (80, 100, 60, 15, 25, 50, 200)]

    def settings(self) -> dict[str, Any]:
        """Size and epochs."""
        return {"dim": self._config.feature_dim, "epochs": self._config.doc2vec_epochs}

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train word vectors; documents are read when they are asked for."""
        started = time.perf_counter()
        words = Doc2VecMap.fit(features_from or graph, self._config, seed)
        seconds = time.perf_counter() - started
        consider(
            Snapshot(
                self._config.doc2vec_epochs,
                present=lambda: words.transform(graph),
                new=lambda larger, nodes: words.transform(larger, nodes),
            )
        )
        return seconds
