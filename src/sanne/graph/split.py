"""Remove nodes or edges from a graph, to test a model on what it has not seen."""

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.graph import Graph, IntArray
from sanne.seeds import numpy_stream

SMALL = 2048  # nodes; up to here the pairs without an edge are listed rather than sampled


def hide_nodes(graph: Graph, nodes: npt.ArrayLike) -> Graph:
    """The graph without some nodes (indices) and without their edges, texts, features and labels."""
    hidden = np.asarray(nodes)
    return graph.subgraph(np.delete(np.arange(graph.num_nodes), hidden if hidden.size else slice(0)))


def hold_out_edges(graph: Graph, fraction: float, seed: int) -> tuple[Graph, IntArray, IntArray]:
    """Hide a share of the edges for link prediction.

    Returns the graph without them (all nodes stay), the hidden edges (m, 2), and as many distinct pairs of
    different nodes that have no edge (m, 2). An undirected pair is listed once, the smaller index first.

    >>> train_graph, positives, negatives = hold_out_edges(graph, 0.1, seed=0)
    """
    if not 0 < fraction < 1:
        raise InputError(f"fraction must lie between 0 and 1, not {fraction}")
    pairs, once = _edges_once(graph)
    count = round(fraction * len(pairs))
    if count == 0:
        raise InputError(f"{fraction:g} of {len(pairs)} edges is less than one edge: hide more")
    stream = numpy_stream(seed, "split")
    order = stream.permutation(len(pairs))
    held, kept = np.sort(order[:count]), np.sort(order[count:])
    train = Graph.from_edges(
        *(pairs[kept, 0], pairs[kept, 1]),
        None if graph.weights is None else graph.weights[once][kept],
        node_ids=graph.node_ids,
        directed=graph.directed,
        features=graph.features,
        texts=graph.texts,
        labels=graph.labels,
        feature_names=graph.feature_names,
    )
    return train, pairs[held], non_edges(graph, count, stream)


def _edges_once(graph: Graph) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Every edge as a pair (m, 2), undirected ones once, and which arcs of the graph these are."""
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    targets = graph.indices.astype(np.int64)
    once = np.ones(len(sources), bool) if graph.directed else sources < targets
    return np.column_stack([sources[once], targets[once]]), once


def non_edges(graph: Graph, count: int, stream: np.random.Generator) -> IntArray:
    """Distinct pairs of different nodes without an edge, drawn uniformly, (count, 2)."""
    pairs, _ = _edges_once(graph)
    n = graph.num_nodes
    free = n * (n - 1) // (1 if graph.directed else 2) - len(pairs)
    if free < count:
        raise InputError(f"{count} pairs without an edge are needed, but the graph has {free}: hide less")
    edges = pairs[:, 0] * n + pairs[:, 1]
    if n <= SMALL:
        absent = np.setdiff1d(_pair_keys(np.arange(n * n), n, graph.directed), edges)
        keys = stream.choice(absent, count, replace=False)
    else:
        keys = np.empty(0, np.int64)
        while len(keys) < count:
            drawn = _pair_keys(stream.integers(0, n * n, 2 * (count - len(keys)) + 64), n, graph.directed)
            joined = np.concatenate([keys, drawn[~np.isin(drawn, edges)]])
            _, first = np.unique(joined, return_index=True)
            keys = joined[np.sort(first)][:count]
    return np.column_stack([keys // n, keys % n])


def _pair_keys(keys: IntArray, n: int, directed: bool) -> IntArray:
    """Keys of pairs of different nodes; undirected, the smaller node first."""
    low, high = keys // n, keys % n
    if not directed:
        low, high = np.minimum(low, high), np.maximum(low, high)
    return (low * n + high)[low != high]
