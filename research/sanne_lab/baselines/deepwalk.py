"""DeepWalk (Perozzi et al. 2014): skip-gram over uniform walks; a new node gets its neighbours' mean."""

import dataclasses
from collections.abc import Callable
from typing import Any, Self

from sanne.graph.graph import Graph
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.neighbours_mean import fit_known
from sanne_lab.baselines.skip_gram import SkipGram, skip_gram


class DeepWalk:
    """By default a small part of the paper's 80 walks from each node: more give the same accuracy."""

    name = "deepwalk"

    def __init__(self, settings: SkipGram | None = None) -> None:
        self._skip_gram = settings or SkipGram()

    @classmethod
    def grid(cls) -> list[Self]:
        """Window, walks and the two softmax approximations."""
        settings = [SkipGram(), SkipGram(window=5), SkipGram(negatives=0), SkipGram(num_walks=80)]
        return [cls(each) for each in settings]

    def settings(self) -> dict[str, Any]:
        """Walks and skip-gram."""
        return dataclasses.asdict(self._skip_gram)

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Walk and train; node features are not read."""
        return fit_known(lambda: skip_gram(graph, self._skip_gram, seed), graph, consider)
