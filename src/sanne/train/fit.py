"""Graph and settings in, fitted model out: feature map, encoder, and what the model folder records."""

import logging
import time
from dataclasses import dataclass

from sanne.config import Config
from sanne.errors import InputError
from sanne.features.choose import FeatureMap, fit_features
from sanne.graph.csr import FloatArray, Graph
from sanne.model.sanne import WalkModel
from sanne.train.checkpoint import Progress
from sanne.train.loop import EpochHook, Run, train

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fitted:
    """What training gives."""

    feature_map: FeatureMap
    model: WalkModel
    features: FloatArray  # (V, width) of the training graph
    progress: Progress
    seconds: float  # all of it: features, teacher and training


def fit_model(
    graph: Graph,
    config: Config,
    seed: int,
    *,
    on_epoch: EpochHook | None = None,
    features_from: Graph | None = None,
    run: Run | None = None,
) -> Fitted:
    """Fit the feature map and train the model on a graph.

    `features_from` is a larger graph whose text or features may be read to fit the feature map; the default, the
    training graph itself, is what new nodes need.
    """
    if graph.num_edges == 0:
        raise InputError(
            f"the graph has {graph.num_nodes:,} nodes but no edges (self-loops do not count): nothing to walk on"
        )
    started = time.perf_counter()
    feature_map = fit_features(features_from or graph, config.features, seed)
    features = feature_map.transform(graph)
    logger.info("features: %s, %d columns", feature_map.name, feature_map.width)
    model = WalkModel(config, width=feature_map.width, num_nodes=graph.num_nodes, seed=seed)
    adjacency = graph.adjacency(config.walks.direction)
    progress = train(model, adjacency, features, config, seed, on_epoch, run)
    return Fitted(feature_map, model, features, progress, time.perf_counter() - started)
