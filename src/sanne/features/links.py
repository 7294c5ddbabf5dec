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


class LinkMap:
    """Known nodes and what a link to each of them says, (known nodes, width).

    A node that arrives later has the sum of what its links to known nodes say; links to others say nothing.
    """

    def __init__(self, known: pa.Array, components: FloatArray) -> None:
        if components.ndim != 2 or len(components) != len(known):
            raise InputError(f"{len(known)} known nodes but components of shape {components.shape}")
        self._known = known
        self._components = components
        self.width = int(components.shape[1])

    @classmethod
    def fit(cls, graph: Graph, width: int, seed: int) -> Self:
        """The leading singular vectors of D^-1/2 A D^-1/2, divided by the roots of the degrees."""
        links = _links(graph, None).astype(np.float64)  # weights may be of any size
        degrees = np.asarray(links.sum(axis=1)).ravel()
        roots = np.zeros(len(degrees))
        roots[degrees > 0] = degrees[degrees > 0] ** -0.5
        scaled = (sp.diags(roots) @ links @ sp.diags(roots)).tocsr().astype(np.float32)
        axes = components(scaled, width, numpy_stream(seed, "links"), _PASSES)
        return cls(as_arrow(graph.node_ids.tolist()), (roots[:, None] * axes).astype(np.float32))

    def transform(self, graph: Graph, nodes: IntArray | None) -> FloatArray:
        """Rows of length one, (nodes, width); zeros for a node without known neighbours."""
        links = _links(graph, nodes)
        ends = np.arange(graph.num_nodes) if nodes is None else np.unique(links.indices)
        rows = self._find(graph.node_ids[ends])
        found = rows >= 0
        here = np.zeros((len(ends), self.width), np.float32)
        here[found] = self._components[rows[found]]
        if nodes is not None:
            links = sp.csr_matrix(
                (links.data, np.searchsorted(ends, links.indices), links.indptr), (len(nodes), max(len(ends), 1))
            )
            here = here if len(ends) else np.zeros((1, self.width), np.float32)
        return unit(multiply(links, here))

    def _find(self, ids: Any) -> IntArray:
        """The rows of ids among the known ones, -1 where there is none."""
        if len(ids) > _FEW:
            return match_ids(pa.array(ids), self._known)
        return np.array([self._rows.get(str(name), -1) for name in ids.tolist()], np.int64)

    @cached_property
    def _rows(self) -> dict[Any, int]:
        """The row of each known node, for a server that looks up a few at a time."""
        return {str(name): row for row, name in enumerate(self._known.to_pylist())}

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {"known_ids": self._known.to_pylist()}, {"components": self._components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(as_arrow(description["known_ids"]), arrays["components"])


def _links(graph: Graph, nodes: IntArray | None) -> Any:
    """A CSR matrix (nodes, all nodes) of weights, whatever the direction of the edges."""
    links = graph.adjacency("both").to_scipy().astype(np.float32, copy=False)
    return links if nodes is None else links[np.asarray(nodes)]


def as_arrow(ids: list[Any]) -> pa.Array:
    """Ids as int64 or string."""
    try:
        return pa.array(ids, pa.int64() if ids and isinstance(ids[0], int) else pa.string())
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
        raise InputError("the ids of known nodes are neither all integers nor all text") from None
