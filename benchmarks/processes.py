"""Seconds and bytes of a training step, by one process or by many, on a random graph.

    python benchmarks/processes.py
    torchrun --nproc-per-node 2 benchmarks/processes.py

The first process prints one JSON object. Bytes are those that each process hands over to be shared.
"""

import argparse
import json
import time

import numpy as np

from sanne.config import recipe_config
from sanne.device import choose_device
from sanne.graph.graph import Graph
from sanne.model.walk_model import WalkModel
from sanne.train.distributed import joined_processes
from sanne.train.loop import train


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--nodes", type=int, default=100_000)
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--batch-size", type=int, default=512)
    given = arguments.parse_args()
    config = recipe_config("paper").replace(
        epochs=1, steps_per_epoch=given.steps, batch_size=given.batch_size, threads=1, device="cpu"
    )
    stream = np.random.default_rng(0)
    ends = stream.integers(given.nodes, size=(2, 10 * given.nodes))
    graph = Graph.from_edges(ends[0], ends[1], node_ids=np.arange(given.nodes))
    features = stream.normal(size=(given.nodes, 128)).astype(np.float32)
    model = WalkModel(config, width=128, num_nodes=given.nodes, seed=0)
    with joined_processes(choose_device("cpu")) as processes:
        adjacency = graph.adjacency()
        train(model, adjacency, features, config.replace(steps_per_epoch=2), 0, processes=processes)  # warm up
        before, started = processes.bytes_given, time.perf_counter()
        progress = train(model, adjacency, features, config, 0, processes=processes)
        seconds = time.perf_counter() - started
    if processes.is_first:
        result = {
            "nodes": given.nodes,
            "batch_size": given.batch_size,
            "processes": processes.size,
            "seconds_per_step": round(progress.seconds / given.steps, 4),
            "seconds": round(seconds, 2),
            "bytes_per_step": round((processes.bytes_given - before) / given.steps),
            "parameters": sum(p.numel() for p in model.parameters()),
            "loss": progress.losses[-1],
        }
        print(json.dumps(result))


if __name__ == "__main__":
    main()
