"""A feature map that keeps the vectors of whole graphs, so that they are computed once."""

import weakref
from typing import Any, Self

from sanne.config import FeatureConfig
from sanne.features.base import FeatureMap
from sanne.graph.graph import FloatArray, Graph, IntArray


class CachedFeatures(FeatureMap):
    """Gives the vectors of graphs that it has seen whole from memory, as long as those graphs are in use."""

    def __init__(self, feature_map: FeatureMap) -> None:
        self._map = feature_map
        self._rows: weakref.WeakKeyDictionary[Graph, FloatArray] = weakref.WeakKeyDictionary()
        self.name, self.width, self.reads = feature_map.name, feature_map.width, feature_map.reads

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Not for a cache: fit a map and wrap it."""
        raise NotImplementedError

    def keep(self, graph: Graph, rows: FloatArray) -> FloatArray:
        """Keep the vectors of all nodes of a graph; returns a read-only view of them."""
        self._rows[graph] = view = rows.view()
        view.flags.writeable = False
        return view

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width); those of all nodes are read-only."""
        rows = self._rows.get(graph)
        if rows is None:
            if nodes is not None:
                return self._map.transform(graph, nodes)
            rows = self.keep(graph, self._map.transform(graph))
        return rows if nodes is None else rows[nodes]

    @property
    def base_name(self) -> str:
        return self._map.base_name

    @property
    def link_columns(self) -> slice:
        return self._map.link_columns

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        return self._map.transform_links(graph, nodes)

    def rows_stay_on_disk(self, graph: Graph) -> bool:
        return self._map.rows_stay_on_disk(graph)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return self._map.state()

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        """Not for a cache: the map itself is saved."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy for another process starts empty."""
        return CachedFeatures, (self._map,)
