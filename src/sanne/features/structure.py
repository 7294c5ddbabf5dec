"""Vectors for nodes that have no attributes: their neighbours are their words, by TF-IDF and an SVD."""

from typing import Any

from sanne.features.base import register_features
from sanne.features.links import KnownNodes
from sanne.features.text import TfidfSVD
from sanne.graph.graph import FloatArray, Graph, IntArray


@register_features
class StructureMap(TfidfSVD):
    """A fitted map from a node's known neighbours, and itself, to a dense vector (zero where none is known).

    A node that arrives later is described by its links to known nodes, through the same map.
    """

    name = "structure"
    costly = False

    def __init__(self, idf: FloatArray, components: FloatArray, vocabulary: list[Any] | None, *others: Any) -> None:
        super().__init__(idf, components, vocabulary, *others)
        self.reads = "nothing"
        self._known = KnownNodes(vocabulary or [])

    @property
    def link_columns(self) -> slice:
        return slice(0, self.width)

    @classmethod
    def check(cls, graph: Graph) -> None:
        """Every graph has links."""

    @classmethod
    def fit_counts(cls, graph: Graph, max_words: int) -> tuple[list[Any] | None, Any]:
        ids = graph.node_ids.tolist()
        return ids, KnownNodes(ids).links(graph, None, itself=True)

    def counts(self, graph: Graph, nodes: IntArray | None) -> Any:
        return self._known.links(graph, nodes, itself=True)

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        return self.transform(graph, nodes)
