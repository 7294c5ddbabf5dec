"""Estimates of a fit or an embedding on this machine: seconds by stage from short probes, and peak memory."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.csgraph as csgraph
import torch

from sanne.config import Config
from sanne.device import peak_memory, torch_threads
from sanne.features.base import FeatureMap
from sanne.features.choose import fit_transform_features
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.embed import embed
from sanne.infer.read import WALKS_AT_ONCE
from sanne.model.artifact import Artifact
from sanne.model.model import WalkModel
from sanne.train.distributed import Processes
from sanne.train.fit import AXES_SAMPLE
from sanne.train.loop import make_optimisers, training_step
from sanne.vectors.parquet import ROW_GROUP
from sanne.walks.batches import WalkStream

_PROBE_NODES = 20_000  # features are tried on so many nodes
_PROBE_TRAINING = 6  # steps
_PROBE_EMBEDDED, _PROBE_ROUNDS = 256, 5  # nodes, and how often: the median counts
_LIBRARIES = 200 * 2**20  # bytes that torch, numba and pyarrow take on the way


@dataclass(frozen=True)
class Estimate:
    """Seconds of each stage, and the largest resident memory in bytes."""

    stages: dict[str, float]
    peak_bytes: int

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        stages = {f"{name}_seconds": round(value, 2) for name, value in self.stages.items()}
        return {"estimated_seconds": round(self.seconds, 2), **stages, "estimated_peak_bytes": self.peak_bytes}


def estimate_fit(graph: Graph, config: Config, seed: int = 0) -> Estimate:
    """Time every stage of a fit on a part of the work, and scale it up."""
    before = peak_memory()
    feature_map, feature_seconds = _probe_features(graph, config, seed)
    config = config.resolve_auto(has_attributes=feature_map.reads != "nothing")
    features = np.random.default_rng(seed).standard_normal((graph.num_nodes, feature_map.width), np.float32)
    model = WalkModel(config, width=feature_map.width, num_nodes=graph.num_nodes, seed=seed)
    adjacency = graph.adjacency(config.walks.direction)
    stages = {"features": feature_seconds, **model.objective.probe(adjacency, features)}
    stages["training"] = _probe_training(graph, features, model, config, seed)
    model.objective.finish()
    artifact = Artifact(config, seed, feature_map, model, graph.num_nodes)
    walked = graph.num_nodes
    if model.objective.present_vectors() is not None:
        walked = int(np.sum(np.diff(adjacency.indptr) == 0))
    if model.reduced_dim:
        walked += min(graph.num_nodes, AXES_SAMPLE)
    stages["embedding"] = _probe_embedding(artifact, graph, walked)
    return Estimate(stages, before + _bytes_of_fit(graph, model, feature_map.width))


def estimate_embedding(artifact: Artifact, graph: Graph, count: int) -> Estimate:
    """Embed some nodes of a graph, and scale it up to `count` of them."""
    before = peak_memory()
    part, scale = _part(graph)
    seconds = _seconds(lambda: artifact.feature_map.transform(part)) * scale
    stages = {"features": seconds, "embedding": _probe_embedding(artifact, graph, count)}
    held = _bytes_of_embedding(graph, artifact.model, artifact.feature_map.width, min(count, ROW_GROUP))
    return Estimate(stages, before + held + 4 * len(graph.indices))  # where the graph is mapped, what walks read of it


def _probe_features(graph: Graph, config: Config, seed: int) -> tuple[FeatureMap, float]:
    part, scale = _part(graph)
    started = time.perf_counter()
    feature_map, _ = fit_transform_features(part, config.features, seed)
    return feature_map, (time.perf_counter() - started) * scale


def _part(graph: Graph) -> tuple[Graph, float]:
    """A connected piece of a large graph, and how many times larger the whole is."""
    if graph.num_nodes <= _PROBE_NODES:
        return graph, 1.0
    adjacency = graph.adjacency()
    start = int(np.argmax(np.diff(adjacency.indptr[: _PROBE_NODES + 1])))
    reached = csgraph.breadth_first_order(adjacency.to_scipy(), start, return_predecessors=False)[:_PROBE_NODES]
    others = np.setdiff1d(np.arange(_PROBE_NODES), reached)  # where the piece is small, nodes from anywhere fill up
    nodes = np.concatenate([reached, others])[:_PROBE_NODES]
    return graph.subgraph(np.sort(nodes)), graph.num_nodes / len(nodes)


def _probe_training(graph: Graph, features: FloatArray, model: WalkModel, config: Config, seed: int) -> float:
    stream = WalkStream(graph.adjacency(config.walks.direction), config.walks, config.train, seed=seed)
    optimisers = make_optimisers(model, config.train)
    rows = torch.from_numpy(features)
    model.train()
    seconds = []
    with torch_threads(config.train.threads, config.train.batch_size * config.walks.walk_length):
        for batch in stream.batches(0, _PROBE_TRAINING):
            started = time.perf_counter()
            training_step(model, rows, batch, optimisers, config.train, Processes())
            seconds.append(time.perf_counter() - started)
    steps = config.train.epochs * stream.steps_per_epoch
    return seconds[0] + float(np.median(seconds[1:])) * (steps - 1)


def _probe_embedding(artifact: Artifact, graph: Graph, count: int) -> float:
    nodes = np.random.default_rng(0).permutation(graph.num_nodes)[: min(_PROBE_EMBEDDED, count)]
    if len(nodes) == 0:
        return 0.0
    ids = graph.node_ids[nodes]
    embed(artifact, graph, ids[:1], progress=False)  # compiles
    seconds = [_seconds(lambda: embed(artifact, graph, ids, progress=False)) for _ in range(_PROBE_ROUNDS)]
    return float(np.median(seconds)) * count / len(nodes)


def _bytes_of_fit(graph: Graph, model: WalkModel, width: int) -> int:
    """Beyond the graph: the largest of what features, the objective's preparation, and training with embedding hold."""
    rows = 4 * graph.num_nodes * width
    preparation = model.objective.preparation_bytes(graph.num_nodes, len(graph.indices), width)
    table = model.objective.sparse_table()
    table_bytes = 0 if table is None else 4 * table.nbytes  # with its gradient and two moments
    return max(
        _LIBRARIES + 5 * rows,
        _LIBRARIES + preparation,
        rows + table_bytes + _bytes_of_embedding(graph, model, width, graph.num_nodes),
    )


def _bytes_of_embedding(graph: Graph, model: WalkModel, width: int, held: int) -> int:
    """Features of all nodes, the vectors of `held` ones, and one part of walks on its way through the encoder."""
    config = model.encoder.config
    working = _LIBRARIES + 4 * WALKS_AT_ONCE * len(model.encoder.positions) * (8 * config.encoder_dim + config.ff_dim)
    return 4 * graph.num_nodes * width + 4 * held * model.vector_dim + working


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
