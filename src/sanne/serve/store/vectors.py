"""The vectors of all nodes by number, and the nearest among them.

Up to `EXACT_ROWS` nodes all cosines are computed in memory. At that size this took 5.6 ms of processor time, LanceDB's
exact search 68 ms and its index 10 ms (`python benchmarks/search.py`). Above, a LanceDB index finds candidates, and
all vectors newer than the index are compared as well.
"""

import threading
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import FloatArray, IntArray
from sanne.serve.live.rows import Growing
from sanne.vectors.normalise import unit
from sanne.vectors.search import best_rows, cosines

EXACT_ROWS = 100_000
_TINY = 1e-12


class Index(Protocol):
    """Finds the nearest of the vectors that it was built from."""

    def nearest(self, query: FloatArray, count: int) -> IntArray:
        """The numbers of about the `count` nearest."""


class LiveVectors:
    """Vectors and spreads; writes to the vectors it is given, which may be a private (copy-on-write) map of a file."""

    def __init__(self, vectors: FloatArray, spread: FloatArray) -> None:
        self.lock = threading.RLock()  # held while the vectors, or the nodes they belong to, change
        self._base = vectors
        self._added = Growing(np.empty((0, vectors.shape[1]), np.float32))
        self._spread = Growing(spread)
        self._lengths = Growing(_lengths(vectors))
        self.index: Index | None = None
        self._newer: dict[int, None] = {}  # nodes whose vectors the index does not hold
        self._since: dict[int, None] = {}  # the same of an index that is being made

    @property
    def count(self) -> int:
        return len(self._base) + self._added.count

    @property
    def dim(self) -> int:
        return int(self._base.shape[1])

    @property
    def num_newer(self) -> int:
        """How many vectors the index does not hold."""
        return len(self._newer)

    def begin_index(self) -> FloatArray:
        """A copy of all vectors, including removed nodes; what changes from now on is newer than it."""
        self._since = {}
        return np.concatenate([self._base, self._added.rows])

    def use_index(self, index: Index) -> None:
        """Search through an index of the vectors that `begin_index` gave."""
        self.index, self._newer = index, self._since

    def add(self, vectors: FloatArray, spread: FloatArray) -> None:
        """Append nodes."""
        first = len(self._base) + self._added.extend(len(vectors), vectors)
        self._spread.extend(len(vectors), spread)
        self._lengths.extend(len(vectors), _lengths(vectors))
        for node in range(first, self.count):
            self._newer[node] = self._since[node] = None

    def put(self, node: int, vector: FloatArray, spread: float) -> None:
        """Change the vector of a node."""
        first = len(self._base)
        vectors, row = (self._base, node) if node < first else (self._added.rows, node - first)
        vectors[row] = vector
        self._spread.rows[node], self._lengths.rows[node] = spread, np.linalg.norm(vector)
        self._newer[node] = self._since[node] = None

    def get(self, node: int) -> tuple[FloatArray, float]:
        """The vector of a node and its spread."""
        return self._rows(np.array([node]))[0], float(self._spread.rows[node])

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
        self, index: Index, query: FloatArray, count: int, wanted: npt.NDArray[np.bool_]
    ) -> list[tuple[int, float]]:
        """The nearest of what the index finds and of all vectors newer than it."""
        newer = np.fromiter(self._newer, np.int64, len(self._newer))
        limit = 2 * count + 10
        while True:
            found = index.nearest(query, limit)
            outdated = np.fromiter((int(node) in self._newer for node in found), bool, len(found))
            usable = found[~outdated & wanted[found]]
            if len(usable) >= count or len(found) < limit:
                break
            limit *= 4
        nodes = np.concatenate([usable, newer[wanted[newer]]])
        best = _best(cosines(self._rows(nodes), query), min(count, len(nodes)))
        return [(int(nodes[place]), score) for place, score in best]

    def _rows(self, nodes: IntArray) -> FloatArray:
        rows = np.empty((len(nodes), self.dim), np.float32)
        old = nodes < len(self._base)
        rows[old] = self._base[nodes[old]]
        rows[~old] = self._added.rows[nodes[~old] - len(self._base)]
        return rows


def _lengths(vectors: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return result


def _best(scores: FloatArray, count: int) -> list[tuple[int, float]]:
    best = best_rows(scores, count)
    return list(zip(best.tolist(), scores[best].tolist(), strict=True))
