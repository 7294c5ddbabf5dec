"""How long the server's engine takes for new nodes of Cora, one at a time and together; no HTTP.

python benchmarks/engine.py MODEL      MODEL: a folder that `sanne fit cora --out MODEL` wrote
"""

import statistics
import sys
import tempfile
import time

import numpy as np
import torch

from sanne.graph.load import load_graph
from sanne.serve.engine.engine import Engine
from sanne.serve.live.features import NewNode

ROUNDS = 30
LINKS = 3


def main(model: str) -> None:
    torch.set_num_threads(1)
    graph = load_graph("cora")
    stream = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.open(model, graph, f"{folder}/store")
        number = 0

        def group() -> list[NewNode]:
            nonlocal number
            number += 1
            words = graph.features[int(stream.integers(graph.num_nodes))].toarray().ravel()
            ends = graph.node_ids[stream.integers(0, graph.num_nodes, LINKS)].tolist()
            return [NewNode(f"new{number}", features=words, links=tuple((end, 1.0) for end in ends))]

        print("what    together   ms a call   ms a node   processor ms a node")
        for name, call in (("embed", engine.embed), ("add", engine.add)):
            for count in (1, 4, 16):
                times, processor = [], []
                for _ in range(ROUNDS):
                    groups = [group() for _ in range(count)]
                    start, busy = time.perf_counter(), time.process_time()
                    call(groups, explain=[0] * count, similar=[5] * count)
                    times.append(1000 * (time.perf_counter() - start))
                    processor.append(1000 * (time.process_time() - busy))
                once, used = statistics.median(times), statistics.median(processor)
                print(f"{name:6} {count:8} {once:11.1f} {once / count:11.1f} {used / count:14.1f}")
        engine.close()


if __name__ == "__main__":
    main(sys.argv[1])
