"""Graph and settings in, fitted model out: the feature map is fitted, then the model trained."""

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from sanne.config import Config
from sanne.device import choose_device, one_blas_thread
from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.features.cache import CachedFeatures
from sanne.features.choose import fit_features, fit_transform_features
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.embed import embed
from sanne.model.artifact import Artifact, versions
from sanne.model.model import WalkModel
from sanne.model.objective import objective_kind
from sanne.seeds import numpy_stream
from sanne.train.distributed import joined_processes
from sanne.train.loop import Run, train

logger = logging.getLogger(__name__)

AXES_SAMPLE = 20_000  # nodes whose vectors decide the axes that all are reduced to

# Called after every epoch with the model so far and the number of epochs done; may return a validation score.
EpochHook = Callable[[Artifact, int], float | None]


def fit_model(
    graph: Graph,
    config: Config,
    seed: int,
    *,
    on_epoch: EpochHook | None = None,
    features_from: Graph | None = None,
    run: Run | None = None,
    record: dict[str, Any] | None = None,
) -> Artifact:
    """Fit the feature map and train the model on a graph.

    `features_from` is a larger graph whose text or features may be read to fit the feature map; the default, the
    training graph itself, is what new nodes need. A map that reads words keeps the vectors of `graph` while that graph
    is in use, so that its nodes can be embedded without reading their texts again. The record gets `seconds` of
    features, teacher and training, without the time that `on_epoch` takes.
    """
    if graph.num_edges == 0:
        raise InputError(
            f"the graph has {graph.num_nodes:,} nodes but no edges (self-loops do not count): nothing to walk on"
        )
    objective_kind(config)  # refuses what cannot be fitted before any work is done
    started = time.perf_counter()
    with one_blas_thread():
        feature_map, features = _fit_features(graph, features_from, config, seed)
    config = config.resolve_auto(has_attributes=feature_map.reads != "nothing")
    logger.info("features: %s, %d columns", feature_map.name, feature_map.width)
    model = WalkModel(config, width=feature_map.width, num_nodes=graph.num_nodes, seed=seed)
    artifact = Artifact(config, seed, feature_map, model, graph.num_nodes, dict(record or {}))
    outside = 0.0

    def call_hook(_: WalkModel, epoch: int) -> float | None:
        nonlocal outside
        assert on_epoch is not None
        entered = time.perf_counter()
        score = on_epoch(artifact, epoch)
        outside += time.perf_counter() - entered
        return score

    adjacency = graph.adjacency(config.walks.direction)
    with joined_processes(choose_device(config.train.device)) as processes:
        progress = train(model, adjacency, features, config, seed, call_hook if on_epoch else None, run, processes)
    if model.reduced_dim:
        sample = numpy_stream(seed, "axes").permutation(graph.num_nodes)[:AXES_SAMPLE]
        model.fit_axes(embed(artifact, graph, graph.node_ids[np.sort(sample)], progress=False).vectors)
    artifact.record.update(
        data={
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "directed": graph.directed,
            "weighted": graph.weights is not None,
        },
        losses=progress.losses,
        validation=progress.scores,
        seconds=round(time.perf_counter() - started - outside, 2),
        versions=versions(),
    )
    return artifact


def _fit_features(
    graph: Graph, features_from: Graph | None, config: Config, seed: int
) -> tuple[FeatureMap, FloatArray]:
    """The map, and the vectors of `graph`, which it keeps if they are costly."""
    if features_from is None or features_from is graph:
        feature_map, rows = fit_transform_features(graph, config.features, seed)
    else:
        feature_map = fit_features(features_from, config.features, seed)
        rows = feature_map.transform(graph)
    if feature_map.costly:
        feature_map = cached = CachedFeatures(feature_map)
        cached.keep(graph, rows)
    return feature_map, rows
