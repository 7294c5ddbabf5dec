"""Untrained walk mean: the average of the feature vectors along a node's walks. No learning at all."""

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from sanne.config import Config
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import derived_seed
from sanne.walks.sample import WalkSampler
from sanne_lab.baselines.interface import Snapshot, feature_settings
from sanne_lab.baselines.node_features import Rows, fit_rows

_NODES_A_PART = 256  # bounds memory: a part holds num_walks * walk_length feature vectors for each of its nodes


class WalkMean:
    """Mean over 128 walks of 8 nodes."""

    name = "walk-mean"

    def __init__(self, num_walks: int = 128, config: Config | None = None) -> None:
        self._num_walks = num_walks
        self._config = config or Config()

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        changes: list[dict[str, Any]] = [
            {"walk_length": length, "idf_power": power} for power in (1.0, 0.5, 0.0) for length in (8, 5, 12)
        ]
        return [cls(config=Config().replace(**change)) for change in changes]

    def settings(self) -> dict[str, Any]:
        """Walks and features."""
        return {
            "num_inference_walks": self._num_walks,
            "walk_length": self._config.walks.walk_length,
            **feature_settings(self._config.features),
        }

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Fit the feature map only."""
        started = time.perf_counter()
        rows = fit_rows(features_from or graph, self._config.features, seed)
        seconds = time.perf_counter() - started
        consider(
            Snapshot(
                0,
                present=lambda: self._means(graph, np.arange(graph.num_nodes), rows, seed),
                new=lambda larger, nodes: self._means(larger, nodes, rows, seed),
            )
        )
        return seconds

    def _means(self, graph: Graph, nodes: IntArray, rows: Rows, seed: int) -> FloatArray:
        sampler = WalkSampler(
            graph.adjacency("both"),
            walk_length=self._config.walks.walk_length,
            seed=derived_seed(seed, "inference"),
        )
        return _mean_along_walks(sampler, rows(graph), nodes, self._num_walks)


def _mean_along_walks(sampler: WalkSampler, features: FloatArray, nodes: IntArray, num_walks: int) -> FloatArray:
    """The mean feature vector over `num_walks` walks from each node, (len(nodes), width)."""
    means = np.empty((len(nodes), features.shape[1]), np.float32)
    for first in range(0, len(nodes), _NODES_A_PART):
        part = nodes[first : first + _NODES_A_PART]
        walks = sampler.walks_of_each(part, num_walks)
        means[first : first + len(part)] = features[walks].reshape(len(part), -1, features.shape[1]).mean(axis=1)
    return means
