"""A node's links as a vector: its row of the normalised adjacency matrix on that matrix's leading singular vectors."""

from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.features.svd import components
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.ids import match_ids
from sanne.graph.sparse import multiply
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit

_FEW = 1000  # ids; more are matched with the known ones at once
_PASSES = 5  # of the power iteration: eigenvalues of graphs lie close together


class KnownNodes:
    """The nodes that a fit knew, by their ids: links to them describe a node, whichever graph it is in."""

    def __init__(self, ids: list[Any]) -> None:
        try:
            self._ids = pa.array(ids, pa.int64() if ids and isinstance(ids[0], int) else pa.string())
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
            raise InputError("the ids of known nodes are neither all integers nor all text") from None

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> list[Any]:
        listed: list[Any] = self._ids.to_pylist()
        return listed

    def links(self, graph: Graph, nodes: IntArray | None, *, weighted: bool = False, itself: bool = False) -> Any:
        """A CSR matrix (nodes, known nodes) of links to known nodes, whatever their direction.

        `weighted`: their weights, rather than ones. `itself`: one more for the node itself, if it is known.
        """
        arcs = graph.adjacency("both")
        links = arcs.to_scipy() if nodes is None else arcs.rows(np.asarray(nodes))
        ends = np.arange(graph.num_nodes) if nodes is None else np.union1d(links.indices, nodes)
        places = self._find(graph.node_ids[ends])
        columns = places[links.indices if nodes is None else np.searchsorted(ends, links.indices)]
        rows = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
        values = links.data if weighted else np.ones(links.nnz, np.float32)
        if itself:
            own = places if nodes is None else places[np.searchsorted(ends, nodes)]
            rows, columns = np.append(rows, np.arange(links.shape[0])), np.append(columns, own)
            values = np.append(values, np.ones(links.shape[0], np.float32))
        found = columns >= 0
        shape = (links.shape[0], len(self))
        return sp.csr_matrix((values[found], (rows[found], columns[found])), shape)

    def _find(self, ids: Any) -> IntArray:
        """The places of ids among the known ones, -1 where there is none; integers and their text are the same."""
        if len(ids) > _FEW:
            return match_ids(pa.array(ids), self._ids)
        return np.array([self._places.get(str(name), -1) for name in ids.tolist()], np.int64)

    @cached_property
    def _places(self) -> dict[str, int]:
        """For a server that looks up a few ids at a time."""
        return {str(name): place for place, name in enumerate(self.ids)}


class LinkMap:
    """Known nodes and what a link to each of them says, (known nodes, width).

    A node that arrives later has the sum of what its links to known nodes say; links to others say nothing.
    """

    def __init__(self, known: KnownNodes, components: FloatArray) -> None:
        if components.ndim != 2 or len(components) != len(known):
            raise InputError(f"{len(known)} known nodes but components of shape {components.shape}")
        self.known = known
        self.components = components
        self.width = int(components.shape[1])

    @classmethod
    def fit(cls, graph: Graph, width: int, seed: int) -> Self:
        """The leading singular vectors of D^-1/2 A D^-1/2, divided by the roots of the degrees."""
        known = KnownNodes(graph.node_ids.tolist())
        links = known.links(graph, None, weighted=True).astype(np.float64)  # weights may be of any size
        degrees = np.asarray(links.sum(axis=1)).ravel()
        roots = np.zeros(len(degrees))
        roots[degrees > 0] = degrees[degrees > 0] ** -0.5
        scaled = (sp.diags(roots) @ links @ sp.diags(roots)).tocsr().astype(np.float32)
        axes = components(scaled, width, numpy_stream(seed, "links"), _PASSES)
        return cls(known, (roots[:, None] * axes).astype(np.float32))

    def transform(self, graph: Graph, nodes: IntArray | None) -> FloatArray:
        """Rows of length one, (nodes, width); zeros for a node without known neighbours."""
        if len(graph.indices) == 0:  # as where a server reads attributes alone
            return np.zeros((graph.num_nodes if nodes is None else len(nodes), self.width), np.float32)
        return unit(multiply(self.known.links(graph, nodes, weighted=True), self.components))

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {"known_ids": self.known.ids}, {"components": self.components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(KnownNodes(description["known_ids"]), arrays["components"])
