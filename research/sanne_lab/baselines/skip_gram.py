"""Skip-gram over random walks, as DeepWalk and node2vec use it: our walks, gensim's training."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sanne.evaluate.baselines import skip_gram as train_skip_gram
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import numpy_stream
from sanne.walks.sample import Walks
from sanne_lab.baselines.neighbours_mean import linked
from sanne_lab.walks.second_order import make_sampler


@dataclass(frozen=True)
class SkipGram:
    """Walks and training of a skip-gram model; `negatives` 0 means a hierarchical softmax, as DeepWalk had."""

    dim: int = 128
    num_walks: int = 10
    walk_length: int = 40
    window: int = 10
    negatives: int = 5
    learning_rate: float = 0.025
    p: float = 1.0
    q: float = 1.0


class WalkCorpus:
    """All walks of a graph's linked nodes, pass by pass in a new order; drawn again each time they are read."""

    def __init__(self, graph: Graph, settings: SkipGram, seed: int) -> None:
        self._seed = seed
        self._passes = settings.num_walks
        self._starts: IntArray = np.flatnonzero(linked(graph))
        self._sampler = make_sampler(
            graph.adjacency("both"), walk_length=settings.walk_length, seed=seed, p=settings.p, q=settings.q
        )

    def __len__(self) -> int:
        return self._passes * len(self._starts)

    def passes(self) -> Iterator[Walks]:
        """One walk from every node, again and again."""
        for number in range(self._passes):
            starts = numpy_stream(self._seed, "shuffle", number).permutation(self._starts)
            yield self._sampler.walks(starts, 0, number)

    def __iter__(self) -> Iterator[list[int]]:
        for walks in self.passes():
            yield from walks.tolist()


def skip_gram(graph: Graph, settings: SkipGram, seed: int) -> FloatArray:
    """Vectors of all nodes, (n, dim); nodes without edges get the mean."""
    return train_skip_gram(
        WalkCorpus(graph, settings, seed).passes,
        graph.num_nodes,
        seed,
        dim=settings.dim,
        window=settings.window,
        negatives=settings.negatives,
        learning_rate=settings.learning_rate,
    )
