"""Which map makes a graph's feature vectors: chosen and fitted here, saved and restored by name."""

from typing import Any, Protocol

import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.doc2vec import Doc2VecMap
from sanne.features.numeric import Standardised
from sanne.features.structure import StructureMap
from sanne.features.text import TfidfSVD
from sanne.graph.graph import FloatArray, Graph, IntArray


class FeatureMap(Protocol):
    """A fitted map from a graph's nodes to vectors; new nodes go through the same map."""

    name: str
    width: int

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width)."""
        ...

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What must be saved: a JSON part and an array part."""
        ...


_MAPS: dict[str, Any] = {kind.name: kind for kind in (TfidfSVD, Doc2VecMap, Standardised, StructureMap)}


def choose_features(graph: Graph, config: FeatureConfig) -> str:
    """The name of the map for a graph: `auto` takes text, then features, then structure."""
    has_features = graph.features is not None and graph.features.shape[1] > 0
    if config.features != "auto":
        chosen = config.features
        if chosen in ("tfidf", "doc2vec") and graph.texts is None and not has_features:
            raise InputError(f"features={chosen!r} needs node text or word counts, and this graph has neither")
        if chosen == "numeric" and not has_features:
            raise InputError("features='numeric' needs node features, and this graph has none")
        return chosen
    if graph.texts is not None:
        return "tfidf"
    if graph.features is None or not has_features:
        return "structure"
    bag_of_words = sp.issparse(graph.features) and (graph.features.nnz == 0 or graph.features.data.min() >= 0)
    return "tfidf" if bag_of_words else "numeric"


def fit_features(graph: Graph, config: FeatureConfig, seed: int) -> FeatureMap:
    """Fit the map that suits a graph."""
    fitted: FeatureMap = _MAPS[choose_features(graph, config)].fit(graph, config, seed)
    return fitted


def fit_transform_features(graph: Graph, config: FeatureConfig, seed: int) -> tuple[FeatureMap, FloatArray]:
    """Fit the map that suits a graph; with the vectors of the graph's own nodes, which cost little more then."""
    fitted: tuple[FeatureMap, FloatArray] = _MAPS[choose_features(graph, config)].fit_transform(graph, config, seed)
    return fitted


def restore_features(name: str, description: dict[str, Any], arrays: dict[str, FloatArray]) -> FeatureMap:
    """The map that was saved under `name`."""
    if name not in _MAPS:
        raise InputError(f"the model reads features by {name!r}, which this version does not know")
    restored: FeatureMap = _MAPS[name].from_state(description, arrays)
    return restored
