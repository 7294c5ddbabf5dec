"""Which feature map suits a graph, and maps by name: fitted, saved and restored."""

from typing import Any

import numpy as np
import scipy.sparse as sp

import sanne.features.doc2vec
import sanne.features.numeric
import sanne.features.structure
import sanne.features.text  # noqa: F401 (all of them register their map)
from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, feature_kind
from sanne.graph.graph import FloatArray, Graph

_LOOKED_AT = 512  # rows of a dense matrix
_FEWEST_WORDS = 32  # columns
_MOSTLY_ZEROS, _NEARLY_ALL_ZEROS = 0.5, 0.2  # shares of numbers that are not, at most


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
    return "tfidf" if _holds_words(graph.features) else "numeric"


def _holds_words(features: Any) -> bool:
    """Whether a matrix looks like words of documents, counted or weighted; they often come as a dense matrix.

    A sparse one does if nothing is negative. A dense one, by some of its rows, must also be wide and mostly zeros, and
    hold counts, which may be divided by something in each row, unless nearly all is zeros.
    """
    if sp.issparse(features):
        return features.nnz == 0 or bool(features.data.min() >= 0)
    if features.shape[1] < _FEWEST_WORDS:
        return False
    rows = np.asarray(features[:: max(1, len(features) // _LOOKED_AT)], np.float32)
    present = rows > 0
    if present.mean() > _MOSTLY_ZEROS or features.min() < 0:
        return False
    counts = rows / np.where(present, rows, np.inf).min(axis=1, keepdims=True)
    whole = any(np.abs(numbers - np.rint(numbers)).max() < 1e-3 for numbers in (rows, counts))
    return whole or bool(present.mean() <= _NEARLY_ALL_ZEROS)


def fit_features(graph: Graph, config: FeatureConfig, seed: int) -> FeatureMap:
    """Fit the map that suits a graph."""
    return choose_features(graph, config).fit(graph, config, seed)


def restore_features(name: str, description: dict[str, Any], arrays: dict[str, FloatArray]) -> FeatureMap:
    """The map that was saved under `name`."""
    return feature_kind(name).from_state(description, arrays)
