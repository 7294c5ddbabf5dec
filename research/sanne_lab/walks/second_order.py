"""node2vec's second-order walks in compiled loops, by rejection: nothing is computed or stored per arc.

At `node`, come from `previous`, a neighbour x is chosen in proportion to weight(node, x) times its bias:

    1/p  if x is `previous`,      1  if x is a neighbour of `previous`,      1/q  otherwise.

A first-order neighbour is proposed and accepted with probability bias / limit, limit = max(1, 1/q). What 1/p has
above the limit is laid on the way back as a weight of its own, so that a small p does not make the rest wait.

A block of slots holds walks at any stage. In every round each slot makes one proposal, and a slot whose walk is
complete takes up the next: all slots stay busy however often some are rejected.
"""

from typing import Any, NamedTuple

import numpy as np

from sanne.graph.graph import Adjacency, IntArray
from sanne.seeds import kernel, mix, step, walk_stream
from sanne.walks.kernels import find_weighted, fraction, pick_uniform, pick_weighted
from sanne.walks.sample import Walks, WalkSampler

SLOTS = 128  # walks on the way at the same time
_ASK, _ACCEPT, _REJECT = 0, 1, 2


class BiasedSampler(WalkSampler):
    """Draws walks with node2vec's biases: 1/p that of going back, 1/q that of going where the last node has no arc."""

    def __init__(self, adjacency: Adjacency, *, walk_length: int, seed: int, p: float, q: float) -> None:
        super().__init__(adjacency, walk_length=walk_length, seed=seed)
        self._biases = float(p), float(q)

    def _fill(self, starts: IntArray, epochs: IntArray, numbers: IntArray, walks: Walks) -> None:
        second_order(self._arcs, *self._biases, starts, epochs, numbers, self.seed, walks)


def make_sampler(adjacency: Adjacency, *, walk_length: int, seed: int, p: float = 1.0, q: float = 1.0) -> WalkSampler:
    """A sampler with these biases; with 1 and 1 there is none, and walks are of the first order."""
    if p == q == 1:
        return WalkSampler(adjacency, walk_length=walk_length, seed=seed)
    return BiasedSampler(adjacency, walk_length=walk_length, seed=seed, p=p, q=q)


class _Slots(NamedTuple):
    """One entry per slot."""

    walk: Any  # row of the output
    position: Any  # of the node to be chosen in that row
    node: Any
    previous: Any  # -1 at the start
    state: Any  # of the walk's stream
    pick: Any  # position of the proposed arc; -1 (NONE, signed) to stay
    end: Any  # the node that it leads to
    verdict: Any


@kernel
def find_arc(indptr: Any, indices: Any, node: int, target: int) -> int:
    """The position of `target` in the sorted row of `node`; -1 if it is not there."""
    low, length = indptr[node], indptr[node + 1] - indptr[node]
    while length > 1:  # halves without a branch to guess
        half = length >> 1
        low += half if indices[low + half - 1] < target else 0
        length -= half
    return low if length == 1 and indices[low] == target else -1


