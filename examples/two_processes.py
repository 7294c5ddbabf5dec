"""Training on two processes, or on as many as there are: torchrun starts them, each reads its share of every batch.

    torchrun --standalone --nproc-per-node 2 examples/two_processes.py [MODEL]

The code is that of one process: `fit` finds out by itself how many there are. All of them end with the same model;
only the first has the vectors, prints and writes. On several machines, torchrun's --nnodes and --rdzv-endpoint do
the rest; `torchrun ... -m sanne fit cora --out MODEL` is the same from the command line.
"""

import os
import sys

from sanne import SANNE, load_graph
from sanne.train.distributed import is_first_process
from sanne.train.report import Report


def main() -> None:
    graph = load_graph("cora")
    model = SANNE("fast", random_state=0, progress=False).fit(graph, callbacks=[show])
    if not is_first_process():
        return
    print(f"{os.environ.get('WORLD_SIZE', '1')} processes, vectors {model.embedding_.shape}")
    paper = model.node_ids_[0]
    print(f"papers like {paper}: {', '.join(str(other) for other, _ in model.similar(paper, k=5))}")
    if len(sys.argv) > 1:
        model.save(sys.argv[1])
        print(f"wrote {sys.argv[1]}")


def show(report: Report) -> None:
    """Called in the first process only, every few steps."""
    print(f"step {report.step:3}: loss {report.loss:.3f}, {report.walks_per_second:,.0f} walks a second", flush=True)


if __name__ == "__main__":
    main()
