"""A graph that changes while it is walked on: a mapped base and an overlay; a change rebuilds nothing."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from sanne.config import WalkConfig
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.serve.live.kernels import around, first_order
from sanne.serve.live.rows import Growing, LiveRows
from sanne.walks.diffusion import EDGE, Surroundings, Walked, tolerance_for

Links = Mapping[tuple[int, int], float]  # (from, to) -> weight


class LiveGraph:
    """Nodes and edges by number; those of the base come first, added ones after.

    As in `Graph`, an edge of an undirected graph is in both rows; in a directed one walks see the direction that the
    model was fitted with. A directed graph whose walks take one direction keeps the other in memory too.
    """

    def __init__(self, graph: Graph, walks: WalkConfig, seed: int) -> None:
        self.base = graph
        self.directed = graph.directed
        self.weighted = graph.weights is not None
        self._config = walks
        self._seed = np.uint64(seed)
        self._both = graph.directed and walks.direction == "both"
        self._walked = LiveRows(graph.adjacency(walks.direction), for_walks=True)
        self._other: LiveRows | None = None  # directed: arcs along, or against if walks go along
        if graph.directed:
            other = graph.adjacency("against" if walks.direction == "along" else "along")
            self._other = LiveRows(other, for_walks=False)
        self._alive = Growing(np.ones(graph.num_nodes, np.bool_))

    @property
    def num_slots(self) -> int:
        """One more than the highest node number."""
        return self._alive.count

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Which numbers are nodes."""
        alive: npt.NDArray[np.bool_] = self._alive.rows
        return alive

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
        result: dict[tuple[int, int], float] = {}
        for source, target, weight in links:
            if source != target:
                pair = (source, target)
                result[pair] = result.get(pair, 0.0) + weight if self.weighted else max(result.get(pair, 0.0), weight)
        if self.directed:
            return result
        edges: dict[tuple[int, int], float] = {}
        for (source, target), weight in result.items():
            pair = (target, source) if (target, source) in edges else (source, target)
            edges[pair] = max(edges.get(pair, 0.0), weight)
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
        if self._other is None:
            self._walked.put(source, target, weight)
            self._walked.put(target, source, weight)
        elif self._both:
            self._other.put(source, target, weight)
            reverse = self._other.weight(target, source)
            both = weight + reverse if self.weighted else max(weight, reverse)
            self._walked.put(source, target, both)
            self._walked.put(target, source, both)
        else:
            against = self._config.direction == "against"
            self._other.put(*((source, target) if against else (target, source)), weight)
            self._walked.put(*((target, source) if against else (source, target)), weight)

    @contextmanager
    def visited(self, guests: int, links: Links) -> Iterator[None]:
        """Meanwhile walks see guests, whose numbers follow those of all nodes, and their links."""
        rows: dict[int, dict[int, float]] = {}

        def put(source: int, target: int, weight: float) -> None:
            row = rows.setdefault(source, {})
            there = row.get(target, 0.0)
            row[target] = there + weight if self._both and self.weighted else max(there, weight)

        for (source, target), weight in links.items():
            if not self.directed or self._config.direction != "against":
                put(source, target, weight)
            if not self.directed or self._config.direction != "along":
                put(target, source, weight)
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

    def around(self, start: int, restarts: Sequence[float], steps: int) -> Surroundings:
        """Where the walks of a node go."""
        overlay = self._walked.overlay()
        most, tolerance = len(overlay.slots), tolerance_for(self.num_slots)
        walked = Walked(most, restarts, steps, tolerance)
        weights, _, slots, queues, nodes, shares, lost = walked.arrays
        # Mass above the tolerance reaches at most so many places in a step; pages that are not touched cost nothing.
        room = min(most, 1 + math.ceil(steps * (1 + 1 / EDGE) / tolerance))
        powers, degrees = np.zeros((len(weights), room)), np.zeros(room)
        found = slots, queues, nodes, lost, walked.later, shares, powers, degrees
        count = around(self._walked.base_arcs, overlay, start, tolerance, *found)
        shares[:count] += powers[:, :count].T @ weights
        return walked.surroundings(count, degrees[:count], float(degrees[0]))

    @property
    def _out(self) -> LiveRows:
        """The rows of arcs along."""
        return self._walked if self._other is None or self._config.direction == "along" else self._other
