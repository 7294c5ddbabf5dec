"""A feature map that keeps the vectors of the graph it was fitted on, so that they are computed once."""

import weakref
from typing import Any

import numpy as np

from sanne.features.choose import FeatureMap
from sanne.graph.graph import FloatArray, Graph, IntArray


class KeptFeatures:
    """Gives the vectors of one graph from memory while that graph is in use, those of any other by its map."""

    def __init__(self, feature_map: FeatureMap, graph: Graph, rows: FloatArray) -> None:
        self._map = feature_map
        self._rows: weakref.WeakKeyDictionary[Graph, FloatArray] = weakref.WeakKeyDictionary({graph: _read_only(rows)})
        self.name = feature_map.name
        self.width = feature_map.width

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width); the caller may change them."""
        rows = self._rows.get(graph)
        if rows is None:
            return self._map.transform(graph, nodes)
        return rows.copy() if nodes is None else rows[np.asarray(nodes)]

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """As the map's own."""
        return self._map.state()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy for another process has the map alone."""
        return _itself, (self._map,)


def _read_only(rows: FloatArray) -> FloatArray:
    view = rows.view()
    view.flags.writeable = False
    return view


def _itself(feature_map: FeatureMap) -> FeatureMap:
    return feature_map
