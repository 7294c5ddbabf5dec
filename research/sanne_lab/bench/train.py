"""`sanne bench train`: a training step, beside the matrix products of the same shapes on the same machine."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sanne.config import Config, recipe_config
from sanne.errors import InputError
from sanne.features.choose import choose_features
from sanne.graph.graph import Graph
from sanne.model.artifact import model_kind
from sanne.paper.batches import WalkStream
from sanne.paper.device import torch_threads
from sanne.paper.loop import make_optimisers, training_step
from sanne.paper.walk_model import WalkModel
from sanne_lab.bench.graphs import featured_graph
from sanne_lab.bench.machine import describe_machine, describe_versions
from sanne_lab.bench.products import backward_shapes, bare_products, forward_shapes, operations

_ROUNDS, _POSITIONS_A_ROUND = 9, 8192


def bench_train(recipe: str, num_nodes: int, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Positions and floating-point operations a second of a step, and the share of the machine's product rate.

    Steps and bare products take turns, so that both meet the same load; the median round counts. Only the products
    are counted as operations: attention, softmax, normalisation and the optimiser add none to the figure.
    """
    config = recipe_config(recipe).replace(**{"features": "numeric", **(settings or {})})
    if model_kind(config) is not WalkModel:
        raise InputError(f"recipe {recipe!r} is not trained step by step: choose paper")
    machine = describe_machine()
    graph = featured_graph(num_nodes, 10 * num_nodes, config.model.encoder_dim)
    forward = forward_shapes(config, config.train.batch_size)
    shapes = forward + backward_shapes(forward)
    positions = config.train.batch_size * config.walks.walk_length
    with torch_threads(config.train.threads, positions):
        threads = torch.get_num_threads()
        steps, bare = timed_in_turns(
            [_stepper(graph, config), bare_products(shapes)], max(1, _POSITIONS_A_ROUND // positions)
        )
    seconds, product_seconds = float(np.median(steps)), float(np.median(bare))
    return {
        "recipe": recipe,
        "nodes": num_nodes,
        "batch_size": config.train.batch_size,
        "positions_per_second": round(positions / seconds),
        "flops_per_second": round(operations(shapes) / seconds),
        "gemm_flops_per_second": round(operations(shapes) / product_seconds),
        "fraction_of_gemm": round(float(np.median(bare / steps)), 3),
        "seconds_per_step": round(seconds, 5),
        "threads": threads,
        "machine": machine,
        "versions": describe_versions(),
    }


def timed_in_turns(tasks: list[Callable[[], object]], times: int, rounds: int = _ROUNDS) -> list[Any]:
    """Seconds of each task, an array over rounds; in every round each task runs `times` times."""
    for task in tasks:
        for _ in range(3):
            task()
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(rounds):
        for task, found in zip(tasks, seconds, strict=True):
            started = time.perf_counter()
            for _ in range(times):
                task()
            found.append((time.perf_counter() - started) / times)
    return [np.array(found) for found in seconds]


def _stepper(graph: Graph, config: Config) -> Callable[[], object]:
    """A function that does the next training step, its walks drawn first as in a fit."""
    feature_map, features = choose_features(graph, config.features).fit_transform(graph, config.features, 0)
    adjacency = graph.adjacency()
    model = WalkModel(config, width=feature_map.width, num_nodes=graph.num_nodes, seed=0)
    optimisers = make_optimisers(model, config.train)
    batches = map(WalkStream(adjacency, config.walks, config.train, seed=0).batch, itertools.count())
    rows = torch.from_numpy(features)
    model.train()
    return lambda: training_step(model, rows, next(batches), optimisers)
