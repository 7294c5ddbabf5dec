"""LINE (Tang et al. 2015): edges drawn one by one, first- and second-order vectors trained apart, side by side."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from sanne.errors import InputError
from sanne.graph.graph import Adjacency, FloatArray, Graph
from sanne.seeds import derived_seed, numpy_stream
from sanne.vectors.normalise import unit
from sanne_lab.baselines.fast_kernel import fast_kernel
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.negative_sampling import noise_table, pair_step
from sanne_lab.baselines.neighbours_mean import fill_unlinked, fit_known

_BLOCK = 1_000_000  # edges drawn at once


class Line:
    """Vectors of length one for each order; `samples` edges are drawn for every arc of the graph."""

    name = "line"

    def __init__(self, dim: int = 128, samples: int = 200, negatives: int = 5, learning_rate: float = 0.025) -> None:
        self._dim = dim  # of each order
        self._samples = samples
        self._negatives = negatives
        self._learning_rate = learning_rate

    @classmethod
    def grid(cls) -> list[Self]:
        """How long to train, and how fast."""
        return [
            cls(),
            cls(samples=100, learning_rate=0.05),
            cls(samples=500),
            cls(samples=300),
            cls(learning_rate=0.05),
        ]

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return {
            "dim": self._dim,
            "samples": self._samples,
            "negatives": self._negatives,
            "learning_rate": self._learning_rate,
        }

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train both orders; node features are not read."""
        arcs = graph.adjacency("both")
        if len(arcs.indices) == 0:
            raise InputError("the graph has no edges: LINE has nothing to draw")

        def train() -> FloatArray:
            return np.hstack([fill_unlinked(graph, unit(self._train(arcs, order, seed))) for order in (1, 2)])

        return fit_known(train, graph, consider)

    def _train(self, arcs: Adjacency, order: int, seed: int) -> FloatArray:
        """Vectors of one order: the first has one table, the second another for the far ends."""
        n, m = arcs.num_nodes, len(arcs.indices)
        start = numpy_stream(seed, "initialise", order)
        table = ((start.random((n, self._dim)) - 0.5) / self._dim).astype(np.float32)
        far_ends = table if order == 1 else np.zeros_like(table)
        sources = np.repeat(np.arange(n, dtype=np.int32), np.diff(arcs.indptr))
        shares = None if arcs.weights is None else arcs.weights.astype(np.float64) / arcs.weights.sum(dtype=np.float64)
        noise = noise_table(np.bincount(sources, arcs.weights, minlength=n))
        total = self._samples * m
        for first in range(0, total, _BLOCK):
            count = min(_BLOCK, total - first)
            stream = numpy_stream(seed, "targets", order, first)
            drawn = stream.integers(m, size=count) if shares is None else stream.choice(m, count, p=shares)
            rates = self._learning_rate * np.maximum(1 - np.arange(first, first + count) / total, 1e-4)
            state = np.uint64(derived_seed(seed, "negatives", order, first))
            _train_arcs(
                *(sources[drawn], arcs.indices[drawn], rates.astype(np.float32)),
                *(table, far_ends, noise, self._negatives, state),
            )
        return table


@fast_kernel
def _train_arcs(
    sources: Any, targets: Any, rates: Any, table: Any, far_ends: Any, noise: Any, negatives: Any, state: Any
) -> None:
    change = np.zeros(table.shape[1], np.float32)
    for i in range(len(sources)):
        vector = table[sources[i]]
        state = pair_step(vector, targets[i], far_ends, noise, negatives, rates[i], state, change)
        for d in range(len(vector)):
            vector[d] += change[d]
