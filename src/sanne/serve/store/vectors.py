"""The vectors of all nodes by number, and the nearest among them.

Up to `EXACT_ROWS` nodes all cosines are computed in memory. At that size this took 5.6 ms of processor time, LanceDB's
exact search 68 ms and its index 10 ms (`python benchmarks/search.py`). Above, a LanceDB index finds candidates among
the vectors that the base nodes began with, and all newer ones are compared as well.
"""

import threading

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import FloatArray
from sanne.serve.live.rows import Growing
from sanne.serve.store.index import SearchIndex
from sanne.vectors.normalise import unit
from sanne.vectors.search import best_rows, cosines

EXACT_ROWS = 100_000
_TINY = 1e-12


class LiveVectors:
    """Vectors and uncertainties; writes to the vectors it is given, perhaps a private (copy-on-write) map of a file."""

    def __init__(self, vectors: FloatArray, uncertainty: FloatArray) -> None:
        self.lock = threading.RLock()  # held while the vectors, or the nodes they belong to, change
        self._base = vectors
        self._added = Growing(np.empty((0, vectors.shape[1]), np.float32))
        self._uncertainty = Growing(uncertainty)
        self._lengths = Growing(_lengths(vectors))
        self.index: SearchIndex | None = None  # of the base nodes' first vectors
        self._changed: set[int] = set()  # base nodes with other vectors now

    @property
    def count(self) -> int:
        return len(self._base) + self._added.count

    @property
    def dim(self) -> int:
        return int(self._base.shape[1])

    def add(self, vectors: FloatArray, uncertainty: FloatArray) -> None:
        """Append nodes."""
        self._added.extend(len(vectors), vectors)
        self._uncertainty.extend(len(vectors), uncertainty)
        self._lengths.extend(len(vectors), _lengths(vectors))

    def put(self, node: int, vector: FloatArray, uncertainty: float) -> None:
        """Change the vector of a node."""
        if node < len(self._base):
            self._base[node] = vector
            self._changed.add(node)
        else:
            self._added.rows[node - len(self._base)] = vector
        self._uncertainty.rows[node], self._lengths.rows[node] = uncertainty, np.linalg.norm(vector)

    def get(self, node: int) -> tuple[FloatArray, float]:
        """The vector of a node and its uncertainty."""
        row = self._base[node] if node < len(self._base) else self._added.rows[node - len(self._base)]
        return row.copy(), float(self._uncertainty.rows[node])

    def search(
        self, queries: FloatArray, k: int, alive: npt.NDArray[np.bool_], leave_out: int = -1
    ) -> list[list[tuple[int, float]]]:
        """For each query, (queries, dim), the `k` nearest nodes that are alive, as (number, cosine), best first."""
        queries = unit(queries)
        wanted = alive.copy()
        if leave_out >= 0:
            wanted[leave_out] = False
        count = min(k, int(wanted.sum()))
        if self.index is not None:
            return [self._search_index(self.index, query, count, wanted) for query in queries]
        scores = np.concatenate([queries @ self._base.T, queries @ self._added.rows.T], axis=1)
        scores /= np.maximum(self._lengths.rows, _TINY)
        scores[:, ~wanted] = -np.inf
        return [_best(row, count) for row in scores]

    def _search_index(
        self, index: SearchIndex, query: FloatArray, count: int, wanted: npt.NDArray[np.bool_]
    ) -> list[tuple[int, float]]:
        """The nearest of what the index finds and of all vectors newer than it."""
        limit = 2 * count + 10
        while True:
            found = index.nearest(query, limit)
            usable = [node for node in found.tolist() if wanted[node] and node not in self._changed]
            if len(usable) >= count or len(found) < limit:
                break
            limit *= 4
        first = len(self._base)
        old = np.array([*usable, *self._changed], np.int64)
        nodes = np.concatenate([old, np.arange(first, self.count)])
        added = self._added.rows @ query / np.maximum(self._lengths.rows[first:], _TINY)
        scores = np.concatenate([cosines(self._base[old], query), added])
        scores[~wanted[nodes]] = -np.inf
        best = _best(scores, min(count, int(wanted[nodes].sum())))
        return [(int(nodes[place]), score) for place, score in best]


def _lengths(vectors: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return result


def _best(scores: FloatArray, count: int) -> list[tuple[int, float]]:
    best = best_rows(scores, count)
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))
