"""A feature map that remembers the features of whole graphs, for callers that read the same graph many times."""

from typing import Any

from sanne.features.choose import FeatureMap
from sanne.graph.graph import FloatArray, Graph, IntArray


class RememberedFeatures:
    """Computes the features of a whole graph once, and keeps those of the last two graphs.

    What is kept is read-only: a caller that changed it in place would change what all later callers read.
    """

    def __init__(self, feature_map: FeatureMap) -> None:
        self._map = feature_map
        self._known: list[tuple[Graph, FloatArray]] = []
        self.name = feature_map.name
        self.width = feature_map.width

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width); those of all nodes are read-only."""
        rows = next((rows for known, rows in self._known if known is graph), None)
        if rows is None and nodes is not None:
            return self._map.transform(graph, nodes)
        if rows is None:
            rows = self._map.transform(graph)
            rows.flags.writeable = False
            self._known = [*self._known[-1:], (graph, rows)]
        return rows if nodes is None else rows[nodes]

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What must be saved, as the map itself gives it."""
        return self._map.state()
