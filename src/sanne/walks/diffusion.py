"""Random walks with restarts, exactly: what the mean over endless many walks sees, without drawing any.

With S = D^-1/2 (A + I) D^-1/2, a restart r turns rows X into sum_k r (1 - r)^k S^k X; the last step takes all that is
left. All restarts share the products S^k X, which are means over neighbours of D^-1/2 X. For all nodes at once rows
are spread over the graph, step by step (`Diffusion.spread`); for a few nodes their walks are followed instead
(`Diffusion.around`).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.files.scratch import memory_limited, room_for
from sanne.graph.graph import Adjacency, FloatArray, IntArray
from sanne.graph.sparse import AHEAD, LINE, ask_for, in_parts, row_blocks
from sanne.seeds import kernel
from sanne.walks.kernels import Arcs, Overlay
from sanne.walks.sample import arcs_of, overlay_of

Work = dict[str, npt.NDArray[np.float32]]
Spare = dict[tuple[Any, ...], list["Walked"]]

SPREAD_BYTES = 3 * 2**29  # of one view at all restarts, some columns of it at a time
TOLERANCE = 1e-4  # walks of a few nodes are not followed to where less than this share of them goes
_LARGE = 2000  # nodes
BLOCK = 8  # columns of shares that are added together
EDGE = 0.3  # nor through a node from where each link would take less than this share of that
STAY = 0.2  # the share of walks not followed from a node that is seen there later too; more than that come by again
_ROOM = 1024  # nodes around each that there is room for at first


def tolerance_for(num_nodes: int) -> float:
    """How small a share of walks is not followed: none to speak of in a small graph, where all are cheap to follow."""
    return TOLERANCE * min(1.0, num_nodes / _LARGE)


def step_weights(restarts: Sequence[float], steps: int) -> npt.NDArray[np.float32]:
    """How much each step counts for each restart, (steps + 1, restarts); columns sum to one."""
    rates = np.asarray(restarts, np.float64)
    weights = rates * (1 - rates) ** np.arange(steps + 1)[:, None]
    weights[-1] = (1 - rates) ** steps
    return weights.astype(np.float32)


def and_next_step(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Step weights with one more column, which only counts where walks are after their first step."""
    ahead = np.zeros((len(weights), 1), np.float32)
    ahead[1] = 1
    return np.concatenate([weights, ahead], axis=1)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Where the walks of one node go: row i of `shares` is for node `nodes[i]`, the first where they start.

    It has a column for each restart, and a last one for the first step.

    `elsewhere` (columns,) is the share of walks that were not followed to the end; they may be anywhere. `ones`
    (columns,) is what becomes of a column of ones, `elsewhere` apart.
    """

    nodes: IntArray
    shares: FloatArray
    elsewhere: FloatArray
    ones: FloatArray
    degree: float

    def mean(self, rows: FloatArray, background: FloatArray) -> FloatArray:
        """Rows (nodes, width) as the walks see them, (columns, width); `background` is what walks see anywhere."""
        seen: FloatArray = self.shares.T @ rows
        seen += (self.elsewhere * np.float32(self.degree**0.5))[:, None] * background
        return seen


class Halo(Protocol):
    """The nodes outside a part of a graph that its arcs lead to; they have numbers after those of the part's own."""

    size: int
    held: int  # nodes of the largest part, with its halo

    def fetch(self, rows: FloatArray) -> None:
        """Fill in the last `size` rows, as they are now in the parts that have these nodes."""


