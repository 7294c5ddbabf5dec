"""Walks and neighbour samples over an adjacency: arrays in, arrays out, the same in any number of parts."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import Adjacency, IntArray
from sanne.walks import kernels

Walks = npt.NDArray[np.int32]


class WalkSampler:
    """Draws walks over one adjacency; holds what weighted steps need, computed once."""

    def __init__(self, adjacency: Adjacency, *, walk_length: int, seed: int) -> None:
        self.walk_length = walk_length
        self.seed = np.uint64(seed)
        self._arcs = arcs_of(adjacency)

    def walks(self, starts: IntArray, epochs: IntArray | int, numbers: IntArray | int) -> Walks:
        """One walk from each start, (len(starts), walk_length); its stream is keyed by (seed, epoch, start, number)."""
        count = len(starts)
        start, epoch, number = (_one_each(values, count) for values in (starts, epochs, numbers))
        walks = np.empty((count, self.walk_length), np.int32)
        self._fill(start, epoch, number, walks)
        return walks

    def _fill(self, starts: IntArray, epochs: IntArray, numbers: IntArray, walks: Walks) -> None:
        kernels.first_order(self._arcs, starts, epochs, numbers, self.seed, walks)

    def walks_of_each(self, nodes: IntArray, num_walks: int) -> Walks:
        """`num_walks` walks from each node, node by node: (len(nodes) * num_walks, walk_length)."""
        starts = np.repeat(np.asarray(nodes, np.int64), num_walks)
        numbers = np.tile(np.arange(num_walks, dtype=np.int64), len(nodes))
        return self.walks(starts, 0, numbers)

    def neighbours(self, nodes: npt.NDArray[np.int32], count: int, position: int) -> Walks:
        """`count` neighbours of each node, with replacement; -1 where there are none. A new `position`, a new draw."""
        targets = np.empty((len(nodes), count), np.int32)
        kernels.neighbour_samples(self._arcs, nodes, self.seed + np.uint64(1 << 63), position, targets)
        return targets


def arcs_of(adjacency: Adjacency) -> kernels.Arcs:
    """What kernels walk on, always in arrays of the same types: for others they would be compiled again."""
    weights, sums = np.empty(0, np.float32), (np.empty(0), np.empty(0))
    if adjacency.weights is not None:
        weights, sums = adjacency.weights, kernels.weight_sums(adjacency.indptr, adjacency.weights)
    return kernels.Arcs(*(read_only(array) for array in (adjacency.indptr, adjacency.indices, weights, *sums)))


def overlay_of(*arrays: npt.NDArray[Any]) -> kernels.Overlay:
    """An overlay of such arrays; without any, one that changes nothing."""
    kinds = (np.int32, np.int64, np.int64, np.bool_, np.int32, np.float32, np.float64)
    return kernels.Overlay(*(read_only(array) for array in arrays or (np.empty(0, kind) for kind in kinds)))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that kernels take for the same type as one of a mapped file."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _one_each(values: npt.ArrayLike, count: int) -> IntArray:
    """An int64 for every walk in a contiguous array, which is what the kernels are compiled for."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, np.int64), count))
