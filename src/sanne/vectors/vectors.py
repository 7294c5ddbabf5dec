"""Vectors of nodes in memory: what inference gives, files hold and the server keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.ids import plain_ids

Ids = npt.NDArray[Any]  # int64, or str objects
Floats = npt.NDArray[np.float32]
Explanation = Sequence[tuple[Any, float]]  # of one vector: (node id, share), largest first


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of nodes, how certain they are, and which nodes they drew on."""

    node_ids: Ids
    vectors: Floats  # (count, dim)
    spread: Floats  # (count,): length of the standard error of each vector over its walks; NaN where there is none
    explanation: Sequence[Explanation] | None = None

    @classmethod
    def of(
        cls,
        node_ids: npt.ArrayLike,
        vectors: npt.ArrayLike,
        spread: npt.ArrayLike | None = None,
        explanation: Sequence[Explanation] | None = None,
    ) -> Self:
        """Anything like arrays, checked; ids become int64 or str objects, numbers float32."""
        rows = np.ascontiguousarray(vectors, np.float32)
        spreads = np.full(len(rows), np.nan, np.float32) if spread is None else np.asarray(spread, np.float32)
        made = cls(plain_ids(np.asarray(node_ids)), rows, spreads, explanation)
        made._check()
        return made

    @property
    def dim(self) -> int:
        """The size of a vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.node_ids)

    def __getitem__(self, rows: slice) -> "Embedding":
        explanation = None if self.explanation is None else self.explanation[rows]
        return Embedding(self.node_ids[rows], self.vectors[rows], self.spread[rows], explanation)

    def _check(self) -> None:
        shape = self.vectors.shape
        if len(shape) != 2 or 0 in shape:
            raise InputError(f"vectors must be (nodes, dim) with at least one of each, not of shape {shape}")
        for name, value in (("vectors", self.vectors), ("spread", self.spread), ("explanation", self.explanation)):
            if value is not None and len(value) != len(self):
                raise InputError(f"{len(self)} node ids but {len(value)} rows of {name}")
        if self.spread.ndim != 1:
            raise InputError(f"spread must be one number a node, not of shape {self.spread.shape}")