class Diffusion:
    """The walks of a graph, or of a part of one; `degrees` are sums of weights, with one for staying."""

    def __init__(self, adjacency: Adjacency, halo: Halo | None = None) -> None:
        self._halo, self._adjacency = halo, adjacency
        weights = adjacency.weights
        if weights is None:
            sums = np.diff(adjacency.indptr).astype(np.float64)
        else:
            shape = (adjacency.num_nodes, adjacency.num_nodes + (halo.size if halo else 0))
            arcs = sp.csr_matrix((weights, adjacency.indices, adjacency.indptr), shape=shape)
            sums = np.asarray(arcs.sum(axis=1), np.float64).ravel()
        self.degrees: npt.NDArray[np.float64] = sums + 1
        self._roots = (self.degrees**0.5).astype(np.float32)
        given = np.empty(0, np.float32) if weights is None else weights
        self._steps = adjacency.indptr, adjacency.indices, given, (1 / self.degrees).astype(np.float32)
        self._spare: Spare = {}

    @property
    def num_nodes(self) -> int:
        return len(self.degrees)

    @property
    def held(self) -> int:
        """Nodes that there is memory for: the same in all parts of a graph, so that they take as many columns."""
        return self._halo.held if self._halo else self.num_nodes

    def spread(
        self, rows: FloatArray, weights: FloatArray, at: IntArray | None = None, work: Work | None = None
    ) -> npt.NDArray[np.float32]:
        """Rows (nodes, width) for each column of `weights`, (columns, nodes, width); see `step_weights`.

        `at`: only for these nodes, which saves the memory of all others. The result of a node is contiguous.
        `work` keeps memory, also that of the result, for the next call: new memory takes time.
        """
        weights, work = np.ascontiguousarray(weights, np.float32), {} if work is None else work
        power = self._scaled(rows, work)  # so that a step is a mean over neighbours
        other = _room(work, "other", power.shape)
        places = np.empty(0, np.int32)
        if at is not None:
            places = np.full(len(power), -1, np.int32)
            places[at] = np.arange(len(at))
        sums = _room(work, "sums", (self.num_nodes if at is None else len(at), weights.shape[1], rows.shape[1]))
        for step in range(1, len(weights)):
            # Sums are read and written at every second step, for that step and the one before it.
            adding = np.zeros((2, weights.shape[1]), np.float32)
            if step % 2 or step == len(weights) - 1:
                adding[1] = weights[step]
                adding[0] = weights[step - 1] if step % 2 else 0
            self._step(power, other, sums, adding, step == 1, places)
            power, other = other, power
        sums *= (self._roots if at is None else self._roots[at])[:, None, None]
        return sums.transpose(1, 0, 2)

    def after_step(self, rows: FloatArray, at: IntArray | None = None) -> npt.NDArray[np.float32]:
        """Rows (nodes, width) as walks see them after their first step, of all nodes or those in `at`."""
        nodes: Any = slice(None) if at is None else at
        seen, width = room_for((self.num_nodes if at is None else len(at), rows.shape[1])), rows.shape[1]
        none = np.empty((0, 1, 1), np.float32), np.zeros((2, 1), np.float32), False, np.empty(0, np.int32)
        at_once, work = columns_at_once(2 * self.held), Work()
        for first in range(0, width, at_once):
            columns = slice(first, first + at_once)
            power = self._scaled(rows[:, columns], work)
            other = seen if at is None and at_once >= width else _room(work, "other", power.shape)[: self.num_nodes]
            self._step(power, other, *none)
            np.multiply(other[nodes], self._roots[nodes, None], out=seen[:, columns])
        return seen

    def _scaled(self, rows: FloatArray, work: Work) -> npt.NDArray[np.float32]:
        """Rows over the roots of the degrees, with room for the halo."""
        scaled = _room(work, "power", (len(rows) + (self._halo.size if self._halo else 0), rows.shape[1]))
        np.divide(np.asarray(rows, np.float32), self._roots[:, None], out=scaled[: len(rows)])
        return scaled

    def _step(self, power: FloatArray, result: FloatArray, *counts: Any) -> None:
        """One step of all walks."""
        if self._halo:
            self._halo.fetch(power)
        in_parts(partial(_spread, self._steps, power, result, *counts), self._adjacency.indptr)

    def background(self, rows: FloatArray) -> FloatArray:
        """What very long walks see of rows, wherever they start: (width,), for a degree of one."""
        sums = [(self.degrees[block] ** 0.5) @ rows[block] for block in row_blocks(len(rows))]
        seen: FloatArray = (np.sum(sums, axis=0) / self.degrees.sum()).astype(np.float32)
        return seen

    def around(
        self, nodes: IntArray, restarts: Sequence[float], steps: int, tolerance: float | None = None
    ) -> list[Surroundings]:
        """Where the walks of each of some nodes go."""
        tolerance = tolerance_for(self.num_nodes) if tolerance is None else tolerance
        return follow_walks(*self._arcs, nodes, restarts, steps, tolerance, self._spare)

    @cached_property
    def _arcs(self) -> tuple[Arcs, Overlay]:
        return arcs_of(self._adjacency), overlay_of()


