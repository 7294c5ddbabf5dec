"""node2vec (Grover and Leskovec 2016): skip-gram over second-order walks; new nodes as DeepWalk's."""

import itertools
from typing import Self

from sanne.baselines.deepwalk import DeepWalk
from sanne.baselines.skip_gram import SkipGram

_BIASES = (0.25, 0.5, 1.0, 2.0, 4.0)  # the paper's grid of p and q


class Node2Vec(DeepWalk):
    """DeepWalk but for its walks, which have p (how seldom they go back) and q (how seldom they go away)."""

    name = "node2vec"

    def __init__(
        self,
        p: float = 4.0,
        q: float = 1.0,
        dim: int = 128,
        num_walks: int = 10,
        walk_length: int = 40,
        window: int = 10,
        negatives: int = 5,
        learning_rate: float = 0.025,
    ) -> None:
        self._skip_gram = SkipGram(dim, num_walks, walk_length, window, negatives, learning_rate, p, q)

    @classmethod
    def grid(cls) -> list[Self]:
        """All of the paper's p and q but DeepWalk's, the default and its likes first."""
        first = cls()._skip_gram
        pairs = [pair for pair in itertools.product(_BIASES, _BIASES) if pair != (1.0, 1.0)]
        pairs.sort(
            key=lambda pair: max(pair[0] / first.p, first.p / pair[0]) * max(pair[1] / first.q, first.q / pair[1])
        )
        return [cls(p, q) for p, q in pairs]
