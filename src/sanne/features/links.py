"""A node's links as a vector: its row of the normalised adjacency matrix on that matrix's leading singular vectors."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.features.known import KnownNodes
from sanne.features.svd import components
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.sparse import multiply
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit

_PASSES = 5  # of the power iteration: eigenvalues of graphs lie close together


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
        return unit(multiply(self.known.links(graph, nodes, weighted=True), self.components))

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {"known_ids": self.known.ids}, {"components": self.components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(KnownNodes(description["known_ids"]), arrays["components"])
