"""Vectors for nodes that have no attributes, from two views: who a node's neighbours are, and where its walks lead.

The first takes the neighbours (and the node itself) as words: TF-IDF and an SVD, fine where a graph is a patchwork of
small groups. The second is what DeepWalk factorises (`walk_profile.py`), better where groups are large and mixed.
Each has half of the `feature_dim` columns. A node that arrives later is described by its links to known nodes, through
the same maps.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, register_features
from sanne.features.links import as_arrow
from sanne.features.text import check_components, checked_factor, fit_components, project, weigh
from sanne.features.walk_profile import WalkProfile
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.ids import match_ids


@register_features
class StructureMap(FeatureMap):
    """A fitted map from a node's known neighbours to a dense vector (zero where none is known)."""

    name = "structure"
    reads = "nothing"

    def __init__(
        self,
        known_ids: list[Any],
        idf: FloatArray,
        components: FloatArray,
        walks: WalkProfile,
        feature_scale: float,
    ) -> None:
        check_components(idf, components, known_ids)
        if walks.num_known != len(known_ids):
            raise InputError(f"{len(known_ids)} known nodes but walk profiles over {walks.num_known}")
        self._known = as_arrow(known_ids)
        self._idf = idf  # (known nodes,)
        self._components = components  # (known nodes, width of the first view)
        self._walks = walks
        self._scale = feature_scale
        self.width = int(components.shape[1]) + walks.width

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Fit both views on a graph."""
        known = graph.node_ids.tolist()
        links = _links(graph, None)
        half = replace(config, feature_dim=max(1, config.feature_dim // 2))
        idf, components = fit_components(_with_itself(links, None), half, seed)
        walks = WalkProfile.fit(links, half.feature_dim, seed)
        return cls(known, idf, components, walks, config.feature_scale)

    @property
    def link_columns(self) -> slice:
        return slice(0, self.width)

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        return self.transform(graph, nodes)

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        links, known = _links(graph, nodes), _to_known(graph, self._known)
        words = (_with_itself(links, nodes) @ known).tocsr()
        share = self._scale * 0.5**0.5
        near = project(weigh(words, self._idf, True), self._components, share)
        return np.concatenate([near, np.float32(share) * self._walks.transform((links @ known).tocsr())], axis=1)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        walks, parts = self._walks.state()
        description = {"known_ids": self._known.to_pylist(), "feature_scale": self._scale, "walks": walks}
        arrays = {"idf": self._idf, "components": self._components}
        return description, arrays | {f"walks/{name}": part for name, part in parts.items()}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        parts = {name.removeprefix("walks/"): part for name, part in arrays.items() if name.startswith("walks/")}
        jump = checked_factor(description["walks"]["jump"])
        walks = WalkProfile.from_state({"jump": jump}, parts)
        scale = checked_factor(description["feature_scale"])
        return cls(description["known_ids"], arrays["idf"], arrays["components"], walks, scale)


def _links(graph: Graph, nodes: IntArray | None) -> Any:
    """A CSR matrix (nodes, all nodes): one for each neighbour, whatever the weight and direction of its edge."""
    links = graph.adjacency("both").to_scipy()
    links = links if nodes is None else links[np.asarray(nodes)]
    return sp.csr_matrix((np.ones(links.nnz, np.float32), links.indices, links.indptr), links.shape)


def _with_itself(links: Any, nodes: IntArray | None) -> Any:
    """The links, and one for the node itself."""
    chosen = np.arange(links.shape[0]) if nodes is None else np.asarray(nodes)
    itself = sp.csr_matrix((np.ones(len(chosen), np.float32), (np.arange(len(chosen)), chosen)), links.shape)
    return links + itself


def _to_known(graph: Graph, known: pa.Array) -> Any:
    """A CSR matrix (nodes, known nodes): one where a node of this graph is a known one."""
    column = match_ids(pa.array(graph.node_ids), known)
    found = np.flatnonzero(column >= 0)
    ones = np.ones(len(found), np.float32)
    return sp.csr_matrix((ones, (found, column[found])), shape=(graph.num_nodes, len(known)))
