"""node2vec (Grover and Leskovec 2016): skip-gram over second-order walks; new nodes as DeepWalk's."""

import itertools
from dataclasses import replace
from typing import Self

from sanne_lab.baselines.deepwalk import DeepWalk
from sanne_lab.baselines.skip_gram import SkipGram

_BIASES = (0.25, 0.5, 1.0, 2.0, 4.0)  # the paper's grid of p and q
_FIRST = SkipGram(p=4.0, q=1.0)


class Node2Vec(DeepWalk):
    """DeepWalk but for its walks, which have p (how seldom they go back) and q (how seldom they go away)."""

    name = "node2vec"

    def __init__(self, settings: SkipGram | None = None) -> None:
        super().__init__(settings or _FIRST)

    @classmethod
    def grid(cls) -> list[Self]:
        """All of the paper's p and q but DeepWalk's, the default and its likes first."""
        pairs = [pair for pair in itertools.product(_BIASES, _BIASES) if pair != (1.0, 1.0)]
        pairs.sort(
            key=lambda pair: max(pair[0] / _FIRST.p, _FIRST.p / pair[0]) * max(pair[1] / _FIRST.q, _FIRST.q / pair[1])
        )
        return [cls(replace(_FIRST, p=p, q=q)) for p, q in pairs]
