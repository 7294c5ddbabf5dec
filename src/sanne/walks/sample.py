"""Walks and neighbour samples over an adjacency: arrays in, arrays out, the same for any number of threads."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from sanne.graph.csr import Adjacency, IntArray
from sanne.walks import kernels

Walks = npt.NDArray[np.int32]

_STEPS_PER_THREAD = 2_000_000  # below this a second thread costs more than it gives


class WalkSampler:
    """Draws walks over one adjacency; holds what weighted steps need, computed once."""

    def __init__(self, adjacency: Adjacency, *, walk_length: int, seed: int, threads: int = 1) -> None:
        self.adjacency = adjacency
        self.walk_length = walk_length
        self.seed = np.uint64(seed)
        self.threads = threads
        self._cumulative = (
            np.empty(0, np.float64)
            if adjacency.weights is None
            else kernels.row_cumulative(adjacency.indptr, adjacency.weights)
        )

    def walks(self, starts: IntArray, epochs: IntArray | int, numbers: IntArray | int) -> Walks:
        """One walk from each start, (len(starts), walk_length); its stream is keyed by (seed, epoch, start, number)."""
        count = len(starts)
        epoch_of = np.broadcast_to(np.asarray(epochs, np.int64), count)
        number_of = np.broadcast_to(np.asarray(numbers, np.int64), count)
        walks = np.empty((count, self.walk_length), np.int32)

        def fill(part: slice) -> None:
            kernels.walk_block(
                self.adjacency.indptr,
                self.adjacency.indices,
                self._cumulative,
                starts[part],
                epoch_of[part],
                number_of[part],
                self.seed,
                walks[part],
            )

        parts = min(self.threads, max(1, walks.size // _STEPS_PER_THREAD))
        if parts == 1:
            fill(slice(0, count))
        else:
            edges = np.linspace(0, count, parts + 1).astype(int)
            with ThreadPoolExecutor(parts) as pool:
                list(pool.map(fill, [slice(a, b) for a, b in itertools.pairwise(edges)]))
        return walks

    def walks_of_each(self, nodes: IntArray, num_walks: int, epoch: int = 0) -> Walks:
        """`num_walks` walks from each node, node by node: (len(nodes) * num_walks, walk_length)."""
        starts = np.repeat(np.asarray(nodes, np.int64), num_walks)
        numbers = np.tile(np.arange(num_walks, dtype=np.int64), len(nodes))
        return self.walks(starts, epoch, numbers)

    def neighbours(self, nodes: npt.NDArray[np.int32], count: int, position: int, first: int = 0) -> Walks:
        """`count` neighbours of each node, with replacement; -1 where there are none. A new `position`, a new draw.

        `first` is the number of the first node, where they are a part of a longer list.
        """
        targets = np.empty((len(nodes), count), np.int32)
        kernels.neighbour_block(
            self.adjacency.indptr,
            self.adjacency.indices,
            self._cumulative,
            nodes,
            self.seed + np.uint64(1 << 63),
            position,
            first,
            targets,
        )
        return targets

    def have_neighbours(self, nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which nodes have neighbours."""
        indptr = self.adjacency.indptr
        found: npt.NDArray[np.bool_] = indptr[nodes] < indptr[nodes.astype(np.int64) + 1]
        return found
