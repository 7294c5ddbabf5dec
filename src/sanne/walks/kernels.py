"""Compiled loops over plain arrays: first-order walks and neighbour samples.

Walks advance in blocks, all of a block's walks one step at a time, and each step is three passes: draw random
bits, choose the arc of every walk, read the ends of those arcs. The reads of a pass do not wait for one another,
which hides most of the latency of a large graph. Positions are unsigned, as numba checks signed ones for Python's
negative indices.
"""

from typing import Any, NamedTuple

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream

_APART = 24  # numbers, three cache lines
BLOCK = 512  # walks that advance together
SPAN = 16  # weights between two stored running sums: one cache line
NONE = np.uint64(2**64 - 1)  # in place of the position of an arc, where a node has none


class Arcs(NamedTuple):
    """What the kernels walk on; the last three are empty where all arcs weigh the same."""

    indptr: Any
    indices: Any
    weights: Any
    totals: Any  # per node, the sum of its row's weights
    marks: Any  # per SPAN positions, the sum of the weights before it in its row


class Overlay(NamedTuple):
    """Rows in place of some of the arcs' own, as a graph that changes has them."""

    slots: Any  # per node, the number of its row here; -1, or nothing at all: as in the arcs
    lows: Any  # per row, where it begins ...
    highs: Any  # ... and ends in the arrays below
    plain: Any  # per row, whether all arcs weigh one (and the base has no weights)
    indices: Any
    weights: Any
    sums: Any  # running sums of the weights within a row


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
def pick_uniform(indptr: Any, node: np.uint64, bits: np.uint64) -> np.uint64:
    """The position of an arc from `node`, each equally likely."""
    first = np.uint64(indptr[node])
    degree = np.uint64(indptr[node + np.uint64(1)]) - first
    # High 32 bits scaled to the degree: no division, and a bias below 2**-32 x degree.
    return first + (((bits >> np.uint64(32)) * degree) >> np.uint64(32)) if degree > 0 else NONE


@kernel
def pick_weighted(indptr: Any, weights: Any, totals: Any, marks: Any, node: np.uint64, bits: np.uint64) -> np.uint64:
    """The position of an arc from `node`, with probability in proportion to its weight."""
    low, high = indptr[node], indptr[node + np.uint64(1)]
    if low == high:
        return NONE
    return np.uint64(find_weighted(low, high, weights, marks, fraction(bits) * totals[node]))


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
    position, total = max(low, mark * SPAN), marks[mark] if mark * SPAN > low else 0.0
    for other in range(position, min(high - 1, (mark + 1) * SPAN)):  # ... and on from there, with no branch to guess
        total += weights[other]
        position += 1 if total <= point else 0
    return position


@kernel
def advance_block(arcs: Any, size: int, nodes: Any, states: Any, picks: Any) -> None:
    """One first-order step of `size` walks; a walk at a node without neighbours stays there."""
    indptr, indices, weights, totals, marks = arcs  # once: reading a tuple's arrays costs more than a step
    for i in range(size):
        states[i] = step(states[i])
        picks[i] = mix(states[i])
    if len(weights) > 0:
        for i in range(size):
            picks[i] = pick_weighted(indptr, weights, totals, marks, nodes[i], picks[i])
    else:
        for i in range(size):
            picks[i] = pick_uniform(indptr, nodes[i], picks[i])
    for i in range(size):
        if picks[i] != NONE:
            nodes[i] = indices[picks[i]]


@kernel
def work_arrays() -> Any:
    """Three arrays of a block, not a page's length apart: addresses that end alike would wait for one another."""
    work = np.empty(3 * (BLOCK + _APART), np.uint64)
    return work[:BLOCK], work[BLOCK + _APART : 2 * BLOCK + _APART], work[2 * (BLOCK + _APART) : 3 * BLOCK + 2 * _APART]


@kernel
def first_order(arcs: Any, starts: Any, epochs: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, epochs[i], starts[i], numbers[i])."""
    nodes, picks, states = work_arrays()
    for base in range(0, len(starts), BLOCK):
        size = min(BLOCK, len(starts) - base)
        for i in range(size):
            walk = base + i
            nodes[i] = walks[walk, 0] = starts[walk]
            states[i] = walk_stream(np.uint64(seed), np.uint64(epochs[walk]), nodes[i], np.uint64(numbers[walk]))
        for position in range(1, walks.shape[1]):
            advance_block(arcs, size, nodes, states, picks)
            for i in range(size):
                walks[base + i, position] = nodes[i]


@kernel
def neighbour_samples(arcs: Any, nodes: Any, seed: Any, position: Any, targets: Any) -> None:
    """Fill `targets` (count, num_targets) with neighbours of `nodes`, drawn with replacement.

    Row i uses the stream (seed, position, i, nodes[i]); a node without neighbours gives -1.
    """
    indptr, indices, weights, totals, marks = arcs
    for i in range(len(nodes)):
        node = np.uint64(nodes[i])
        state = walk_stream(np.uint64(seed), np.uint64(position), np.uint64(i), node)
        for j in range(targets.shape[1]):
            state = step(state)
            if len(weights) > 0:
                found = pick_weighted(indptr, weights, totals, marks, node, mix(state))
            else:
                found = pick_uniform(indptr, node, mix(state))
            targets[i, j] = -1 if found == NONE else indices[found]
