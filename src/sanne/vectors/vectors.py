"""Vectors of nodes in memory, as used by inference, files and the server."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Vectors of nodes, their uncertainty, and which nodes contributed to them."""

    node_ids: Ids
    vectors: Floats  # (count, dim)
    uncertainty: Floats  # (count,): from 0 to below 1; NaN if unknown
    explanation: Sequence[Explanation] | None = None

    @classmethod
    def of(
        cls,
        node_ids: npt.ArrayLike,
        vectors: npt.ArrayLike,
        uncertainty: npt.ArrayLike | None = None,
        explanation: Sequence[Explanation] | None = None,
    ) -> Self:
        """Anything like arrays, checked; ids become int64 or str objects, numbers float32."""
        rows = np.ascontiguousarray(vectors, np.float32)
        uncertainties = (
            np.full(len(rows), np.nan, np.float32) if uncertainty is None else np.asarray(uncertainty, np.float32)
        )
        ids = plain_ids(np.asarray(node_ids))
        if rows.ndim != 2 or 0 in rows.shape:
            raise InputError(f"vectors must be (nodes, dim) with at least one of each, not of shape {rows.shape}")
        parts = {"vectors": rows, "uncertainty": uncertainties, "explanation": explanation}
        for name, value in parts.items():
            if value is not None and len(value) != len(ids):
                raise InputError(f"{len(ids)} node ids but {len(value)} rows of {name}")
        if uncertainties.ndim != 1:
            raise InputError(f"uncertainty must be one number per node, not of shape {uncertainties.shape}")
        return cls(ids, rows, uncertainties, explanation)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.node_ids)

    def __repr__(self) -> str:
        explained = "" if self.explanation is None else ", explained"
        return f"Embedding({len(self):,} nodes, {self.dim} dimensions{explained})"

    def to_pandas(self) -> Any:
        """A DataFrame with ids as its index, a column for each dimension (`dim_0`, ...), and `uncertainty`.

        >>> model.embed(graph).to_pandas().loc["paper-9001"]
        """
        try:
            import pandas as pd
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        columns = [f"dim_{i}" for i in range(self.dim)]
        frame = pd.DataFrame(self.vectors, pd.Index(self.node_ids, name="id"), columns)
        return frame.assign(uncertainty=self.uncertainty)

    def __getitem__(self, rows: slice) -> "Embedding":
        explanation = None if self.explanation is None else self.explanation[rows]
        return Embedding(self.node_ids[rows], self.vectors[rows], self.uncertainty[rows], explanation)
