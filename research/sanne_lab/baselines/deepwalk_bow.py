"""DeepWalk beside bag of words: both vectors of a node, one after the other."""

import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.vectors.normalise import unit
from sanne_lab.baselines.bag_of_words import BagOfWords
from sanne_lab.baselines.deepwalk import DeepWalk
from sanne_lab.baselines.interface import Snapshot, kept


class DeepWalkBow:
    """Each half is divided by its spread over the present nodes, so that `words_share` means what it says.

    The words' half has length one before, whatever the number of words.
    """

    name = "deepwalk-bow"

    def __init__(self, words_share: float = 0.7, deepwalk: DeepWalk | None = None) -> None:
        self._words_share = words_share
        self._deepwalk = deepwalk or DeepWalk()

    @classmethod
    def grid(cls) -> list[Self]:
        """How much the words weigh, then DeepWalk's own grid."""
        shares = [cls(share) for share in (0.7, 0.8, 0.9, 0.5)]
        return [*shares, *(cls(deepwalk=walk) for walk in DeepWalk.grid()[1:])]

    def settings(self) -> dict[str, Any]:
        """DeepWalk's, and the words' share of the variance."""
        return {"words_share": self._words_share, **self._deepwalk.settings()}

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train DeepWalk; words are read as they are."""
        started = time.perf_counter()
        bag = BagOfWords.fit(features_from or graph)
        words = _rows(bag, graph, None)
        words_factor = np.sqrt(self._words_share) / _spread(words)
        reading = time.perf_counter() - started

        def consider_both(walks: Snapshot) -> None:
            vectors = walks.present()
            factor = np.sqrt(1 - self._words_share) / _spread(vectors)

            def new(larger: Graph, nodes: IntArray) -> FloatArray:
                parts = (factor * walks.new(larger, nodes), words_factor * _rows(bag, larger, nodes))
                return np.hstack(parts).astype(np.float32)

            present = np.hstack((factor * vectors, words_factor * words)).astype(np.float32)
            consider(Snapshot(walks.epoch, present=kept(present), new=new))

        return reading + self._deepwalk.fit(graph, seed, features_from, consider_both)


def _rows(bag: BagOfWords, graph: Graph, nodes: IntArray | None) -> FloatArray:
    return unit(bag.read(graph, nodes).toarray())


def _spread(rows: FloatArray) -> float:
    """Root mean square distance of the rows from their mean."""
    return float(np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())) or 1.0
