"""DeepWalk (Perozzi et al. 2014): skip-gram over uniform walks; a new node gets its neighbours' mean."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any, Self

from sanne.baselines.interface import Snapshot
from sanne.baselines.neighbours_mean import neighbours_mean
from sanne.baselines.skip_gram import SkipGram, skip_gram
from sanne.graph.csr import Graph


class DeepWalk:
    """By default a small part of the paper's 80 walks from each node: more give the same accuracy."""

    name = "deepwalk"

    def __init__(
        self,
        dim: int = 128,
        num_walks: int = 10,
        walk_length: int = 40,
        window: int = 10,
        negatives: int = 5,
        learning_rate: float = 0.025,
    ) -> None:
        self._skip_gram = SkipGram(dim, num_walks, walk_length, window, negatives, learning_rate)

    @classmethod
    def grid(cls) -> list[Self]:
        """Window, walks and the two softmax approximations."""
        return [cls(), cls(window=5), cls(negatives=0), cls(num_walks=80)]

    def settings(self) -> dict[str, Any]:
        """Walks and skip-gram."""
        return dataclasses.asdict(self._skip_gram)

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Walk and train; node features are not read."""
        started = time.perf_counter()
        vectors = skip_gram(graph, self._skip_gram, seed)
        seconds = time.perf_counter() - started
        consider(
            Snapshot(
                0,
                present=lambda: vectors,
                new=lambda larger, nodes: neighbours_mean(graph, vectors, larger, nodes),
            )
        )
        return seconds
