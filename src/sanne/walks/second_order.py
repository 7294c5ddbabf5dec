"""Compiled loops for node2vec's second-order walks, by rejection: nothing is computed or stored per arc.

At `node`, come from `previous`, a neighbour x is chosen in proportion to weight(node, x) times its bias:

    1/p  if x is `previous`,      1  if x is a neighbour of `previous`,      1/q  otherwise.

A first-order neighbour is proposed and accepted with probability bias / limit, limit = max(1, 1/q). What 1/p has
above the limit is laid on the way back as a weight of its own, so that a small p does not make the rest wait.
"""

from typing import Any

import numpy as np

from sanne.seeds import kernel, mix, step
from sanne.walks.kernels import BLOCK, advance_block, find_weighted, fraction, start_block


@kernel
def find_arc(arcs: Any, node: int, target: int) -> int:
    """The position of `target` in the sorted row of `node`; -1 if it is not there."""
    low, last = arcs.indptr[node], arcs.indptr[node + 1]
    while low < last:
        middle = (low + last) >> 1
        if arcs.indices[middle] < target:
            low = middle + 1
        else:
            last = middle
    return low if low < arcs.indptr[node + 1] and arcs.indices[low] == target else -1


@kernel
def _extra_weight(arcs: Any, node: int, previous: int, surplus: float) -> float:
    """What the way back weighs on top of its share among the proposals."""
    if surplus <= 0:
        return 0.0
    back = find_arc(arcs, node, previous)
    if back < 0:
        return 0.0
    return surplus * arcs.weights[back] if len(arcs.weights) > 0 else surplus


@kernel
def _propose(arcs: Any, node: int, extra: float, limit: float, bits: np.uint64) -> int:
    """The position of a proposed neighbour; -1 for the way back by its extra weight."""
    weighted = len(arcs.weights) > 0
    first, degree = arcs.indptr[node], arcs.indptr[node + 1] - arcs.indptr[node]
    total = limit * arcs.totals[node] if weighted else limit * degree
    point = fraction(bits) * (total + extra)
    if point >= total and extra > 0:
        return -1
    if weighted:
        return find_weighted(arcs, node, point / limit)
    return first + min(np.int64(point / limit), degree - 1)


@kernel
def _accepts(arcs: Any, previous: int, candidate: int, level: float, back: float, away: float) -> bool:
    """Whether the candidate's bias exceeds `level`, with no search where both possible biases agree."""
    if candidate == previous:
        return level < back
    if level < min(1.0, away):
        return True
    return (find_arc(arcs, previous, candidate) >= 0) == (away < 1.0)


@kernel
def _advance_biased(
    arcs: Any, size: int, back: float, away: float, previous: Any, nodes: Any, states: Any, work: Any
) -> None:
    """One second-order step of `size` walks; rejected walks propose again, together."""
    pending, picks, arrived, extra = work
    limit = max(1.0, away)
    count = 0
    for i in range(size):
        degree = arcs.indptr[nodes[i] + 1] - arcs.indptr[nodes[i]]
        arrived[i] = nodes[i]
        if degree == 1:  # no choice
            arrived[i] = arcs.indices[arcs.indptr[nodes[i]]]
        elif degree > 1:
            extra[i] = _extra_weight(arcs, nodes[i], previous[i], back - limit)
            pending[count] = i
            count += 1
    while count > 0:
        for k in range(count):
            i = pending[k]
            states[i] = step(states[i])
            picks[i] = _propose(arcs, nodes[i], extra[i], limit, mix(states[i]))
        for k in range(count):
            i = pending[k]
            arrived[i] = previous[i] if picks[i] < 0 else arcs.indices[picks[i]]
        rejected = 0
        for k in range(count):
            i = pending[k]
            if picks[i] >= 0:
                states[i] = step(states[i])
                if not _accepts(arcs, previous[i], arrived[i], limit * fraction(mix(states[i])), back, away):
                    pending[rejected] = i
                    rejected += 1
        count = rejected
    for i in range(size):
        previous[i] = nodes[i]
        nodes[i] = arrived[i]


@kernel
def second_order(arcs: Any, p: float, q: float, starts: Any, epochs: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length) with second-order walks; the first step, with nothing behind it, is plain."""
    nodes, previous, picks = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    work = (np.empty(BLOCK, np.int64), picks, np.empty(BLOCK, np.int64), np.empty(BLOCK, np.float64))
    states = np.empty(BLOCK, np.uint64)
    for base in range(0, len(starts), BLOCK):
        end = min(base + BLOCK, len(starts))
        start_block(starts[base:end], epochs[base:end], numbers[base:end], seed, nodes, states)
        for position in range(walks.shape[1]):
            if position == 1:
                previous[:] = nodes
                advance_block(arcs, end - base, nodes, states, picks)
            elif position > 1:
                _advance_biased(arcs, end - base, 1.0 / p, 1.0 / q, previous, nodes, states, work)
            for i in range(end - base):
                walks[base + i, position] = nodes[i]
