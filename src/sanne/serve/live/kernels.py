"""Compiled walks over a graph that changes: a base, copied rows, and the guests of one request.

Guests are seen by the walks of their own request only, so that many requests are walked together. They have the
highest numbers, so that what they add to a node's row is at its end. Random streams are read as in `walks/kernels.py`
and `walks/second_order.py`: the same neighbours give the same walks.
"""

from typing import Any, NamedTuple

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream
from sanne.walks.diffusion import EDGE, arrive, count_visit
from sanne.walks.kernels import find_weighted, fraction

_NOWHERE, _BASE, _COPY = 0, 1, 2  # where the first part of a row is
_STAY = -1


class GuestArcs(NamedTuple):
    """What the guests of each group add to the rows of the graph, including their own rows."""

    firsts: Any  # per group and one more, where its entries in `nodes` begin
    nodes: Any  # nodes whose rows have more, sorted within a group
    lows: Any  # per entry, where its arcs begin ...
    highs: Any  # ... and end in the arrays below
    plain: Any  # per entry, whether all its arcs weigh one
    indices: Any
    weights: Any
    sums: Any  # running sums of the weights within an entry


class _Row(NamedTuple):
    """A node's neighbours in two parts."""

    where: Any  # of the first part
    low: Any
    high: Any
    more_low: Any  # of the second part, among the guests' arcs
    more_high: Any
    plain: Any  # whether all arcs weigh one
    first_total: Any  # sum of the weights of the first part
    total: Any


