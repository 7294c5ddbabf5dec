"""Which feature map suits a graph, and maps by name: fitted, saved and restored."""

from typing import Any

import scipy.sparse as sp

import sanne.features.doc2vec
import sanne.features.numeric
import sanne.features.structure
import sanne.features.text  # noqa: F401 (all of them register their map)
from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, feature_kind
from sanne.graph.graph import FloatArray, Graph


def choose_features(graph: Graph, config: FeatureConfig) -> type[FeatureMap]:
    """The map for a graph: `auto` takes text, then features, then structure."""
    kind = feature_kind(_suitable(graph) if config.features == "auto" else config.features)
    kind.check(graph)
    if config.text_encoder and (graph.texts is None or kind.name != "tfidf"):
        raise InputError(f"text_encoder={config.text_encoder!r} needs node text, read with features='tfidf' or 'auto'")
    return kind


def _suitable(graph: Graph) -> str:
    if graph.texts is not None:
        return "tfidf"
    if graph.features is None or graph.features.shape[1] == 0:
        return "structure"
    bag_of_words = sp.issparse(graph.features) and (graph.features.nnz == 0 or graph.features.data.min() >= 0)
    return "tfidf" if bag_of_words else "numeric"


def fit_features(graph: Graph, config: FeatureConfig, seed: int) -> FeatureMap:
    """Fit the map that suits a graph."""
    return choose_features(graph, config).fit(graph, config, seed)


def restore_features(name: str, description: dict[str, Any], arrays: dict[str, FloatArray]) -> FeatureMap:
    """The map that was saved under `name`."""
    return feature_kind(name).from_state(description, arrays)
