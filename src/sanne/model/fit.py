"""Graph and settings in, fitted model out: the feature map is fitted, then the model trained."""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any

from sanne.config import Config
from sanne.device import one_blas_thread
from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.model.artifact import Artifact, model_kind, versions
from sanne.model.hidden import HiddenModel
from sanne.model.learn import learn
from sanne.model.model import Run

logger = logging.getLogger(__name__)

# Called after every epoch with the model so far and the number of epochs done; may return a validation score.
EpochHook = Callable[[Artifact, int], float | None]


def check_direction(graph: Graph, config: Config) -> None:
    """Refuse a direction of walks that means nothing in this graph."""
    if config.walks.direction != "both" and not graph.directed:
        raise InputError(
            f"direction={config.walks.direction} needs a directed graph, and this one is undirected: load it with "
            "--directed (directed=True in Python), or leave direction at both"
        )


def _columns_read(graph: Graph, artifact: Artifact) -> list[str] | None:
    """The names of the feature columns that a model reads, so that a table in another order is read right."""
    reads_them = graph.feature_names is not None and artifact.feature_map.reads in ("numbers", "counts")
    return list(graph.feature_names or ()) if reads_them else None


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
    training graph itself, is what new nodes need. The record gets `seconds` without the time that `on_epoch` takes.
    """
    if graph.num_edges == 0:
        raise InputError(
            f"the graph has {graph.num_nodes:,} node{'s' if graph.num_nodes > 1 else ''} but no edges (self-loops do "
            "not count): nothing to walk on"
        )
    check_direction(graph, config)
    kind = model_kind(config)  # refuses what cannot be fitted before any work is done
    if on_epoch is not None and kind is HiddenModel:
        raise InputError("on_epoch is for recipes that train in epochs, such as 'paper': this one does not")
    started = time.perf_counter()
    logger.info("reading the features of %s nodes", f"{graph.num_nodes:,}")
    with one_blas_thread():
        feature_map, features = kind.fit_features(graph, features_from or graph, config, seed)
    logger.info("features: %s, %d columns; learning from them", feature_map.base_name, feature_map.width)
    model = kind.empty(config, feature_map, graph.num_nodes, seed, None)
    artifact = Artifact(config, seed, feature_map, model, graph.num_nodes, dict(record or {}))
    artifact.keep(graph, features)
    adjacency = graph.adjacency(config.walks.direction)
    seconds = time.perf_counter() - started
    if isinstance(model, HiddenModel):
        with one_blas_thread():
            artifact.record.update(chosen=learn(model, adjacency, features))
        seconds = time.perf_counter() - started
    else:
        from sanne.paper.loop import train

        hook = None if on_epoch is None else functools.partial(on_epoch, artifact)
        progress = train(model, adjacency, features, config, seed, hook, run)
        seconds += progress.seconds
        artifact.record.update(losses=progress.losses, validation=progress.scores)
    artifact.record.update(
        data={
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "directed": graph.directed,
            "weighted": graph.weights is not None,
        },
        feature_names=_columns_read(graph, artifact),
        seconds=round(seconds, 2),
        versions=versions(*([] if kind is HiddenModel else ["torch"])),
    )
    return artifact
