"""Nodes as clients describe them, and the feature vectors of all nodes: base, added, replaced and guest nodes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.serve.live.rows import Growing
from sanne.walks.diffusion import Surroundings, add_rows
from sanne.walks.sample import read_only

_KEPT_BYTES = 2 * 2**30  # the base nodes' feature vectors are kept in memory up to this size

NodeId = str | int


@dataclass(frozen=True, eq=False)
class NewNode:
    """A node as a client describes it.

    `features` is a dense row of `Engine.feature_width` numbers. A node with neither text nor features is embedded from
    its links alone. A link names an existing node or another node of the same request, and has a weight.
    """

    id: NodeId
    text: str | None = None
    features: FloatArray | None = None
    links: tuple[tuple[NodeId, float], ...] = ()


@dataclass(frozen=True)
class Reads:
    """What a model reads about a node besides its links."""

    attribute: Literal["text", "features", "links"]
    width: int | None = None  # of a row of features
    counts: bool = False  # features are word counts: not negative
    every_word: bool = False  # and are read word by word


class LiveFeatures:
    """A feature vector (width,) for every node.

    A node with neither text nor features has zeros, like an empty text or an average row of numbers.
    """

    def __init__(self, feature_map: FeatureMap, graph: Graph) -> None:
        self.reads = _reads(feature_map, graph)
        self.link_columns = feature_map.link_columns  # which entries of a vector depend on the node's links
        self._map = feature_map
        self._graph = graph
        on_disk = feature_map.rows_stay_on_disk(graph)
        small = graph.num_nodes * feature_map.width * 4 <= _KEPT_BYTES
        self._base = feature_map.transform(graph) if small and not on_disk else None
        if self._base is not None:
            self._base.flags.writeable = False
        self._slots = Growing(np.full(graph.num_nodes, -1, np.int32))
        self._own = Growing(np.empty((0, feature_map.width), np.float32))

    def read(self, nodes: Sequence[NewNode]) -> FloatArray:
        """The vectors of nodes from their text or features, (count, width); NaN where the feature map refuses one.

        Entries that depend on links are zero.
        """
        vectors = np.zeros((len(nodes), self._map.width), np.float32)
        described = [i for i, node in enumerate(nodes) if node.text is not None or node.features is not None]
        if described:
            vectors[described] = self._read([nodes[i] for i in described])
        return vectors

    def known(self, vectors: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether the vectors of nodes say anything about them besides their links."""
        return np.count_nonzero(np.delete(vectors, self.link_columns, axis=1), axis=1) > 0

    def _read(self, nodes: Sequence[NewNode]) -> FloatArray:
        try:
            return self._map.transform(_small_graph(nodes, self.reads))
        except InputError:  # caused by one of them: read each separately
            if len(nodes) > 1:
                return np.concatenate([self._read([node]) for node in nodes])
            return np.full((1, self._map.width), np.nan, np.float32)

    def read_links(self, rows: Sequence[tuple[NodeId, Sequence[NodeId]]]) -> FloatArray:
        """The entries that depend on links, from the ids of the nodes and their neighbours."""
        names: dict[NodeId, int] = {}
        for node_id, _ in rows:
            names.setdefault(node_id, len(names))
        chosen = [names[node_id] for node_id, _ in rows]
        pairs = [(names[node], names.setdefault(end, len(names))) for node, ends in rows for end in ends]
        arcs = np.array(pairs, np.int64).reshape(-1, 2)
        ids: Any = list(names)
        if any(isinstance(name, str) for name in ids):
            ids = np.array([str(name) for name in ids], object)
        graph = Graph.from_edges(arcs[:, 0], arcs[:, 1], node_ids=ids)
        return self._map.transform_links(graph, np.array(chosen, np.int64))

    def add(self, vectors: FloatArray) -> None:
        """Append nodes with their vectors."""
        row = self._own.extend(len(vectors), vectors)
        self._slots.extend(len(vectors), np.arange(row, row + len(vectors)))

    def drop(self, first: int) -> None:
        """Remove the nodes from a number on."""
        self._slots.count = first

    def put(self, node: int, vector: FloatArray) -> None:
        """Change the vector of a node."""
        if self._slots.rows[node] < 0:
            self._slots.rows[node] = self._own.extend(1, vector)
        else:
            self._own.rows[self._slots.rows[node]] = vector

    @contextmanager
    def visited(self, vectors: FloatArray) -> Iterator[None]:
        """Inside the block there are guests with these vectors, whose numbers follow those of all nodes."""
        counts = self._slots.count, self._own.count
        self.add(vectors)
        try:
            yield
        finally:
            self._slots.count, self._own.count = counts

    def get(self, node: int) -> FloatArray:
        """The vector of a node."""
        return self.of(np.array([node]))[0]

    def of(self, nodes: IntArray) -> npt.NDArray[np.float32]:
        """The vectors of nodes, with a last axis of `width`."""
        slots = self._slots.rows[nodes]
        own = slots >= 0
        table, places = self._base_table(np.where(own, 0, nodes))
        result: npt.NDArray[np.float32] = table[places]
        result[own] = self._own.rows[slots[own]]
        return result

    def add_seen(self, around: Surroundings, seen: FloatArray) -> None:
        """Add the first columns of these vectors, as walks see them, to `seen` (restarts, columns)."""
        slots = self._slots.rows[around.nodes]
        own = slots >= 0
        base = (*self._base_table(around.nodes[~own]), around.shares[~own])
        for table, places, shares in (base, (self._own.rows, slots[own].astype(np.int64), around.shares[own])):
            add_rows(read_only(table), places, shares, seen)

    def _base_table(self, nodes: IntArray) -> tuple[FloatArray, IntArray]:
        """An array with the vectors of base nodes as they were, and where they are in it."""
        if self._base is not None:
            return self._base, nodes
        visited, where = np.unique(nodes, return_inverse=True)
        return np.ascontiguousarray(self._map.transform(self._graph, visited)), where.reshape(nodes.shape)


def _reads(feature_map: FeatureMap, graph: Graph) -> Reads:
    """What a model reads about a node."""
    if feature_map.reads in ("nothing", "text"):
        return Reads("text" if feature_map.reads == "text" else "links")
    assert graph.features is not None
    counts = feature_map.reads == "counts"
    return Reads("features", int(graph.features.shape[1]), counts, feature_map.base_name == "doc2vec")


def _small_graph(nodes: Sequence[NewNode], reads: Reads) -> Graph:
    """A graph of described nodes without edges, for the feature map to read."""
    texts = features = None
    if reads.attribute == "text":
        texts = np.array([node.text for node in nodes], object)
    else:
        rows = np.array([node.features for node in nodes], np.float32)
        features = sp.csr_matrix(rows) if reads.counts else rows
    return Graph(
        indptr=np.zeros(len(nodes) + 1, np.int64),
        indices=np.empty(0, np.int32),
        weights=None,
        node_ids=np.arange(len(nodes)),
        features=features,
        texts=texts,
        checked_ids="counting",
    )
