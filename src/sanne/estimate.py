"""Estimates of a fit or an embedding on this machine: seconds by stage from short probes, and peak memory."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse.csgraph as csgraph

from sanne.config import Config
from sanne.device import one_blas_thread, peak_memory
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.infer.read import reads_whole
from sanne.model.artifact import Artifact, model_kind
from sanne.model.fit import check_direction
from sanne.model.hidden import HiddenModel, Part
from sanne.model.learn import DEFAULT_DIM, FITTED, KEPT_BYTES, learn
from sanne.model.model import Model
from sanne.vectors.formats import write_vectors
from sanne.vectors.parquet import ROW_GROUP
from sanne.walks.diffusion import SPREAD_BYTES, Diffusion, columns_at_once

_WARM_UP = 256  # nodes: loads libraries and compiled code
_PROBES = 1800, 6000  # nodes; vectors are made of so many columns, which take time of their own
_PROBE_EMBEDDED, _PROBE_ROUNDS = 256, 5  # nodes, and how often: the median counts
_PROBE_COLUMNS = 64  # of a step, at most
_PROBE_WRITTEN = 40_000  # nodes
_PROBE_MANY = 100_000  # nodes: too many for the processor's cache, as all nodes are
_LIBRARIES = 200 * 2**20  # bytes that numba, pyarrow and torch, if it is there, take on the way


@dataclass(frozen=True)
class Estimate:
    """Seconds of each stage, and the largest resident memory in bytes."""

    stages: dict[str, float]
    peak_bytes: int

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())

    def of_command(self, starting: float) -> "Estimate":
        """The same for a command, which first spends so many seconds on starting up and reading the graph."""
        return Estimate({"starting": starting, **self.stages}, self.peak_bytes)

    def to_dict(self) -> dict[str, Any]:
        stages = {f"{name}_seconds": round(value, 2) for name, value in self.stages.items()}
        return {"estimated_seconds": round(self.seconds, 2), **stages, "estimated_peak_bytes": self.peak_bytes}


def estimate_fit(graph: Graph, config: Config, seed: int = 0) -> Estimate:
    """Time every stage of a fit on part of the graph, and extrapolate."""
    check_direction(graph, config)
    before = peak_memory()
    kind = model_kind(config)
    with one_blas_thread():  # as a fit does
        artifact, stages = _probe_fit(graph, kind, config, seed)
    feature_map = artifact.feature_map
    if not isinstance(artifact.model, HiddenModel):
        from sanne.paper.loop import bytes_of_training, probe_training

        model = kind.empty(config, feature_map, graph.num_nodes, seed, None)
        features = np.random.default_rng(seed).standard_normal((graph.num_nodes, feature_map.width), np.float32)
        stages["training"] = probe_training(graph, features, model, config, seed)
        walked = graph.num_nodes
        if model.present_vectors() is not None:
            walked = int(np.sum(np.diff(graph.adjacency(config.walks.direction).indptr) == 0))
        artifact = Artifact(config, seed, feature_map, model, graph.num_nodes)
        stages["embedding"] = _probe_embedding(artifact, graph, walked)
        return Estimate(stages, before + _LIBRARIES + bytes_of_training(graph, model, feature_map.width))
    fitted = min(graph.num_nodes, FITTED)
    restarts = len(config.objective.restarts)
    vectors = graph.num_nodes * (config.model.dim or min(DEFAULT_DIM, restarts * feature_map.width))
    tokens = 4 * fitted * (restarts * feature_map.width + 4 * DEFAULT_DIM)
    kept = 2 * graph.num_nodes * (restarts - 1) * feature_map.width <= KEPT_BYTES
    if graph.num_nodes > fitted:  # the others are only embedded
        seconds = _probe_embedding(artifact, graph, graph.num_nodes, passes=1 if kept else 2)
        stages["embedding"] = seconds * (1 - fitted / graph.num_nodes)
    stages["writing"] = _probe_writing(artifact, graph.num_nodes)
    return Estimate(stages, before + tokens + _bytes_of_embedding(graph, feature_map.width, restarts, vectors, kept))


def estimate_embedding(artifact: Artifact, graph: Graph, count: int) -> Estimate:
    """Embed some nodes of a graph, and extrapolate to `count` of them."""
    before = peak_memory()
    stages = {}
    if reads_whole(count, graph):  # else only the features of nodes that are visited
        artifact.feature_map.transform(_part(graph, _WARM_UP))
        parts = _parts(graph)
        seconds = [_seconds(partial(artifact.feature_map.transform, part)) for part in parts]
        stages["features"] = _at(graph.num_nodes, [part.num_nodes for part in parts], seconds)
    stages |= {"embedding": _probe_embedding(artifact, graph, count), "writing": _probe_writing(artifact, count)}
    at_once = artifact.model.reads_whole and reads_whole(count, graph)
    vectors = (graph.num_nodes if at_once else min(count, ROW_GROUP)) * artifact.model.vector_dim
    held = _bytes_of_embedding(graph, artifact.feature_map.width, len(artifact.config.objective.restarts), vectors)
    read = 4 * len(graph.indices)  # if the graph is memory-mapped: what walks read of it
    return Estimate(stages, before + held + read)


def _part(graph: Graph, most: int) -> Graph:
    """A connected piece of a large graph."""
    if graph.num_nodes <= most:
        return graph
    adjacency = graph.adjacency()
    start = int(np.argmax(np.diff(adjacency.indptr[: most + 1])))
    reached = csgraph.breadth_first_order(adjacency.to_scipy(), start, return_predecessors=False)[:most]
    others = np.setdiff1d(np.arange(most), reached)  # a small piece is filled up with other nodes
    nodes = np.concatenate([reached, others])[:most]
    return graph.subgraph(np.sort(nodes))


def _parts(graph: Graph) -> list[Graph]:
    """Two pieces of a graph, or all of it if it is small."""
    return [_part(graph, most) for most in _PROBES] if graph.num_nodes > _PROBES[-1] else [graph]


def _probe_fit(graph: Graph, kind: type[Model], config: Config, seed: int) -> tuple[Artifact, dict[str, float]]:
    """Fit pieces of the graph: time that differs between them grows with the number of nodes; learning uses at most
    `FITTED` nodes. The artifact is of the largest piece.
    """
    parts = _parts(graph)
    seconds: dict[str, list[float]] = {"features": []}
    for part in (_part(graph, _WARM_UP), *parts):
        started = time.perf_counter()
        feature_map, rows = kind.fit_features(part, part, config, seed)
        seconds["features"].append(time.perf_counter() - started)
        model = kind.empty(config, feature_map, part.num_nodes, seed, None)
        if isinstance(model, HiddenModel):
            work = partial(learn, model, part.adjacency(), rows)
            seconds.setdefault("learning", []).append(_seconds(work))
    sizes = [part.num_nodes for part in parts]
    counts = {"features": graph.num_nodes, "learning": min(graph.num_nodes, FITTED)}
    artifact = Artifact(config, seed, feature_map, model, part.num_nodes)
    return artifact, {stage: _at(counts[stage], sizes, found[1:]) for stage, found in seconds.items()}


def _at(size: int, sizes: list[int], seconds: list[float]) -> float:
    """Seconds at a size, on the line through those that were tried."""
    if len(sizes) == 1:
        return seconds[0]
    slope = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return seconds[1] + slope * (size - sizes[1])


def _probe_embedding(artifact: Artifact, graph: Graph, count: int, passes: int = 1) -> float:
    """Embed some nodes, or a piece of the graph if all of it is read, with that many `passes` of walks."""
    if artifact.model.reads_whole and reads_whole(count, graph):
        assert isinstance(artifact.model, HiddenModel)
        _read_part(artifact, _part(graph, _WARM_UP))
        whole, steps, part = _read_part(artifact, _part(graph, _PROBE_MANY))
        # A step over all nodes waits for memory, while part of them fits into the processor's cache.
        width = min(columns_at_once((len(artifact.config.objective.restarts) + 1) * graph.num_nodes), _PROBE_COLUMNS)
        far = Diffusion(graph.adjacency(artifact.config.walks.direction))
        slower = (_a_step(far, width) / far.num_nodes) / (_a_step(part, width) / part.num_nodes)
        return (whole - steps + passes * steps * max(1.0, slower)) * graph.num_nodes / part.num_nodes
    nodes = np.random.default_rng(0).permutation(graph.num_nodes)[: min(_PROBE_EMBEDDED, count)]
    if len(nodes) == 0:
        return 0.0
    ids = graph.node_ids[nodes]
    embed(artifact, graph, ids[:1], progress=False)  # compiles
    seconds = [_seconds(lambda: embed(artifact, graph, ids, progress=False)) for _ in range(_PROBE_ROUNDS)]
    return float(np.median(seconds)) * count / len(nodes)


def _read_part(artifact: Artifact, part: Graph) -> tuple[float, float, Diffusion]:
    """Embed all nodes of a piece of a graph: the seconds of that, and those of its walks."""
    model = artifact.model
    assert isinstance(model, HiddenModel)
    rows, diffusion = artifact.feature_map.transform(part), Diffusion(part.adjacency(artifact.config.walks.direction))
    started = time.perf_counter()
    after = diffusion.after_step(rows[:, model.layout.columns[0]])
    walking = 0.0

    def parts() -> Iterator[Part]:
        nonlocal walking
        spread, since = model.spread(diffusion, rows), time.perf_counter()
        for part in spread:
            walking += time.perf_counter() - since
            yield part
            del part  # or it would stay in memory while the next one is computed
            since = time.perf_counter()

    model.vectors_of(diffusion, rows, parts(), model.degrees(diffusion), after)
    return time.perf_counter() - started, walking, diffusion


def _a_step(diffusion: Diffusion, width: int) -> float:
    """Seconds of one step of walks for so many columns, the median of a few."""
    columns = np.ones((diffusion.num_nodes, width), np.float32)
    return float(np.median([_seconds(lambda: diffusion.after_step(columns)) for _ in range(3)]))


def _probe_writing(artifact: Artifact, count: int) -> float:
    """Compute the uncertainty of some vectors, and write them to a Parquet file."""
    some = min(count, _PROBE_WRITTEN)
    vectors = np.random.default_rng(0).standard_normal((some, artifact.model.vector_dim), np.float32)

    def write() -> None:
        uncertainty = artifact.model.uncertainty(vectors)
        with tempfile.TemporaryDirectory() as folder:
            write_vectors(Path(folder) / "probe.parquet", np.arange(some), vectors, uncertainty)

    return min(_seconds(write) for _ in range(2)) * count / max(some, 1)


def _bytes_of_embedding(graph: Graph, width: int, restarts: int, vectors: int, kept: bool = False) -> int:
    """Bytes of the features, their walk averages for some columns, and the vectors; these come later if `kept`."""
    rows = 4 * graph.num_nodes * width
    spread = min((restarts + 2) * rows, SPREAD_BYTES)
    return _LIBRARIES + rows + (max(spread, rows + 4 * vectors) if kept else spread + 4 * vectors)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
