"""Vectors for nodes that have no attributes: their neighbours are their words, by TF-IDF and an SVD.

A node that arrives later is described by its links to known nodes, through the same map.
"""

from typing import Any, Self

from sanne.config import FeatureConfig
from sanne.features.base import FeatureMap, register_features
from sanne.features.known import KnownNodes
from sanne.features.svd import components
from sanne.features.text import check_components, checked_factor, inverse_frequency, project, weigh
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import numpy_stream


@register_features
class StructureMap(FeatureMap):
    """A fitted map from a node's known neighbours, and itself, to a dense vector (zero where none is known)."""

    name = "structure"
    reads = "nothing"
    directional = True

    def __init__(self, known: KnownNodes, idf: FloatArray, components: FloatArray, feature_scale: float) -> None:
        check_components(idf, components, known.ids)
        self.known = known
        self._idf = idf  # (known nodes,)
        self._components = components  # (known nodes, width)
        self._scale = feature_scale
        self.width = int(components.shape[1])

    @property
    def num_columns(self) -> int:
        return len(self.known)

    @property
    def basis(self) -> FloatArray:
        return self._components

    @property
    def column_names(self) -> list[Any]:
        return self.known.ids

    @property
    def link_columns(self) -> slice:
        return slice(0, self.width)

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        known = KnownNodes(graph.node_ids.tolist())
        links = known.links(graph, None, itself=True)
        idf = inverse_frequency(links, config)
        axes = components(weigh(links, idf, True), config.feature_dim, numpy_stream(seed, "features"))
        return cls(known, idf, axes, config.feature_scale)

    def columns(self, graph: Graph, nodes: IntArray | None = None) -> Any:
        return weigh(self.known.links(graph, nodes, itself=True), self._idf, True)

    def reduced(self, columns: Any) -> FloatArray:
        return project(columns, self._components, self._scale)

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        return self.reduced(self.columns(graph, nodes))

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        return self.transform(graph, nodes)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        description = {"known_ids": self.known.ids, "feature_scale": self._scale}
        return description, {"idf": self._idf, "components": self._components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        known, scale = KnownNodes(description["known_ids"]), checked_factor(description["feature_scale"])
        return cls(known, arrays["idf"], arrays["components"], scale)
