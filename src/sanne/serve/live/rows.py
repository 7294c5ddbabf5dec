"""Rows of neighbours that can change: a base that is never written to, and copies of the rows that changed.

A row is copied when it is first changed. It stays sorted, as in a graph built in one go, so that walks take
the same steps on both. New nodes have the highest numbers: their arcs go to the end of a row, where there is room,
so that adding a node costs the same at any graph size.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import Adjacency, FloatArray
from sanne.seeds import kernel
from sanne.walks.kernels import Overlay
from sanne.walks.sample import arcs_of, overlay_of

_ROOM = 4  # spare arcs in a copied row
_SMALLEST = 64  # rows of a growing array


class Growing:
    """An array that grows at the end, at a constant cost per row; `rows` is the part in use, and may be written to.

    `rows` is a view: one taken before the array grew is not kept up to date.
    """

    def __init__(self, start: npt.NDArray[Any]) -> None:
        self.count = len(start)
        room = max(_SMALLEST, self.count // 4)  # untouched pages take no memory
        self._array = np.empty((self.count + room, *start.shape[1:]), start.dtype)
        self._array[: self.count] = start

    @property
    def rows(self) -> npt.NDArray[Any]:
        return self._array[: self.count]

    def extend(self, count: int, value: Any) -> int:
        """Add `count` rows that hold `value`; returns the number of the first."""
        first = self.count
        needed = first + count
        if needed > len(self._array):
            grown = np.empty((max(needed, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            grown[:first] = self._array[:first]
            self._array = grown
        self._array[first:needed] = value
        self.count = needed
        return first


class LiveRows:
    """Neighbours of every node, with weights; `put` changes one arc."""

    def __init__(self, adjacency: Adjacency, *, for_walks: bool) -> None:
        self.base = adjacency
        self.num_arcs = len(adjacency.indices)
        self._weighted = adjacency.weights is not None
        self._slots = Growing(np.full(adjacency.num_nodes, -1, np.int32))
        self._lows = Growing(np.empty(0, np.int64))
        self._highs = Growing(np.empty(0, np.int64))
        self._rooms = Growing(np.empty(0, np.int64))
        self._plain = Growing(np.empty(0, np.bool_))
        self._indices = Growing(np.empty(0, np.int32))
        self._weights = Growing(np.empty(0, np.float32))
        self._sums = Growing(np.empty(0, np.float64))
        self._arrays = (self._lows, self._highs, self._rooms, self._plain)  # with a number for each row
        self.base_arcs = arcs_of(adjacency) if for_walks else None

    def resize(self, num_nodes: int) -> None:
        """Add nodes without neighbours, or drop the last ones, which have none."""
        self._slots.extend(max(0, num_nodes - self._slots.count), -1)
        self._slots.count = num_nodes

    def row(self, node: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The neighbours of a node and the weights of the arcs to them; read them before the next change."""
        slot = self._slots.rows[node]
        if slot >= 0:
            part = slice(self._lows.rows[slot], self._highs.rows[slot])
            return self._indices.rows[part], self._weights.rows[part]
        if node >= self.base.num_nodes:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        part = slice(self.base.indptr[node], self.base.indptr[node + 1])
        indices = self.base.indices[part]
        weights = np.ones(len(indices), np.float32) if self.base.weights is None else self.base.weights[part]
        return indices, weights

    def weight(self, node: int, target: int) -> float:
        """The weight of an arc; zero where there is none."""
        indices, weights = self.row(node)
        place = int(np.searchsorted(indices, target))
        return float(weights[place]) if place < len(indices) and indices[place] == target else 0.0

    def put(self, node: int, target: int, weight: float) -> None:
        """Set the weight of an arc, new or not; zero removes it."""
        slot = int(self._slots.rows[node])
        if slot < 0 or self._highs.rows[slot] - self._lows.rows[slot] == self._rooms.rows[slot]:
            indices, weights = self.row(node)
            slot = self._copy(node, indices, weights, _ROOM if slot < 0 else _ROOM + len(indices))
        low, high = self._lows.rows[slot], self._highs.rows[slot]
        change = _put(self._indices.rows, self._weights.rows, self._sums.rows, low, high, target, weight)
        self._highs.rows[slot] = high + change
        self.num_arcs += change
        if weight not in (0.0, 1.0):
            self._plain.rows[slot] = False

    @contextmanager
    def extended(self, num_nodes: int, more: Mapping[int, Mapping[int, float]]) -> Iterator[None]:
        """Inside the block there are `num_nodes`, and some rows have more arcs, to nodes with the highest numbers."""
        arrays = (self._slots, *self._arrays, self._indices, self._weights, self._sums)
        counts = [array.count for array in arrays]
        slots = {node: self._slots.rows[node] for node in more if node < self._slots.count}
        self.resize(num_nodes)
        for node, arcs in more.items():
            indices, weights = self.row(node)
            ends = np.array(sorted(arcs), np.int32)
            added = np.array([arcs[end] for end in ends.tolist()], np.float32)
            slot = self._copy(node, np.concatenate([indices, ends]), np.concatenate([weights, added]), 0)
            self._plain.rows[slot] &= bool((added == 1).all())
        try:
            yield
        finally:
            for node, slot in slots.items():
                self._slots.rows[node] = slot
            for array, count in zip(arrays, counts, strict=True):
                array.count = count

    def overlay(self) -> Overlay:
        """The copied rows as arrays, valid until the next change."""
        arrays = (self._slots, self._lows, self._highs, self._plain, self._indices, self._weights, self._sums)
        return overlay_of(*(array.rows for array in arrays))

    def _copy(self, node: int, indices: npt.NDArray[np.int32], weights: FloatArray, room: int) -> int:
        """Give a node its own row, with spare room, and return its slot; its old slot is abandoned."""
        before, count = self._slots.rows[node], len(indices)
        plain = not self._weighted if before < 0 else self._plain.rows[before]
        low = self._indices.extend(count + room, 0)
        self._weights.extend(count + room, 0)
        self._sums.extend(count + room, 0)
        part = slice(low, low + count)
        self._indices.rows[part], self._weights.rows[part] = indices, weights
        np.cumsum(weights, dtype=np.float64, out=self._sums.rows[part])
        for array, value in zip(self._arrays, (low, low + count, count + room, plain), strict=True):
            slot = array.extend(1, value)
        self._slots.rows[node] = slot
        return slot


@kernel
def _put(indices: Any, weights: Any, sums: Any, low: int, high: int, target: int, weight: float) -> int:
    """Insert, change or (weight zero) remove one arc of a sorted row with room for it; returns the change in length."""
    place, end = low, high
    while place < end:
        middle = (place + end) >> 1
        if indices[middle] < target:
            place = middle + 1
        else:
            end = middle
    there = place < high and indices[place] == target
    change = 0
    if weight == 0 and not there:
        return 0
    if weight == 0:
        change = -1
        for i in range(place, high - 1):
            indices[i], weights[i] = indices[i + 1], weights[i + 1]
    else:
        if not there:
            change = 1
            for i in range(high, place, -1):
                indices[i], weights[i] = indices[i - 1], weights[i - 1]
        indices[place], weights[place] = target, weight
    total = sums[place - 1] if place > low else 0.0
    for i in range(place, high + change):
        total += weights[i]
        sums[i] = total
    return change
