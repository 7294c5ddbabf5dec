"""A graph that can change while it is in use: a memory-mapped base and an overlay; a change rebuilds nothing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.config import WalkConfig
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import kernel, mix, step, walk_stream
from sanne.serve.live.rows import Growing, LiveRows
from sanne.walks.diffusion import Spare, Surroundings, follow_walks, tolerance_for
from sanne.walks.kernels import NONE, fraction, pick_uniform, pick_weighted

Links = Mapping[tuple[int, int], float]  # (from, to) -> weight


class LiveGraph:
    """Nodes and edges by number; those of the base come first, then the added ones.

    As in `Graph`, an edge of an undirected graph is in both rows; in a directed one walks see the direction that the
    model was fitted with. A directed graph whose walks follow one direction also keeps the other in memory.
    """

    def __init__(self, graph: Graph, walks: WalkConfig, seed: int) -> None:
        self.base = graph
        self.directed = graph.directed
        self.weighted = graph.weights is not None
        self._config = walks
        self._seed = np.uint64(seed)
        self._both = graph.directed and walks.direction == "both"
        ways = {"along": slice(0, 1), "against": slice(1, 2)}  # of a link and its reverse, which walks take
        self._ways = ways.get(walks.direction, slice(2)) if graph.directed else slice(2)
        self._walked = LiveRows(graph.adjacency(walks.direction), for_walks=True)
        self._other: LiveRows | None = None  # directed: arcs along, or against if walks go along
        if graph.directed:
            other = graph.adjacency("against" if walks.direction == "along" else "along")
            self._other = LiveRows(other, for_walks=False)
        self._spare: Spare = {}
        self._alive = Growing(np.ones(graph.num_nodes, np.bool_))

    @property
    def num_slots(self) -> int:
        """One more than the highest node number."""
        return self._alive.count

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Which numbers are nodes."""
        return self._alive.rows

    @property
    def num_edges(self) -> int:
        return self._out.num_arcs if self.directed else self._walked.num_arcs // 2

    def neighbours(self, node: int) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The neighbours that walks see and their weights; read them before the next change."""
        indices, weights = self._walked.row(node)
        known = np.searchsorted(indices, self.num_slots)  # guests come after
        return indices[:known], weights[:known]

    def weight(self, source: int, target: int) -> float:
        """The weight of an edge or arc; zero where there is none."""
        return self._out.weight(source, target)

    def links(self, node: int, *, incoming: bool = False) -> dict[tuple[int, int], float]:
        """A node's edges, in a directed graph those from it and, if wanted, those to it."""
        targets, weights = self._out.row(node)
        links = {(node, end): weight for end, weight in zip(targets.tolist(), weights.tolist(), strict=True)}
        if incoming and self._other is not None:
            into = self._other if self._config.direction == "along" else self._walked
            sources = into.row(node)[0].tolist()
            links |= {(end, node): weight for end in sources if (weight := self.weight(end, node))}
        return links

    def merged(self, links: Iterable[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
        """Links without self-loops and repeats, as `Graph` reads an edge table.

        Weights of repeated links add up. If both ends of an undirected edge list it, it has the larger weight.
        """
        given: dict[tuple[int, int], float] = {}
        for source, target, weight in links:
            if source != target:
                before = given.get((source, target), 0.0)
                given[source, target] = before + weight if self.weighted else max(before, weight)
        edges: dict[tuple[int, int], float] = {}
        for (source, target), weight in given.items():
            pair = (target, source) if not self.directed and (target, source) in edges else (source, target)
            edges[pair] = float(np.float32(max(edges.get(pair, 0.0), weight)))  # in the precision of rows
        return edges

    def resize(self, num_slots: int) -> None:
        """Add nodes, or drop the last ones, which have no edges."""
        self._walked.resize(num_slots)
        if self._other is not None:
            self._other.resize(num_slots)
        self._alive.extend(max(0, num_slots - self._alive.count), True)
        self._alive.count = num_slots

    def put(self, source: int, target: int, weight: float) -> None:
        """Set the weight of an edge or arc, new or not; zero removes it."""
        ways = [(source, target), (target, source)]
        if self._other is not None:
            self._other.put(*ways[self._config.direction == "along"], weight)
            if self._both:
                reverse = self._other.weight(target, source)
                weight = weight + reverse if self.weighted else max(weight, reverse)
        for way in ways[self._ways]:
            self._walked.put(*way, weight)

    @contextmanager
    def visited(self, guests: int, links: Links) -> Iterator[None]:
        """Inside the block walks see guests, whose numbers follow those of all nodes, and their links."""
        rows: dict[int, dict[int, float]] = defaultdict(dict)
        for (source, target), weight in links.items():
            for node, end in [(source, target), (target, source)][self._ways]:
                there = rows[node].get(end, 0.0)
                rows[node][end] = there + weight if self._both and self.weighted else max(there, weight)
        with self._walked.extended(self.num_slots + guests, rows):
            yield

    def walks(self, starts: IntArray, keys: npt.NDArray[np.uint64], num_walks: int) -> npt.NDArray[np.int64]:
        """`num_walks` walks from each start, start by start: (len(starts) * num_walks, walk_length).

        A start's walks are drawn from streams keyed by its key alone.
        """
        walks = np.empty((len(starts) * num_walks, self._config.walk_length), np.int64)
        number = np.tile(np.arange(num_walks, dtype=np.int64), len(starts))
        drawn = np.repeat(starts, num_walks), np.repeat(keys, num_walks), number, self._seed, walks
        first_order(self._walked.base_arcs, self._walked.overlay(), *drawn)
        return walks

    def around(self, starts: IntArray, restarts: Sequence[float], steps: int) -> list[Surroundings]:
        """Where the walks of each start go."""
        arcs, tolerance = (self._walked.base_arcs, self._walked.overlay()), tolerance_for(self.num_slots)
        return follow_walks(*arcs, starts, restarts, steps, tolerance, self._spare)

    @property
    def _out(self) -> LiveRows:
        """The rows of arcs along."""
        return self._walked if self._other is None or self._config.direction == "along" else self._other


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
