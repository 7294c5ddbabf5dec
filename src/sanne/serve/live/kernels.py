"""Compiled walks over a graph that changes: a base, and the rows of it that were copied.

Random streams are read as in `walks/kernels.py`: the same neighbours give the same walks.
"""

from typing import Any, NamedTuple

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream
from sanne.walks.diffusion import EDGE, STAY
from sanne.walks.kernels import find_weighted, fraction

_STAY = -1


class _Row(NamedTuple):
    """A node's neighbours: a part of the arrays of the base, or of those of the copied rows."""

    copied: Any
    low: Any
    high: Any
    plain: Any  # whether all arcs weigh one
    total: Any  # sum of the weights
    indices: Any  # of all nodes
    weights: Any


@kernel
def _row(base: Any, overlay: Any, node: Any) -> Any:
    slot = overlay.slots[node]
    if slot >= 0:
        low, high = overlay.lows[slot], overlay.highs[slot]
        total = overlay.sums[high - 1] if high > low else 0.0
        return _Row(True, low, high, overlay.plain[slot], total, overlay.indices, overlay.weights)
    low, high, plain, total = 0, 0, len(base.weights) == 0, 0.0
    if node < len(base.indptr) - 1:
        low, high = base.indptr[node], base.indptr[node + 1]
        total = float(high - low) if plain else base.totals[node]
    return _Row(False, low, high, plain, total, base.indices, base.weights)


@kernel
def _first_above(sums: Any, low: Any, high: Any, point: float) -> Any:
    """The first position whose running sum exceeds `point`; the last one if none does."""
    high -= 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > point:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _position_at(base: Any, overlay: Any, row: Any, point: float) -> Any:
    """The position in a row where the running sum of its weights first exceeds `point`."""
    if row.plain:
        return min(row.low + np.int64(point), row.high - 1)
    if row.copied:
        return np.int64(_first_above(overlay.sums, row.low, row.high, point))
    return np.int64(find_weighted(row.low, row.high, base.weights, base.marks, point))


@kernel
def _draw(base: Any, overlay: Any, row: Any, bits: np.uint64) -> Any:
    """A position in a row, in proportion to the weights; -1 where there are no neighbours."""
    degree = np.uint64(row.high - row.low)
    if degree == 0:
        return np.int64(_STAY)
    if row.plain:
        return row.low + np.int64(((bits >> np.uint64(32)) * degree) >> np.uint64(32))
    return _position_at(base, overlay, row, fraction(bits) * row.total)


@kernel
def first_order(base: Any, overlay: Any, starts: Any, keys: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, 0, keys[i], numbers[i])."""
    for i in range(len(starts)):
        node = starts[i]
        state = walk_stream(np.uint64(seed), np.uint64(0), keys[i], np.uint64(numbers[i]))
        walks[i, 0] = node
        for position in range(1, walks.shape[1]):
            state = step(state)
            row = _row(base, overlay, node)
            drawn = _draw(base, overlay, row, mix(state))
            if drawn >= 0:
                node = np.int64(row.indices[drawn])
            walks[i, position] = node


@kernel
def around(
    base: Any,
    overlay: Any,
    start: Any,
    tolerance: float,
    slots: Any,
    queues: Any,
    nodes: Any,
    lost: Any,
    later: Any,
    shares: Any,
    powers: Any,
    degrees: Any,
) -> int:
    """Follow the walks of one node as `walks/diffusion.py` does; returns how many nodes they visit.

    The i-th visited node is `nodes[i]`, its degree `degrees[i]`, and `powers[step, i]` the share of walks there.
    """
    indptr, indices, weights, totals, _ = base  # once: reading a tuple's arrays costs more than a step
    rows, lows, highs, _, own_indices, own_weights, sums = overlay
    nodes[0], slots[start], powers[0, 0], queues[0, 0] = start, 1, 1.0, 0
    count, length = 1, 1
    for position in range(len(powers)):
        last, ahead = position == len(powers) - 1, 0
        here, after = powers[position], powers[0 if last else position + 1]
        queue, next_queue = queues[position % 2], queues[1 - position % 2]
        for i in range(length):
            place = queue[i]
            node = nodes[place]
            low, high, total, copied = 0, 0, 0.0, rows[node] >= 0
            if copied:
                low, high = lows[rows[node]], highs[rows[node]]
                total = sums[high - 1] if high > low else 0.0
            elif node < len(indptr) - 1:
                low, high = indptr[node], indptr[node + 1]
                total = totals[node] if weights.size > 0 else float(high - low)
            degrees[place] = total + 1.0
            if last or here[place] < tolerance * max(1.0, EDGE * (high - low)):
                lost[position] += (1 - STAY) * here[place]
                for r in range(later.shape[1]):
                    shares[place, r] += STAY * later[position, r] * here[place]
                continue
            share = here[place] / degrees[place]
            if after[place] == 0.0:  # the same for every neighbour; a function for it takes several times as long
                next_queue[ahead] = place
                ahead += 1
            after[place] += share
            for arc in range(low, high):
                moved, end = share, own_indices[arc] if copied else indices[arc]
                if copied:
                    moved = share * own_weights[arc]
                elif weights.size > 0:
                    moved = share * weights[arc]
                if slots[end] == 0:
                    nodes[count] = end
                    count += 1
                    slots[end] = count
                other = slots[end] - 1
                if after[other] == 0.0:
                    next_queue[ahead] = other
                    ahead += 1
                after[other] += moved
        length = ahead
    return count
