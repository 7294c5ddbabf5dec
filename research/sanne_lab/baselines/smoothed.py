"""Smoothed features: personalised PageRank of TF-IDF + SVD vectors over the graph. No learning at all."""

import time
from collections.abc import Callable
from typing import Any, Self

from sanne.config import Config
from sanne.graph.graph import FloatArray, Graph
from sanne.walks.diffusion import Diffusion, step_weights
from sanne_lab.baselines.interface import Snapshot, feature_settings, kept
from sanne_lab.baselines.node_features import Rows, fit_rows


class Smoothed:
    """Restart probability 0.1, 16 steps, symmetric normalisation with self-loops."""

    name = "smoothed"

    def __init__(self, alpha: float = 0.1, steps: int = 16, config: Config | None = None) -> None:
        self._alpha = alpha
        self._steps = steps
        self._config = config or Config()

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        softer = [Config().replace(idf_power=power) for power in (0.5, 0.0)]
        return [
            cls(),
            *(cls(config=config) for config in softer),
            *(cls(alpha, config=config) for alpha in (0.05, 0.2) for config in (Config(), *softer)),
        ]

    def settings(self) -> dict[str, Any]:
        """Smoothing and features."""
        return {"alpha": self._alpha, "steps": self._steps, **feature_settings(self._config.features)}

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Fit the feature map, smooth; new nodes are smoothed over the larger graph."""
        started = time.perf_counter()
        rows = fit_rows(features_from or graph, self._config.features, seed)
        vectors = self._smoothed(graph, rows)
        seconds = time.perf_counter() - started
        consider(
            Snapshot(
                0,
                present=kept(vectors),
                new=lambda larger, nodes: self._smoothed(larger, rows)[nodes],
            )
        )
        return seconds

    def _smoothed(self, graph: Graph, rows: Rows) -> FloatArray:
        return Diffusion(graph.adjacency("both")).spread(rows(graph), step_weights((self._alpha,), self._steps))[0]
