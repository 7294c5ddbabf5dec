"""`sanne bench embed`: how fast nodes are embedded, many at once and one alone."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sanne.config import Config, recipe_config
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.model.artifact import Artifact, model_kind
from sanne.model.hidden import HiddenModel
from sanne.model.learn import learn
from sanne.paper.device import torch_threads
from sanne.paper.walk_model import WALKS_AT_ONCE, WalkModel
from sanne_lab.bench.graphs import featured_graph
from sanne_lab.bench.machine import describe_machine, describe_versions
from sanne_lab.bench.products import bare_products, forward_shapes
from sanne_lab.bench.train import timed_in_turns

_MANY, _ALONE = 512, 300


def bench_embed(recipe: str, num_nodes: int, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Nodes a second for many at once, and the time of one node alone.

    The nodes are read as new ones are: from a graph that has them. For a transformer of walks the result also has the
    share of the machine's product rate.
    """
    config = recipe_config(recipe).replace(**{"features": "numeric", **(settings or {})})
    machine = describe_machine()
    graph = featured_graph(num_nodes, 10 * num_nodes, config.model.encoder_dim)
    artifact = _artifact(graph, config)
    many = min(_MANY, num_nodes)
    walks = many * config.infer.num_inference_walks
    at_once = min(walks, WALKS_AT_ONCE)
    nodes = np.random.default_rng(0).permutation(num_nodes)
    with torch_threads(config.train.threads, at_once * config.walks.walk_length):
        threads = torch.get_num_threads()
        tasks: list[Callable[[], object]] = [lambda: embed(artifact, graph, nodes[:many], progress=False)]
        if isinstance(artifact.model, WalkModel):
            tasks.append(bare_products(forward_shapes(config, at_once)))
        embedding, *bare = timed_in_turns(tasks, times=1)
    alone = []
    for node in nodes[: min(_ALONE, num_nodes)]:
        started = time.perf_counter()
        embed(artifact, graph, [node], progress=False)
        alone.append(1000 * (time.perf_counter() - started))
    share = {"fraction_of_gemm": round(float(np.median(bare[0] * walks / at_once / embedding)), 3)} if bare else {}
    return {
        "recipe": recipe,
        "nodes": num_nodes,
        "nodes_per_second": round(many / float(np.median(embedding)), 1),
        **share,
        "p50_ms": round(float(np.percentile(alone, 50)), 2),
        "p99_ms": round(float(np.percentile(alone, 99)), 2),
        "threads": threads,
        "machine": machine,
        "versions": describe_versions(),
    }


def _artifact(graph: Graph, config: Config) -> Artifact:
    """A model of a graph. One that reads walks is not trained: its speed does not depend on what it has learnt."""
    kind = model_kind(config)
    feature_map, features = kind.fit_features(graph, graph, config, 0)
    model = kind.empty(config, feature_map, graph.num_nodes, 0, None)
    if isinstance(model, HiddenModel):
        learn(model, graph.adjacency(config.walks.direction), features)
    return Artifact(config, 0, feature_map, model, graph.num_nodes)
