"""`sanne bench embed`: how fast nodes are embedded, many at once and one alone."""

import time
from typing import Any

import numpy as np
import torch

from sanne.config import recipe_config
from sanne.device import torch_threads
from sanne.features.choose import fit_features
from sanne.infer.embed import embed
from sanne.infer.read import WALKS_AT_ONCE
from sanne.model.artifact import Artifact
from sanne.model.walk_model import WalkModel
from sanne_lab.bench.graphs import featured_graph
from sanne_lab.bench.machine import describe_machine, describe_versions
from sanne_lab.bench.products import bare_products, forward_shapes
from sanne_lab.bench.train import timed_in_turns

_MANY, _ALONE = 512, 300


def bench_embed(recipe: str, num_nodes: int, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Nodes a second for many at once, the share of the machine's product rate, and the time of one node alone.

    The nodes are read as newcomers are: from walks over a graph that has them. The model is not trained, since its
    speed does not depend on what it has learnt.
    """
    config = recipe_config(recipe).replace(**{"features": "numeric", **(settings or {})})
    machine = describe_machine()
    graph = featured_graph(num_nodes, 10 * num_nodes, config.model.encoder_dim)
    feature_map = fit_features(graph, config.features, 0)
    model = WalkModel(config, width=feature_map.width, num_nodes=num_nodes, seed=0)
    artifact = Artifact(config, 0, feature_map, model, num_nodes)
    many = min(_MANY, num_nodes)
    walks = many * config.infer.num_inference_walks
    at_once = min(walks, WALKS_AT_ONCE)
    nodes = np.random.default_rng(0).permutation(num_nodes)
    with torch_threads(config.train.threads, at_once * config.walks.walk_length):
        threads = torch.get_num_threads()
        embedding, bare = timed_in_turns(
            [
                lambda: embed(artifact, graph, nodes[:many], progress=False),
                bare_products(forward_shapes(config, at_once)),
            ],
            times=1,
        )
    alone = []
    for node in nodes[: min(_ALONE, num_nodes)]:
        started = time.perf_counter()
        embed(artifact, graph, [node], progress=False)
        alone.append(1000 * (time.perf_counter() - started))
    return {
        "recipe": recipe,
        "nodes": num_nodes,
        "num_inference_walks": config.infer.num_inference_walks,
        "nodes_per_second": round(many / float(np.median(embedding)), 1),
        "fraction_of_gemm": round(float(np.median(bare * walks / at_once / embedding)), 3),
        "p50_ms": round(float(np.percentile(alone, 50)), 2),
        "p99_ms": round(float(np.percentile(alone, 99)), 2),
        "threads": threads,
        "machine": machine,
        "versions": describe_versions(),
    }
