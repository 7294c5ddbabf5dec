"""A graph that changes while it is walked on: a mapped base and an overlay; a change rebuilds nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sanne.config import WalkConfig
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.serve.live.kernels import GuestArcs, around, first_order, second_order
from sanne.serve.live.rows import Growing, LiveRows
from sanne.walks.diffusion import Surroundings, Walked, tolerance_for

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
        return self._alive.rows

    @property
    def num_edges(self) -> int:
        return self._out.num_arcs if self.directed else self._walked.num_arcs // 2

    def degree(self, node: int) -> int:
        """How many neighbours walks see."""
        return self._walked.degree(node)

    def neighbours(self, node: int, count: int | None = None) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """The first `count` neighbours that walks see (all by default) and their weights."""
        indices, weights = self._walked.row(node)
        return indices[:count].copy(), weights[:count].copy()

    def links(self, node: int) -> dict[tuple[int, int], float]:
        """A node's edges, in a directed graph those from it."""
        targets, weights = self._out.row(node)
        return {(node, end): weight for end, weight in zip(targets.tolist(), weights.tolist(), strict=True)}

    def changed_links(self) -> Iterator[tuple[int, dict[int, float]]]:
        """For each base node, its edges (directed: those from it) that differ from the base; weight zero: removed."""
        for node in self._out.copied:
            if node < self.base.num_nodes and self.alive[node]:
                before, now = (
                    dict(zip(ends.tolist(), weights.tolist(), strict=True))
                    for ends, weights in (self._out.base_row(node), self._out.row(node))
                )
                yield (
                    node,
                    {
                        end: now.get(end, 0.0)
                        for end in sorted(before.keys() | now.keys())
                        if self.alive[end] and now.get(end) != before.get(end)
                    },
                )

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

    def add_nodes(self, count: int) -> int:
        """Add nodes; returns the number of the first."""
        self._walked.add_nodes(count)
        if self._other is not None:
            self._other.add_nodes(count)
        return self._alive.extend(count, True)

    def connect(self, links: Links) -> set[int]:
        """Set edges, new or not; returns the nodes whose rows changed."""
        for (source, target), weight in links.items():
            self._connect(source, target, weight)
        return {node for pair in links for node in pair}

    def remove_links(self, node: int) -> set[int]:
        """Remove a node's edges, in a directed graph those from it; returns the nodes whose rows changed."""
        if not self.directed:
            targets = self._walked.row(node)[0].tolist()
            for target in targets:
                self._walked.put(target, node, 0.0)
            self._walked.clear(node)
        else:
            targets = self._out.row(node)[0].tolist()
            for target in targets:
                self._connect(node, target, 0.0)
        return {node, *targets}

    def remove_node(self, node: int) -> set[int]:
        """Remove a node and all its edges; returns the other nodes whose rows changed."""
        changed = self.remove_links(node)
        if self.directed:
            assert self._other is not None
            into = self._other if self._config.direction == "along" else self._walked
            sources = into.row(node)[0].tolist()
            for source in sources:
                self._connect(source, node, 0.0)
            changed |= set(sources)
        self._alive.rows[node] = False
        return changed - {node}

    def guest_rows(self, links: Links) -> dict[int, dict[int, float]]:
        """What links of guests would add to the rows that walks see."""
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
        return rows

    def walks(
        self, starts: IntArray, groups: IntArray, keys: npt.NDArray[np.uint64], num_walks: int, guests: GuestArcs
    ) -> npt.NDArray[np.int64]:
        """`num_walks` walks from each start, start by start: (len(starts) * num_walks, walk_length).

        A start's walks see the guests of its group (-1: none), and are drawn from streams keyed by its key alone.
        """
        count = len(starts) * num_walks
        walks = np.empty((count, self._config.walk_length), np.int64)
        base, overlay = self._walked.base_arcs, self._walked.overlay()
        start, group, key = (np.repeat(values, num_walks) for values in (starts, groups, keys))
        number = np.tile(np.arange(num_walks, dtype=np.int64), len(starts))
        if self._config.p == 1 and self._config.q == 1:
            first_order(base, overlay, guests, start, group, key, number, self._seed, walks)
        else:
            second_order(
                base, overlay, guests, self._config.p, self._config.q, start, group, key, number, self._seed, walks
            )
        return walks

    def around(self, start: int, group: int, guests: GuestArcs, restarts: Sequence[float], steps: int) -> Surroundings:
        """Where the walks of a node go that sees the guests of a group (-1: none)."""
        most = max(
            self.num_slots, start + 1, int(guests.indices.max(initial=0)) + 1, int(guests.nodes.max(initial=0)) + 1
        )
        tolerance = tolerance_for(self.num_slots)
        walked = Walked(most, restarts, steps, tolerance)
        degrees = np.zeros(most)
        base, overlay = self._walked.base_arcs, self._walked.overlay()
        count = around(base, overlay, guests, group, start, tolerance, *walked.arrays, degrees)
        return walked.surroundings(count, degrees[walked.nodes[:count]], float(degrees[start]))

    @property
    def _out(self) -> LiveRows:
        """The rows of arcs along."""
        return self._walked if self._other is None or self._config.direction == "along" else self._other

    def _connect(self, source: int, target: int, weight: float) -> None:
        """Set the weight of one edge or arc, zero to remove it."""
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


def guest_arcs(groups: Sequence[Mapping[int, Mapping[int, float]]]) -> GuestArcs:
    """The arrays of what each group's guests add to rows; see `LiveGraph.guest_rows`."""
    firsts, nodes, highs, plain = [0], [], [], []
    indices: list[int] = []
    weights: list[float] = []
    sums: list[float] = []
    for rows in groups:
        for node in sorted(rows):
            row = rows[node]
            nodes.append(node)
            total = 0.0
            for target in sorted(row):
                indices.append(target)
                weights.append(row[target])
                total += row[target]
                sums.append(total)
            highs.append(len(indices))
            plain.append(all(weight == 1.0 for weight in row.values()))
        firsts.append(len(nodes))
    return GuestArcs(
        np.array(firsts, np.int64),
        np.array(nodes, np.int64),
        np.array([0, *highs[:-1]], np.int64) if highs else np.empty(0, np.int64),
        np.array(highs, np.int64),
        np.array(plain, np.bool_),
        np.array(indices, np.int32),
        np.array(weights, np.float32),
        np.array(sums, np.float64),
    )