def columns_at_once(numbers: int) -> int:
    """How many columns are worked on at a time, if each takes so many numbers; whole cache lines, if memory allows."""
    limit = memory_limited()
    count = (SPREAD_BYTES if limit is None else limit // 2) // (4 * max(numbers, 1))
    return max(count // LINE * LINE, LINE if limit is None else min(LINE, max(count, 1)))


def _room(work: Work, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """An array for what was kept under a name, if that is large enough."""
    size = math.prod(shape)
    if name not in work or work[name].size < size:
        work[name] = np.empty(size, np.float32)
    return work[name][:size].reshape(shape)


def follow_walks(
    arcs: Any, overlay: Any, starts: IntArray, restarts: Sequence[float], steps: int, tolerance: float, spare: Spare
) -> list[Surroundings]:
    """Where the walks of each start go; `spare` keeps work arrays that nobody is using for the next call."""
    size, kept = max(len(arcs.indptr) - 1, len(overlay.slots)), spare.setdefault((tuple(restarts), steps), [])
    try:
        walked = kept.pop()
    except IndexError:
        walked = Walked(size, restarts, steps)
    if walked.size < size:
        walked = Walked(size + size // 8, restarts, steps)
    found = walked.follow(arcs, overlay, np.ascontiguousarray(starts, np.int64), np.float64(tolerance))
    kept.append(walked)
    return found


class Walked:
    """Arrays that kernels fill when they follow walks, and leave as they were.

    Visited nodes have places in the order in which walks come to them: `nodes` and `degrees` by place, and `slots` the
    place of each node of the graph, plus one. Pages that are not touched cost nothing.
    """

    def __init__(self, size: int, restarts: Sequence[float], steps: int) -> None:
        self.size = size
        weights = and_next_step(step_weights(restarts, steps)).astype(np.float64)
        self._columns = weights.shape[1]
        weights = np.pad(weights, ((0, 0), (0, -self._columns % BLOCK)))
        later = np.append(np.cumsum(weights[:0:-1], axis=0)[::-1], 0 * weights[:1], axis=0)  # all steps after it
        lost = np.zeros(steps + 1)  # walks, by the step that they were not followed from
        degrees, nodes, slots = np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int32)
        mass, queues = np.zeros((size, 2)), np.zeros((2, size + 1), np.int32)
        counted = (weights, weights + STAY * later)  # of walks that are followed from a node, and that are not
        self._work = (*counted, later, mass, queues, lost, slots, nodes, degrees, np.zeros((size, len(weights.T))))
        self._room = _ROOM

    def follow(self, arcs: Any, overlay: Any, starts: IntArray, tolerance: np.float64) -> list[Surroundings]:
        """Where the walks of each start go."""
        count, done = len(starts), 0
        ends, degrees = np.zeros(count + 1, np.int64), np.empty(count)
        others = np.empty((2, count, self._columns))  # elsewhere, and ones
        nodes, shares = np.empty(0, np.int64), np.empty((0, self._columns), np.float32)
        while True:
            nodes, shares = _longer(nodes, count * self._room), _longer(shares, count * self._room)
            found = nodes, shares, ends, *others, degrees
            done = _follow_all(arcs, overlay, starts, tolerance, self._work, found, done)
            if done == count:
                break
            self._room *= 2
        places = (slice(*pair) for pair in itertools.pairwise(ends.tolist()))
        each = zip(places, *others.astype(np.float32), degrees.tolist(), strict=True)
        return [Surroundings(nodes[place], shares[place], *rest) for place, *rest in each]


def _longer(rows: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    longer = np.empty((count, *rows.shape[1:]), rows.dtype)
    longer[: len(rows)] = rows
    return longer


@kernel
def _spread(
    arcs: Any, power: Any, result: Any, sums: Any, adding: Any, empty: bool, places: Any, first: int, last: int
) -> None:
    """One step for the nodes from `first` to `last`; `adding` is what the step before and this one add to the sums.

    Rows of neighbours are far apart in memory: they are asked for well before they are added, four at a time; a
    function for that would take half as long again. Sums are `empty` at first.
    """
    indptr, indices, weights, shares = arcs
    adds, width, stop = empty or adding.max() > 0, power.shape[1], indptr[last]
    for node in range(first, last):
        row, own, share = result[node], power[node], shares[node]
        for c in range(row.size):
            row[c] = own[c] if weights.size == 0 else share * own[c]
        position, end = indptr[node], indptr[node + 1]
        if weights.size > 0:
            for p in range(position, end):
                if p + AHEAD < stop:
                    for c in range(0, width, LINE):
                        ask_for(power, np.int64(indices[p + AHEAD]) * width + c)
                factor, other = share * weights[p], power[indices[p]]
                for c in range(row.size):
                    row[c] += factor * other[c]
        else:
            while position + 4 <= end:
                for ahead in range(AHEAD, AHEAD + 4):
                    if position + ahead < stop:
                        for c in range(0, width, LINE):
                            ask_for(power, np.int64(indices[position + ahead]) * width + c)
                one, two = power[indices[position]], power[indices[position + 1]]
                three, four = power[indices[position + 2]], power[indices[position + 3]]
                for c in range(row.size):
                    row[c] += (one[c] + two[c]) + (three[c] + four[c])
                position += 4
            for p in range(position, end):
                if p + AHEAD < stop:
                    for c in range(0, width, LINE):
                        ask_for(power, np.int64(indices[p + AHEAD]) * width + c)
                other = power[indices[p]]
                for c in range(row.size):
                    row[c] += other[c]
            for c in range(row.size):
                row[c] *= share
        place = node if places.size == 0 else places[node]
        if adds and place >= 0:
            for r in range(adding.shape[1]):
                before, now, total = adding[0, r], adding[1, r], sums[place, r]
                if empty:
                    for c in range(row.size):
                        total[c] = before * own[c] + now * row[c]
                elif before + now > 1e-7:
                    for c in range(row.size):
                        total[c] += before * own[c] + now * row[c]


@kernel
def _follow_all(arcs: Any, overlay: Any, starts: Any, tolerance: float, work: Any, found: Any, first: int) -> int:
    """Follow the walks of the starts from `first` on, as far as there is room; returns how many are done."""
    nodes, shares, ends, elsewhere, ones, degrees = found
    for i in range(first, len(starts)):
        count = _follow(arcs, overlay, starts[i], tolerance, work)
        degrees[i] = work[8][0]
        room = slice(ends[i], len(nodes))
        kept = _settle(work, count, tolerance, nodes[room], shares[room], elsewhere[i], ones[i])
        if kept > len(nodes) - ends[i]:
            return i
        ends[i + 1] = ends[i] + kept
    return len(starts)


@kernel
def _follow(arcs: Any, overlay: Any, start: int, tolerance: float, work: Any) -> int:
    """Follow the walks of one node; returns how many nodes they visit. Shares and degrees go by places.

    A node that hardly any walk comes to has no place. Unsigned numbers are not checked for being negative, and blocks
    of columns are added by single instructions.
    """
    indptr, indices, weights, totals, _ = arcs  # once: reading a tuple's arrays costs more than a step
    rows, lows, highs, _, own_indices, own_weights, sums = overlay
    counted, ended, _, mass, queues, lost, slots, nodes, degrees, shares = work
    queues[0, 0], mass[start, 0] = start, 1.0
    count, length = 0, 1
    for step in range(len(counted)):
        last, ahead = step == len(counted) - 1, 0
        now, then, queue, next_queue = mass[:, step % 2], mass[:, 1 - step % 2], queues[step % 2], queues[1 - step % 2]
        for i in range(length):
            node = np.uint32(queue[i])
            here = now[node]
            now[node] = 0.0
            if slots[node] == 0:
                if here < tolerance and step > 0:
                    lost[step - 1] += here
                    continue
                nodes[count] = node
                count += 1
                slots[node] = count
            place = np.uint32(slots[node] - 1)
            low, high, total, copied = 0, 0, 0.0, rows.size > 0 and rows[node] >= 0
            if copied:
                low, high = lows[rows[node]], highs[rows[node]]
                total = sums[high - 1] if high > low else 0.0
            elif node < len(indptr) - 1:
                low, high = indptr[node], indptr[node + 1]
                total = totals[node] if weights.size > 0 else float(high - low)
            degrees[place] = total + 1.0
            stops = last or here < tolerance * max(1.0, EDGE * (high - low))
            factors, row = ended[step] if stops else counted[step], shares[place]
            for first in range(0, row.size, BLOCK):
                for r in range(first, first + BLOCK):
                    row[r] += factors[r] * here
            if stops:
                lost[step] += (1 - STAY) * here
                continue
            share = here / degrees[place]
            next_queue[ahead] = node  # overwritten by the next one, unless it is new there
            ahead += then[node] == 0.0
            then[node] += share
            for position in range(low, high):
                moved, end = share, np.uint32(own_indices[position] if copied else indices[position])
                if copied:
                    moved = share * own_weights[position]
                elif weights.size > 0:
                    moved = share * weights[position]
                next_queue[ahead] = end
                ahead += then[end] == 0.0
                then[end] += moved
        length = ahead
    return count


@kernel
def add_rows(table: Any, places: Any, shares: Any, seen: Any) -> None:
    """Add the rows of a table at some places, times their shares (places, restarts), to `seen` (restarts, columns).

    Four rows at a time, which no copy is made of: for few nodes, several times as fast as a product of matrices.
    """
    whole = len(places) // 4 * 4
    for i in range(0, whole, 4):
        one, two, three, four = table[places[i]], table[places[i + 1]], table[places[i + 2]], table[places[i + 3]]
        for r in range(len(seen)):
            a, b, c, d, total = shares[i, r], shares[i + 1, r], shares[i + 2, r], shares[i + 3, r], seen[r]
            if a + b + c + d > 0:
                for column in range(total.size):
                    total[column] += (a * one[column] + b * two[column]) + (c * three[column] + d * four[column])
    for i in range(whole, len(places)):
        one = table[places[i]]
        for r in range(len(seen)):
            a, total = shares[i, r], seen[r]
            for column in range(total.size):
                total[column] += a * one[column]


@kernel
def _settle(
    work: Any, count: int, tolerance: float, kept_nodes: Any, kept_shares: Any, elsewhere: Any, ones: Any
) -> int:
    """Take out visited nodes with shares that count, as far as there is room; returns how many there are.

    Shares of others are added to `elsewhere`. All visits are forgotten.
    """
    _, _, later, _, _, lost, slots, nodes, degrees, shares = work
    kept = 0
    elsewhere[:] = 0.0
    ones[:] = 0.0
    for step in range(len(lost)):
        for r in range(elsewhere.size):
            elsewhere[r] += lost[step] * later[step, r]
        lost[step] = 0.0
    for place in range(count):
        slots[nodes[place]] = 0
        row, counts = shares[place], 0
        for first in range(0, row.size, BLOCK):
            for r in range(first, first + BLOCK):
                counts |= row[r] >= tolerance
        if not counts:
            for r in range(elsewhere.size):
                elsewhere[r] += row[r]
        else:
            if kept < len(kept_nodes):
                kept_nodes[kept] = nodes[place]
                factor = math.sqrt(degrees[0] / degrees[place])
                for r in range(ones.size):
                    kept_shares[kept, r] = row[r] * factor
                    ones[r] += row[r] * factor
            kept += 1
        for first in range(0, row.size, BLOCK):
            for r in range(first, first + BLOCK):
                row[r] = 0.0
    return kept
