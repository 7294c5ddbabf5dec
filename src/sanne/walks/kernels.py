"""Compiled loops over plain arrays: first-order walks and neighbour samples.

Walks advance in blocks, all of a block's walks one step at a time, and each step is two passes: first choose
where in the graph's arrays every walk goes, then read all those places. The reads do not wait for one another,
which hides most of the latency of a large graph.
"""

from typing import Any, NamedTuple

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream

BLOCK = 64  # walks that advance together
SPAN = 16  # weights between two stored running sums: one cache line


class Arcs(NamedTuple):
    """What the kernels walk on; the last three are empty where all arcs weigh the same."""

    indptr: Any
    indices: Any
    weights: Any
    totals: Any  # per node, the sum of its row's weights
    marks: Any  # per SPAN positions, the sum of the weights before it in its row


@kernel
def weight_sums(indptr: Any, weights: Any) -> Any:
    """The totals and marks of `Arcs`: 8 bytes a node and half a byte an arc, in double precision."""
    totals = np.zeros(len(indptr) - 1, np.float64)
    marks = np.zeros(len(weights) // SPAN + 1, np.float64)
    for node in range(len(indptr) - 1):
        total = 0.0
        for position in range(indptr[node], indptr[node + 1]):
            if position % SPAN == 0:
                marks[position // SPAN] = total
            total += weights[position]
        totals[node] = total
    return totals, marks


@kernel
def fraction(bits: np.uint64) -> float:
    """A number in [0, 1) from the upper 53 bits."""
    return (bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def pick_uniform(indptr: Any, node: int, bits: np.uint64) -> int:
    """The position of a neighbour, each equally likely; -1 for none."""
    first = indptr[node]
    degree = np.uint64(indptr[node + 1] - first)
    # High 32 bits scaled to the degree: no division, and a bias below 2**-32 x degree.
    return first + np.int64(((bits >> np.uint64(32)) * degree) >> np.uint64(32)) if degree > 0 else -1


@kernel
def pick_weighted(indptr: Any, weights: Any, totals: Any, marks: Any, node: int, bits: np.uint64) -> int:
    """The position of a neighbour with probability in proportion to its weight; -1 for none."""
    low, high = indptr[node], indptr[node + 1]
    return find_weighted(low, high, weights, marks, fraction(bits) * totals[node]) if high > low else -1


@kernel
def find_weighted(low: int, high: int, weights: Any, marks: Any, point: float) -> int:
    """The position in a row, low to high, where the running sum of its weights first exceeds `point`."""
    mark, last = low // SPAN, (high - 1) // SPAN
    while mark < last:  # the last mark of the row that does not exceed the point ...
        middle = (mark + last + 1) >> 1
        if marks[middle] <= point:
            mark = middle
        else:
            last = middle - 1
    position, total = low, 0.0
    if mark * SPAN > low:
        position, total = mark * SPAN, marks[mark]
    while position < high - 1:  # ... and on from there, weight by weight
        total += weights[position]
        if total > point:
            break
        position += 1
    return position


@kernel
def start_block(starts: Any, epochs: Any, numbers: Any, seed: Any, nodes: Any, states: Any) -> None:
    """Put a block's walks at their starts, and their streams at (seed, epoch, start, number)."""
    for i in range(len(starts)):
        nodes[i] = starts[i]
        states[i] = walk_stream(np.uint64(seed), np.uint64(epochs[i]), np.uint64(starts[i]), np.uint64(numbers[i]))


@kernel
def advance_block(arcs: Any, size: int, nodes: Any, states: Any, picks: Any) -> None:
    """One first-order step of `size` walks; a walk at a node without neighbours stays there."""
    indptr, indices, weights, totals, marks = arcs  # once: reading a tuple's arrays costs more than a step
    if len(weights) > 0:
        for i in range(size):
            states[i] = step(states[i])
            picks[i] = pick_weighted(indptr, weights, totals, marks, nodes[i], mix(states[i]))
    else:
        for i in range(size):
            states[i] = step(states[i])
            picks[i] = pick_uniform(indptr, nodes[i], mix(states[i]))
    for i in range(size):
        if picks[i] >= 0:
            nodes[i] = indices[picks[i]]


@kernel
def first_order(arcs: Any, starts: Any, epochs: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, epochs[i], starts[i], numbers[i])."""
    nodes, picks, states = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.uint64)
    for base in range(0, len(starts), BLOCK):
        end = min(base + BLOCK, len(starts))
        start_block(starts[base:end], epochs[base:end], numbers[base:end], seed, nodes, states)
        walks[base:end, 0] = nodes[: end - base]
        for position in range(1, walks.shape[1]):
            advance_block(arcs, end - base, nodes, states, picks)
            for i in range(end - base):
                walks[base + i, position] = nodes[i]


@kernel
def neighbour_samples(arcs: Any, nodes: Any, seed: Any, position: Any, targets: Any) -> None:
    """Fill `targets` (count, num_targets) with neighbours of `nodes`, drawn with replacement.

    Row i uses the stream (seed, position, i, nodes[i]); a node without neighbours gives -1.
    """
    indptr, indices, weights, totals, marks = arcs
    for i in range(len(nodes)):
        state = walk_stream(np.uint64(seed), np.uint64(position), np.uint64(i), np.uint64(nodes[i]))
        for j in range(targets.shape[1]):
            state = step(state)
            if len(weights) > 0:
                found = pick_weighted(indptr, weights, totals, marks, nodes[i], mix(state))
            else:
                found = pick_uniform(indptr, nodes[i], mix(state))
            targets[i, j] = -1 if found < 0 else indices[found]
