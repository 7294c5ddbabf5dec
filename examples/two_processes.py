"""Training in two or more processes: torchrun starts them, and each computes its share of every batch.

    torchrun --standalone --nproc-per-node 2 examples/two_processes.py [MODEL]

The code is the same as for one process: `fit` detects how many there are. All of them end with the same model; only
the first has the vectors, prints and writes. For several machines, use torchrun's --nnodes and --rdzv-endpoint;
`torchrun ... -m sanne fit cora --recipe paper --out MODEL` does the same on the command line. Only the walk
transformer, recipe `paper`, is trained in steps that can be shared; the other recipes are computed in closed form.
"""

import os
import sys

from sanne import SANNE, load_graph
from sanne.train.distributed import is_first_process
from sanne.train.report import Report

SETTINGS = {  # a short training: TF-IDF instead of Doc2Vec, larger steps, a hundred of them
    "features": "auto",
    "ff_dim": 256,
    "batch_size": 256,
    "learning_rate": 1e-3,
    "table_learning_rate": 1e-2,
    "steps_per_epoch": 50,
    "epochs": 2,
}


def main() -> None:
    graph = load_graph("cora")
    model = SANNE("paper", settings=SETTINGS, random_state=0, progress=False).fit(graph, callbacks=[show])
    if not is_first_process():
        return
    print(f"{os.environ.get('WORLD_SIZE', '1')} processes, vectors {model.embedding_.shape}")
    paper = model.node_ids_[0]
    print(f"papers similar to {paper}: {', '.join(str(other) for other, _ in model.similar(paper, k=5))}")
    if len(sys.argv) > 1:
        model.save(sys.argv[1])
        print(f"wrote {sys.argv[1]}")


def show(report: Report) -> None:
    """Called every few steps, in the first process only."""
    print(f"step {report.step:3}: loss {report.loss:.3f}, {report.walks_per_second:,.0f} walks per second", flush=True)


if __name__ == "__main__":
    main()