@kernel
def _bisect(values: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The position of a number in a sorted part of an array, or -1."""
    end = high
    while low < end:
        middle = (low + end) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            end = middle
    return low if low < high and values[low] == wanted else -1


@kernel
def _row(base: Any, overlay: Any, guests: Any, group: Any, node: Any) -> Any:
    where, low, high, plain, first_total = _NOWHERE, 0, 0, True, 0.0
    slot = overlay.slots[node] if node < len(overlay.slots) else -1
    if slot >= 0:
        where, low, high, plain = _COPY, overlay.lows[slot], overlay.highs[slot], overlay.plain[slot]
        first_total = overlay.sums[high - 1] if high > low else 0.0
    elif node < len(base.indptr) - 1:
        where, low, high = _BASE, base.indptr[node], base.indptr[node + 1]
        plain = len(base.weights) == 0
        first_total = float(high - low) if plain else base.totals[node]
    more_low, more_high, total = 0, 0, first_total
    if group >= 0:
        entry = _bisect(guests.nodes, guests.firsts[group], guests.firsts[group + 1], node)
        if entry >= 0:
            more_low, more_high = guests.lows[entry], guests.highs[entry]
            plain = plain and guests.plain[entry]
            total += guests.sums[more_high - 1] if more_high > more_low else 0.0
    if high == low:  # an empty first part does not decide how the row is drawn from
        plain = plain and len(base.weights) == 0
    return _Row(where, low, high, more_low, more_high, plain, first_total, total)


@kernel
def _target(base: Any, overlay: Any, guests: Any, row: Any, place: Any) -> Any:
    """The neighbour at a place of a row."""
    first = row.high - row.low
    if place >= first:
        return np.int64(guests.indices[row.more_low + place - first])
    return np.int64(base.indices[row.low + place] if row.where == _BASE else overlay.indices[row.low + place])


@kernel
def _weight(base: Any, overlay: Any, guests: Any, row: Any, place: Any) -> float:
    """The weight of the arc at a place of a row."""
    first = row.high - row.low
    if place >= first:
        return float(guests.weights[row.more_low + place - first])
    if row.where == _COPY:
        return float(overlay.weights[row.low + place])
    return float(base.weights[row.low + place]) if len(base.weights) > 0 else 1.0


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
def _place_at(base: Any, overlay: Any, guests: Any, row: Any, point: float) -> Any:
    """The place in a row where the running sum of its weights first exceeds `point`."""
    first = row.high - row.low
    if first > 0 and (point < row.first_total or row.more_high == row.more_low):
        if row.where == _COPY:
            return np.int64(_first_above(overlay.sums, row.low, row.high, point) - row.low)
        if len(base.weights) == 0:
            return min(np.int64(point), first - 1)
        return np.int64(find_weighted(row.low, row.high, base.weights, base.marks, point) - row.low)
    return np.int64(
        first + _first_above(guests.sums, row.more_low, row.more_high, point - row.first_total) - row.more_low
    )


@kernel
def _draw(base: Any, overlay: Any, guests: Any, row: Any, bits: np.uint64) -> Any:
    """A place in a row, in proportion to the weights; -1 where there are no neighbours."""
    degree = np.uint64(row.high - row.low + row.more_high - row.more_low)
    if degree == 0:
        return _STAY
    if row.plain:
        return np.int64(((bits >> np.uint64(32)) * degree) >> np.uint64(32))
    return _place_at(base, overlay, guests, row, fraction(bits) * row.total)


@kernel
def _find(base: Any, overlay: Any, guests: Any, row: Any, target: Any) -> Any:
    """The place of a neighbour in a row; -1 if it is none."""
    first = row.high - row.low
    if first > 0:
        found = _bisect(base.indices if row.where == _BASE else overlay.indices, row.low, row.high, target)
        if found >= 0:
            return np.int64(found - row.low)
    if row.more_high > row.more_low:
        found = _bisect(guests.indices, row.more_low, row.more_high, target)
        if found >= 0:
            return np.int64(first + found - row.more_low)
    return -1


@kernel
def first_order(
    base: Any, overlay: Any, guests: Any, starts: Any, groups: Any, keys: Any, numbers: Any, seed: Any, walks: Any
) -> None:
    """Fill `walks` (count, walk_length); walk i is drawn from the stream (seed, 0, keys[i], numbers[i])."""
    for i in range(len(starts)):
        node = starts[i]
        state = walk_stream(np.uint64(seed), np.uint64(0), keys[i], np.uint64(numbers[i]))
        walks[i, 0] = node
        for position in range(1, walks.shape[1]):
            state = step(state)
            row = _row(base, overlay, guests, groups[i], node)
            place = _draw(base, overlay, guests, row, mix(state))
            if place >= 0:
                node = _target(base, overlay, guests, row, place)
            walks[i, position] = node


@kernel
def _near(base: Any, overlay: Any, guests: Any, group: Any, node: Any, target: Any) -> bool:
    """Whether there is an arc from `node` to `target`."""
    row = _row(base, overlay, guests, group, node)
    return _find(base, overlay, guests, row, target) >= 0


@kernel
def second_order(
    base: Any,
    overlay: Any,
    guests: Any,
    p: float,
    q: float,
    starts: Any,
    groups: Any,
    keys: Any,
    numbers: Any,
    seed: Any,
    walks: Any,
) -> None:
    """The same with node2vec's biases, by rejection: what is proposed and when it is accepted is in second_order.py."""
    back_bias, away = 1.0 / p, 1.0 / q
    limit, sure = max(1.0, away), min(1.0, away)
    surplus = max(0.0, back_bias - limit)
    for i in range(len(starts)):
        node, previous, position = starts[i], np.int64(-1), 1
        state = walk_stream(np.uint64(seed), np.uint64(0), keys[i], np.uint64(numbers[i]))
        walks[i, 0] = node
        while position < walks.shape[1]:
            row = _row(base, overlay, guests, groups[i], node)
            degree = row.high - row.low + row.more_high - row.more_low
            accepted: Any = True
            if degree == 0:
                place = np.int64(_STAY)
            elif degree == 1 and previous >= 0:
                place = np.int64(0)
            else:
                state = step(state)
                bits = mix(state)
                if previous < 0:
                    place = _draw(base, overlay, guests, row, bits)
                else:
                    back = _find(base, overlay, guests, row, previous) if surplus > 0 else np.int64(-1)
                    extra = surplus
                    if not row.plain:
                        extra = surplus * _weight(base, overlay, guests, row, back) if back >= 0 else 0.0
                    point = fraction(bits) * (limit * row.total + extra)
                    if extra > 0 and point >= limit * row.total:
                        place, accepted = back, back >= 0
                    else:
                        if row.plain:
                            place = min(np.int64(point / limit), degree - 1)
                        else:
                            place = _place_at(base, overlay, guests, row, point / limit)
                        target = _target(base, overlay, guests, row, place)
                        state = step(state)
                        level = limit * fraction(mix(state))
                        if target == previous:
                            accepted = level < back_bias
                        elif level >= sure:
                            accepted = _near(base, overlay, guests, groups[i], previous, target) == (away < 1.0)
            if accepted:
                target = node if place < 0 else _target(base, overlay, guests, row, place)
                previous, node = node, target
                walks[i, position] = node
                position += 1


@kernel
def around(
    base: Any,
    overlay: Any,
    guests: Any,
    group: Any,
    start: Any,
    tolerance: float,
    step_weights: Any,
    mass: Any,
    slots: Any,
    queues: Any,
    nodes: Any,
    shares: Any,
    lost: Any,
    degrees: Any,
) -> int:
    """Follow the walks of one node as `walks/diffusion.py` does; returns how many nodes they visit."""
    count, length, now = 0, 1, 0
    queues[0, 0] = start
    mass[0, start] = 1.0
    for position in range(len(step_weights)):
        ahead = 0
        last = position == len(step_weights) - 1
        for i in range(length):
            node = queues[now, i]
            here = mass[now, node]
            mass[now, node] = 0.0
            row = _row(base, overlay, guests, group, node)
            degrees[node] = row.total + 1.0
            count = count_visit(node, here, step_weights[position], slots, nodes, shares, count)
            links = row.high - row.low + row.more_high - row.more_low
            if last or here < tolerance * max(1.0, EDGE * links):
                lost[position] += here
                continue
            share = here / degrees[node]
            ahead = arrive(node, share, mass[1 - now], queues[1 - now], ahead)
            ends = base.indices if row.where == _BASE else overlay.indices
            for place in range(row.low, row.high):
                moved = share if row.plain else share * _weight(base, overlay, guests, row, place - row.low)
                ahead = arrive(ends[place], moved, mass[1 - now], queues[1 - now], ahead)
            for place in range(row.more_low, row.more_high):
                moved = share * guests.weights[place]
                ahead = arrive(guests.indices[place], moved, mass[1 - now], queues[1 - now], ahead)
        length, now = ahead, 1 - now
    return count
