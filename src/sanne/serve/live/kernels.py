"""Compiled walks over a graph that changes: a base, and the rows of it that were copied.

Random streams are read as in `walks/kernels.py`: the same neighbours give the same walks.
"""

from typing import Any

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream
from sanne.walks.diffusion import EDGE, STAY
from sanne.walks.kernels import NONE, fraction, pick_uniform, pick_weighted


@kernel
def _next(base: Any, overlay: Any, node: Any, bits: np.uint64) -> Any:
    """A neighbour of a node, in proportion to the weights; the node itself where there is none."""
    slot = overlay.slots[node]
    if slot >= 0:
        low, high = overlay.lows[slot], overlay.highs[slot]
        if low == high:
            return node
        if overlay.plain[slot]:
            place = np.int64(((bits >> np.uint64(32)) * np.uint64(high - low)) >> np.uint64(32))
        else:
            point = fraction(bits) * overlay.sums[high - 1]
            place = min(np.searchsorted(overlay.sums[low:high], point, side="right"), high - low - 1)
        return np.int64(overlay.indices[low + place])
    if node >= len(base.indptr) - 1:
        return node
    start = np.uint64(node)
    if len(base.weights) > 0:
        found = pick_weighted(base.indptr, base.weights, base.totals, base.marks, start, bits)
    else:
        found = pick_uniform(base.indptr, start, bits)
    return node if found == NONE else np.int64(base.indices[found])


@kernel
def first_order(base: Any, overlay: Any, starts: Any, keys: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, 0, keys[i], numbers[i])."""
    for i in range(len(starts)):
        node = np.int64(starts[i])
        state = walk_stream(np.uint64(seed), np.uint64(0), keys[i], np.uint64(numbers[i]))
        walks[i, 0] = node
        for position in range(1, walks.shape[1]):
            state = step(state)
            node = _next(base, overlay, node, mix(state))
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
