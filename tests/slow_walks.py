"""What the walk kernels must give, in plain Python: one walk, one step, one neighbour at a time."""

import numpy as np

from sanne.graph.graph import Adjacency, Graph

MASK = 2**64 - 1


def slow_mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def slow_stream(*key: int) -> int:
    state = 0
    offsets = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7, 0xABC98388FB8FAC03)
    for part, offset in zip(key, offsets, strict=True):
        state = slow_mix(state ^ ((part + offset) & MASK))
    return state


class Draws:
    """The numbers of one stream, one after the other."""

    def __init__(self, *key: int) -> None:
        self.state = slow_stream(*key)

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return slow_mix(self.state)

    def fraction(self) -> float:
        return (self.bits() >> 11) * 2.0**-53


def row_of(adjacency: Adjacency, node: int) -> tuple[list[int], np.ndarray]:
    """Neighbours and weights."""
    row = slice(int(adjacency.indptr[node]), int(adjacency.indptr[node + 1]))
    neighbours = adjacency.indices[row].tolist()
    weights = np.ones(len(neighbours)) if adjacency.weights is None else adjacency.weights[row].astype(np.float64)
    return neighbours, weights


def slow_pick(adjacency: Adjacency, node: int, bits: int) -> int | None:
    neighbours, weights = row_of(adjacency, node)
    if not neighbours:
        return None
    if adjacency.weights is None:
        return neighbours[((bits >> 32) * len(neighbours)) >> 32]
    sums = np.cumsum(weights)
    return neighbours[int(np.searchsorted(sums, (bits >> 11) * 2.0**-53 * sums[-1], side="right"))]


def slow_walk(adjacency: Adjacency, length: int, seed: int, epoch: int, start: int, number: int) -> list[int]:
    draws, walk = Draws(seed, epoch, start, number), [start]
    while len(walk) < length:
        found = slow_pick(adjacency, walk[-1], draws.bits())
        walk.append(walk[-1] if found is None else found)
    return walk


def bias(adjacency: Adjacency, previous: int, candidate: int, p: float, q: float) -> float:
    """node2vec's alpha."""
    if candidate == previous:
        return 1.0 / p
    return 1.0 if candidate in row_of(adjacency, previous)[0] else 1.0 / q


def slow_biased_step(adjacency: Adjacency, previous: int, node: int, p: float, q: float, draws: Draws) -> int:
    neighbours, weights = row_of(adjacency, node)
    if len(neighbours) <= 1:
        return neighbours[0] if neighbours else node
    limit = max(1.0, 1.0 / q)
    sums = np.cumsum(weights)
    extra = max(0.0, 1.0 / p - limit)
    if adjacency.weights is not None:
        extra *= weights[neighbours.index(previous)] if previous in neighbours else 0.0
    while True:
        point = draws.fraction() * (limit * sums[-1] + extra)
        if extra > 0 and point >= limit * sums[-1]:
            if previous in neighbours:
                return previous
            continue
        found = int(np.searchsorted(sums, point / limit, side="right"))
        candidate = neighbours[min(found, len(neighbours) - 1)]
        if limit * draws.fraction() < bias(adjacency, previous, candidate, p, q):
            return candidate


def slow_biased_walk(
    adjacency: Adjacency, length: int, p: float, q: float, seed: int, epoch: int, start: int, number: int
) -> list[int]:
    draws, walk = Draws(seed, epoch, start, number), [start]
    while len(walk) < length:
        if len(walk) == 1:
            found = slow_pick(adjacency, start, draws.bits())
            walk.append(start if found is None else found)
        else:
            walk.append(slow_biased_step(adjacency, walk[-2], walk[-1], p, q, draws))
    return walk


def with_weights(graph: Graph) -> Graph:
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    weights = np.random.default_rng(1).integers(1, 50, len(sources)) / 7
    return Graph.from_edges(sources, graph.indices, weights, node_ids=graph.node_ids, directed=graph.directed)
