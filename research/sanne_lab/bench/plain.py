"""What the walk engine is measured against and checked by: the loops one would write first."""

import gc
import random
from typing import Any

import numpy as np

from sanne.graph.graph import Adjacency
from sanne.seeds import kernel, mix, step, walk_stream
from sanne.walks.sample import Walks


@kernel
def plain_walks(indptr: Any, indices: Any, starts: Any, seed: Any, walks: Any) -> None:
    """Walk after walk, step after step, compiled: the engine's random numbers without its interleaving."""
    for i in range(len(starts)):
        node = starts[i]
        state = walk_stream(np.uint64(seed), np.uint64(0), np.uint64(node), np.uint64(i))
        walks[i, 0] = node
        for position in range(1, walks.shape[1]):
            first, degree = indptr[node], np.uint64(indptr[node + 1] - indptr[node])
            if degree > 0:
                state = step(state)
                node = indices[first + np.int64(((mix(state) >> np.uint64(32)) * degree) >> np.uint64(32))]
            walks[i, position] = node


def networkx_walks(graph: Any, starts: list[int], walk_length: int, seed: int) -> list[list[int]]:
    """Walks over a networkx graph, as its users write them."""
    draw = random.Random(seed)
    walks = []
    for start in starts:
        walk = [start]
        while len(walk) < walk_length:
            neighbours = list(graph.neighbors(walk[-1]))
            walk.append(draw.choice(neighbours) if neighbours else walk[-1])
        walks.append(walk)
    return walks


def networkx_graph(adjacency: Adjacency) -> Any:
    """The adjacency as a networkx graph; ImportError without networkx."""
    import networkx

    sources = np.repeat(np.arange(adjacency.num_nodes, dtype=np.int32), np.diff(adjacency.indptr))
    once = sources < adjacency.indices
    graph = networkx.Graph()
    names = list(range(adjacency.num_nodes))  # one object per node, not one per arc
    graph.add_nodes_from(names)
    collecting = gc.isenabled()
    gc.disable()  # it would look through millions of dictionaries again and again
    try:
        for first in range(0, len(sources), 1_000_000):
            part = slice(first, first + 1_000_000)
            pairs = zip(sources[part][once[part]].tolist(), adjacency.indices[part][once[part]].tolist(), strict=True)
            graph.add_edges_from((names[a], names[b]) for a, b in pairs)
    finally:
        if collecting:
            gc.enable()
    return graph


def steps_are_arcs(adjacency: Adjacency, walks: Walks) -> bool:
    """Whether every step of every walk follows an arc, or stays where there is none."""
    degrees, count = np.diff(adjacency.indptr), adjacency.num_nodes
    arcs = np.repeat(np.arange(count), degrees) * count + adjacency.indices  # ascending, as rows are sorted
    here, there = walks[:, :-1].astype(np.int64).ravel(), walks[:, 1:].astype(np.int64).ravel()
    places = np.minimum(np.searchsorted(arcs, here * count + there), max(0, len(arcs) - 1))
    moved = degrees[here] > 0
    return bool(np.all((arcs[places] == here * count + there)[moved]) and np.array_equal(here[~moved], there[~moved]))
