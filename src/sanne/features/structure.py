"""Vectors for nodes that have no attributes: a node's neighbours stand in for its words.

Each row lists a node and its neighbours, by the ids known in fit; TF-IDF and an SVD turn it into a vector.
A node that arrives later is described by its links to known nodes, through the same map.
"""

from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.features.text import check_components, fit_components, project
from sanne.graph.csr import FloatArray, Graph, IntArray


class NeighbourProfile:
    """A fitted map from a node's known neighbours to a dense vector (zero where none is known)."""

    name = "structure"

    def __init__(self, known_ids: list[Any], idf: FloatArray, components: FloatArray, feature_scale: float) -> None:
        check_components(idf, components, known_ids)
        self._known_ids = known_ids
        self._idf = idf  # (known nodes,)
        self._components = components  # (known nodes, width)
        self._scale = feature_scale
        self.width = int(components.shape[1])

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Learn the components of the neighbour lists of a graph."""
        known = graph.node_ids.tolist()
        idf, components = fit_components(_profiles(graph, None, known), config, seed)
        return cls(known, idf, components, config.feature_scale)

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width)."""
        return project(_profiles(graph, nodes, self._known_ids), self._idf, self._components, self._scale)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What must be saved: a JSON part and an array part."""
        description = {"known_ids": self._known_ids, "feature_scale": self._scale}
        return description, {"idf": self._idf, "components": self._components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        """The reverse of `state`."""
        return cls(description["known_ids"], arrays["idf"], arrays["components"], float(description["feature_scale"]))


def _profiles(graph: Graph, nodes: IntArray | None, known_ids: list[Any]) -> Any:
    """A CSR matrix (nodes, known nodes): one for the node itself and for each neighbour."""
    chosen = np.arange(graph.num_nodes) if nodes is None else np.asarray(nodes)
    neighbours = graph.adjacency("both").to_scipy()[chosen]
    neighbours.data = np.ones_like(neighbours.data)
    itself = sp.csr_matrix((np.ones(len(chosen), np.float32), (np.arange(len(chosen)), chosen)), neighbours.shape)
    profile = neighbours + itself
    same_kind = graph.has_integer_ids == (bool(known_ids) and isinstance(known_ids[0], int))
    known = pa.array(known_ids if same_kind else [str(item) for item in known_ids])
    here = pa.array(graph.node_ids if same_kind else graph.node_ids.astype(str))
    column = pc.fill_null(pc.index_in(here, known), -1).to_numpy(zero_copy_only=False)
    to_known = sp.csr_matrix(
        (
            np.ones(int((column >= 0).sum()), np.float32),
            (np.flatnonzero(column >= 0), column[column >= 0]),
        ),
        shape=(graph.num_nodes, len(known_ids)),
    )
    return (profile @ to_known).tocsr()
