"""Sort arcs that do not fit in memory into rows of neighbours: split by ranges of nodes on disk, then sort each.

Self-loops are dropped. Weights of repeated edges add up; of the two directions of an undirected edge the larger
counts. These are the rules of `Graph.from_edges`.
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sanne.files.npy import NpyWriter
from sanne.graph.graph import IntArray

Keys = npt.NDArray[np.uint64]  # source in the high half, target in the low half
Weights = npt.NDArray[np.float32]
Edges = tuple[IntArray, IntArray, Weights | None]

_BYTES_PER_ARC = 64  # at the peak of sorting one part
_ARCS_AT_ONCE = 2_000_000
_BINS = 1 << 16  # ranges of nodes in which arcs are counted
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def write_arcs(
    edges: Iterable[Edges], num_nodes: int, folder: Path, scratch: Path, *, directed: bool, weighted: bool, memory: int
) -> None:
    """Write indptr.npy, indices.npy and, if `weighted`, weights.npy of edges (sources, targets, weights)."""
    width = -(-num_nodes // _BINS)  # nodes in a bin
    counts = np.zeros(-(-num_nodes // width), np.int64)
    listed = _ArcFile(scratch / "arcs", weighted)
    for sources, targets, weights in edges:
        counts += _append(listed, sources, targets, weights, directed, width, len(counts))
    bounds = _bounds(counts, width, num_nodes, max(1, memory // _BYTES_PER_ARC))
    parts = [listed] if len(bounds) == 2 else _split(listed, bounds, scratch, weighted)
    with ExitStack() as stack:
        indptr = stack.enter_context(NpyWriter(folder / "indptr.npy", np.int64))
        indices = stack.enter_context(NpyWriter(folder / "indices.npy", np.int32))
        sums = stack.enter_context(NpyWriter(folder / "weights.npy", np.float32)) if weighted else None
        indptr.write([0])
        for part, (first, last) in zip(parts, itertools.pairwise(bounds), strict=True):
            keys, weights = _merged(*part.read())
            part.delete()
            degrees = np.bincount((keys >> _HALF).astype(np.int64) - first, minlength=last - first)
            indptr.write(indices.rows + np.cumsum(degrees))
            indices.write((keys & _LOW_HALF).astype(np.int32))
            if sums is not None:
                sums.write(weights)  # type: ignore[arg-type]


class _ArcFile:
    """Arcs on disk: keys, and beside them weights; the weight of an arc read backwards is negative."""

    def __init__(self, path: Path, weighted: bool) -> None:
        self._paths = [path.with_suffix(".keys"), *([path.with_suffix(".weights")] if weighted else [])]
        for one in self._paths:
            one.touch()

    def write(self, keys: Keys, weights: Weights | None) -> None:
        for path, values in zip(self._paths, (keys, weights), strict=False):
            if len(keys):
                with path.open("ab") as file:  # not kept open: a large graph has more parts than a process may open
                    file.write(np.ascontiguousarray(values).data)

    def read(self, first: int = 0, count: int = -1) -> tuple[Keys, Weights | None]:
        values = [
            np.fromfile(path, kind, count, offset=first * np.dtype(kind).itemsize)
            for path, kind in zip(self._paths, (np.uint64, np.float32), strict=False)
        ]
        return values[0], values[1] if len(values) > 1 else None

    def blocks(self) -> Iterator[tuple[Keys, Weights | None]]:
        for first in range(0, self._paths[0].stat().st_size // 8, _ARCS_AT_ONCE):
            yield self.read(first, _ARCS_AT_ONCE)

    def delete(self) -> None:
        for path in self._paths:
            path.unlink()


def _append(
    file: _ArcFile, sources: IntArray, targets: IntArray, weights: Weights | None, directed: bool, width: int, bins: int
) -> IntArray:
    """Write edges as arcs, in both directions unless directed; how many arcs start in each bin of nodes."""
    keep = sources != targets
    tails, heads = sources[keep].astype(np.uint64), targets[keep].astype(np.uint64)
    values = None if weights is None else weights[keep]
    file.write((tails << _HALF) | heads, values)
    counts = np.bincount(sources[keep] // width, minlength=bins)
    if not directed:
        file.write((heads << _HALF) | tails, None if values is None else -values)
        counts = counts + np.bincount(targets[keep] // width, minlength=bins)
    return counts


def _bounds(counts: IntArray, width: int, num_nodes: int, most: int) -> list[int]:
    """Nodes at which to cut, so that no part has more than `most` arcs (but for a single crowded bin)."""
    bounds, total = [0], 0
    for index, count in enumerate(counts.tolist()):
        if total and total + count > most:
            bounds.append(index * width)
            total = 0
        total += count
    return [*bounds, num_nodes]


def _split(listed: _ArcFile, bounds: list[int], scratch: Path, weighted: bool) -> list[_ArcFile]:
    """Distribute arcs over files by the range of nodes that their tails fall into."""
    parts = [_ArcFile(scratch / f"part{number}", weighted) for number in range(len(bounds) - 1)]
    inner = np.array(bounds[1:-1], np.uint64)
    for keys, weights in listed.blocks():
        owner = np.searchsorted(inner, keys >> _HALF, side="right").astype(np.uint16)
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=len(parts)))
        for part, chosen in zip(parts, np.split(order, ends[:-1]), strict=True):
            part.write(keys[chosen], None if weights is None else weights[chosen])
    listed.delete()
    return parts


def _merged(keys: Keys, weights: Weights | None) -> tuple[Keys, Weights | None]:
    """Distinct keys, sorted, with the larger of the two directions' total weights."""
    if weights is None:
        keys.sort()
    else:
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    if weights is None or len(keys) == 0:
        return keys[starts], weights
    there = np.add.reduceat(np.maximum(weights, 0), starts, dtype=np.float64)
    back = np.add.reduceat(np.minimum(weights, 0), starts, dtype=np.float64)
    return keys[starts], np.maximum(there, -back).astype(np.float32)
