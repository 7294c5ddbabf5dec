"""Feature vectors for baselines that do not learn: attributes, or else two views of a node's links."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sanne.config import FeatureConfig
from sanne.features.choose import choose_features
from sanne.features.structure import StructureMap
from sanne.features.walk_profile import WalkProfile
from sanne.graph.graph import FloatArray, Graph

Rows = Callable[[Graph], FloatArray]


def fit_rows(graph: Graph, config: FeatureConfig, seed: int) -> Rows:
    """A function from a graph to vectors of its nodes, new ones included.

    Nodes without attributes have their neighbours as words and where their walks lead, half of the columns each: one
    view serves small groups, the other large ones.
    """
    kind = choose_features(graph, config)
    if kind is not StructureMap:
        return kind.fit(graph, config, seed).transform
    half = replace(config, feature_dim=max(1, config.feature_dim // 2), feature_scale=0.5**0.5)
    words, walks = StructureMap.fit(graph, half, seed), WalkProfile.fit(graph, half.feature_dim, seed)
    scale = np.float32(half.feature_scale)
    return lambda larger: np.concatenate([words.transform(larger), scale * walks.transform(larger, None)], axis=1)
