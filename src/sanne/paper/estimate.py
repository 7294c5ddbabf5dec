"""What training takes: seconds from a short probe, and memory."""

import time

import numpy as np
import torch

from sanne.config import Config
from sanne.graph.graph import FloatArray, Graph
from sanne.model.model import Model
from sanne.paper.batches import WalkStream
from sanne.paper.device import torch_threads
from sanne.paper.loop import make_optimisers, training_step
from sanne.paper.walk_model import WALKS_AT_ONCE, WalkModel

_STEPS = 6


def probe_training(graph: Graph, features: FloatArray, model: Model, config: Config, seed: int) -> float:
    """Seconds of all steps, by those of the first ones."""
    assert isinstance(model, WalkModel)
    stream = WalkStream(graph.adjacency(config.walks.direction), config.walks, config.train, seed=seed)
    optimisers = make_optimisers(model, config.train)
    rows = torch.from_numpy(features)
    model.train()
    seconds = []
    with torch_threads(config.train.threads, config.train.batch_size * config.walks.walk_length):
        for batch in stream.batches(0, _STEPS):
            started = time.perf_counter()
            training_step(model, rows, batch, optimisers)
            seconds.append(time.perf_counter() - started)
    steps = config.train.epochs * stream.steps_per_epoch
    return seconds[0] + float(np.median(seconds[1:])) * (steps - 1)


def bytes_of_training(graph: Graph, model: Model, width: int) -> int:
    """Beyond the graph: the larger of what features hold, and training with embedding."""
    assert isinstance(model, WalkModel)
    rows = 4 * graph.num_nodes * width
    table = model.objective.sparse_table()
    table_bytes = 0 if table is None else 4 * table.nbytes  # with its gradient and two moments
    config = model.encoder.config
    working = 4 * WALKS_AT_ONCE * len(model.encoder.positions) * (8 * config.encoder_dim + config.ff_dim)
    held = 2 * rows + table_bytes + working + 4 * graph.num_nodes * model.vector_dim
    return max(5 * rows, held)
