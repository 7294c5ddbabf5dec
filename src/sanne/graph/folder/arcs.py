"""Sort arcs that do not fit in memory into rows of neighbours: partition by node range on disk, then sort each part.

Self-loops are dropped. Weights of repeated edges add up; of the two directions of an undirected edge the larger
counts. These are the rules of `Graph.from_edges`.
"""

import itertools
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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
# Arcs on disk; the weight of an arc read backwards is negative.
_PLAIN = np.dtype([("key", np.uint64)])
_WEIGHTED = np.dtype([("key", np.uint64), ("weight", np.float32)])


def write_arcs(
    edges: Iterable[Edges], num_nodes: int, folder: Path, scratch: Path, *, directed: bool, weighted: bool, memory: int
) -> None:
    """Write indptr.npy, indices.npy and, if `weighted`, weights.npy of edges (sources, targets, weights)."""
    kind = _WEIGHTED if weighted else _PLAIN
    width = -(-num_nodes // _BINS)  # nodes in a bin
    counts = np.zeros(-(-num_nodes // width), np.int64)
    listed = scratch / "arcs"
    listed.touch()
    for sources, targets, weights in edges:
        keep = sources != targets
        ends = sources[keep], targets[keep]
        for tails, heads, sign in ((*ends, 1), (*ends[::-1], -1))[: 1 if directed else 2]:
            arcs = np.empty(len(tails), kind)
            arcs["key"] = (tails.astype(np.uint64) << _HALF) | heads.astype(np.uint64)
            if weights is not None:
                arcs["weight"] = sign * weights[keep]
            _append(listed, arcs)
            counts += np.bincount(tails // width, minlength=len(counts))
    bounds = _bounds(counts, width, num_nodes, max(1, memory // _BYTES_PER_ARC))
    parts = [listed] if len(bounds) == 2 else _split(listed, kind, bounds)
    with ExitStack() as stack:
        indptr = stack.enter_context(NpyWriter(folder / "indptr.npy", np.int64))
        indices = stack.enter_context(NpyWriter(folder / "indices.npy", np.int32))
        sums = stack.enter_context(NpyWriter(folder / "weights.npy", np.float32)) if weighted else None
        indptr.write([0])
        for part, (first, last) in zip(parts, itertools.pairwise(bounds), strict=True):
            keys, totals = _merged(np.fromfile(part, kind))
            part.unlink()
            degrees = np.bincount((keys >> _HALF).astype(np.int64) - first, minlength=last - first)
            indptr.write(indices.rows + np.cumsum(degrees))
            indices.write((keys & _LOW_HALF).astype(np.int32))
            if sums is not None and totals is not None:
                sums.write(totals)


def _append(path: Path, arcs: npt.NDArray[Any]) -> None:
    with path.open("ab") as file:  # not kept open: a large graph has more parts than a process may open
        arcs.tofile(file)


def _bounds(counts: IntArray, width: int, num_nodes: int, most: int) -> list[int]:
    """Nodes at which to cut, so that no part has more than `most` arcs (except for a single crowded bin)."""
    bounds, total = [0], 0
    for index, count in enumerate(counts.tolist()):
        if total and total + count > most:
            bounds.append(index * width)
            total = 0
        total += count
    return [*bounds, num_nodes]


def _split(listed: Path, kind: np.dtype[Any], bounds: list[int]) -> list[Path]:
    """Distribute arcs over files by the range of nodes that their tails fall into."""
    parts = [listed.with_name(f"part{number}") for number in range(len(bounds) - 1)]
    for part in parts:
        part.touch()
    inner = np.array(bounds[1:-1], np.uint64)
    for first in range(0, listed.stat().st_size // kind.itemsize, _ARCS_AT_ONCE):
        arcs = np.fromfile(listed, kind, _ARCS_AT_ONCE, offset=first * kind.itemsize)
        owner = np.searchsorted(inner, arcs["key"] >> _HALF, side="right").astype(np.uint16)
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=len(parts)))
        for part, chosen in zip(parts, np.split(order, ends[:-1]), strict=True):
            if len(chosen):
                _append(part, arcs[chosen])
    listed.unlink()
    return parts


def _merged(arcs: npt.NDArray[Any]) -> tuple[Keys, Weights | None]:
    """Distinct keys, sorted, with the larger of the two directions' total weights."""
    weights = None
    if arcs.dtype == _PLAIN:
        keys = arcs["key"]
        keys.sort()
    else:
        keys = arcs["key"].copy()  # in one piece, which sorts faster
        order = np.argsort(keys, kind="stable")
        keys, weights = keys[order], arcs["weight"][order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)
    if weights is None or len(keys) == 0:
        return keys[starts], weights
    there = np.add.reduceat(np.maximum(weights, 0), starts, dtype=np.float64)
    back = np.add.reduceat(np.minimum(weights, 0), starts, dtype=np.float64)
    return keys[starts], np.maximum(there, -back).astype(np.float32)