@kernel
def _propose(arcs: Any, slots: Any, count: int, limit: float, surplus: float) -> None:
    """An arc for every slot, with a verdict where no second number is needed to reach it."""
    indptr, indices, weights, totals, marks = arcs
    _, _, nodes, previous, states, picks, ends, verdicts = slots
    weighted = len(weights) > 0
    for i in range(count):
        node = nodes[i]
        low, high = indptr[node], indptr[node + 1]
        if high - low < 2 and previous[i] >= 0:  # no choice
            picks[i], verdicts[i] = low if high > low else -1, _ACCEPT
            continue
        states[i] = step(states[i])
        bits = mix(states[i])
        if previous[i] < 0:  # nothing behind it: a first-order step
            verdicts[i] = _ACCEPT
            if weighted:
                picks[i] = pick_weighted(indptr, weights, totals, marks, np.uint64(node), bits)
            else:
                picks[i] = pick_uniform(indptr, np.uint64(node), bits)
            continue
        verdicts[i] = _ASK
        if weighted:
            back = find_arc(indptr, indices, node, previous[i]) if surplus > 0 else -1
            extra = surplus * weights[back] if back >= 0 else 0.0
            point = fraction(bits) * (limit * totals[node] + extra)
            if extra > 0 and point >= limit * totals[node]:
                picks[i], verdicts[i] = back, _ACCEPT
            else:
                picks[i] = find_weighted(low, high, weights, marks, point / limit)
        else:
            point = fraction(bits) * (limit * (high - low) + surplus)
            picks[i] = min(low + np.int64(point / limit), high - 1)
            if surplus > 0 and point >= limit * (high - low):  # back, if there is an arc back
                back = find_arc(indptr, indices, node, previous[i])
                picks[i], verdicts[i] = (back, _ACCEPT) if back >= 0 else (low, _REJECT)
    for i in range(count):  # all reads together
        ends[i] = indices[picks[i]] if picks[i] >= 0 else nodes[i]


@kernel
def _judge(arcs: Any, slots: Any, count: int, back: float, away: float, walks: Any) -> None:
    """Accept or reject every slot's proposal; the accepted move on."""
    indptr, indices, _, _, _ = arcs
    rows, positions, nodes, previous, states, _, ends, verdicts = slots
    limit, sure = max(1.0, away), min(1.0, away)
    for i in range(count):
        target = ends[i]
        accepted = verdicts[i] == _ACCEPT
        if verdicts[i] == _ASK:
            states[i] = step(states[i])
            level = limit * fraction(mix(states[i]))
            if target == previous[i]:
                accepted = level < back
            elif level < sure:  # whether it is near or away: no search
                accepted = True
            else:
                accepted = (find_arc(indptr, indices, previous[i], target) >= 0) == (away < 1.0)
        if accepted:
            walks[rows[i], positions[i]] = target
            positions[i] += 1
            previous[i], nodes[i] = nodes[i], target


@kernel
def _refill(slots: Any, count: int, first: int, key: Any, walks: Any) -> tuple[int, int]:
    """Start walk `first` and those after it in slots that are done; returns the slots in use and the next walk."""
    rows, positions, nodes, previous, states, _, _, _ = slots
    starts, epochs, numbers, seed = key
    for i in range(count - 1, -1, -1):
        if positions[i] < walks.shape[1]:
            continue
        if first < len(starts):
            rows[i], positions[i], nodes[i], previous[i] = first, 1, starts[first], -1
            states[i] = walk_stream(
                np.uint64(seed), np.uint64(epochs[first]), np.uint64(starts[first]), np.uint64(numbers[first])
            )
            walks[first, 0] = starts[first]
            first += 1
        else:  # the last slot in use takes this place
            count -= 1
            rows[i], positions[i], nodes[i] = rows[count], positions[count], nodes[count]
            previous[i], states[i] = previous[count], states[count]
    return count, first


@kernel
def second_order(arcs: Any, p: float, q: float, starts: Any, epochs: Any, numbers: Any, seed: Any, walks: Any) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, epochs[i], starts[i], numbers[i])."""
    back, away = 1.0 / p, 1.0 / q
    limit = max(1.0, away)
    if walks.shape[1] == 1:
        walks[:, 0] = starts
        return
    slots = _Slots(
        np.empty(SLOTS, np.int64),
        np.full(SLOTS, walks.shape[1]),
        np.empty(SLOTS, np.int64),
        np.empty(SLOTS, np.int64),
        np.empty(SLOTS, np.uint64),
        np.empty(SLOTS, np.int64),
        np.empty(SLOTS, np.int64),
        np.empty(SLOTS, np.int64),
    )
    key = (starts, epochs, numbers, seed)
    count, first = _refill(slots, SLOTS, 0, key, walks)
    while count > 0:
        _propose(arcs, slots, count, limit, max(0.0, back - limit))
        _judge(arcs, slots, count, back, away, walks)
        count, first = _refill(slots, count, first, key, walks)
