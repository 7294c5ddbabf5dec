"""The program `sanne` in processes that start at once: forked from one that has imported everything, and no more.

A process is real: it can be killed, limited and waited for. Only the seconds that imports take are saved.
"""

import multiprocessing
import os
import sys
from collections.abc import Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import numpy as np

from planted import planted_graph

PRELOADED = (
    "torch._dynamo",
    "sanne.cli.commands",
    "sanne.estimator",
    "sanne.source",
    "sanne.graph.folder.build",
    "planted",
)
SMALL = {
    "threads": 1,
    "device": "cpu",
    "batch_size": 64,
    "steps_per_epoch": 4,
    "epochs": 8,
    "encoder_dim": 16,
    "num_layers": 1,
    "num_heads": 2,
    "ff_dim": 32,
    "feature_dim": 16,
    "num_negatives": 32,
    "num_inference_walks": 8,
    "objective": "neighbours",  # which is trained, with checkpoints
    "half_dim": 8,
    "restart_steps": 8,
}


class Command:
    """One run of `sanne` in a folder; what it says on stderr is in `errors()`, also after a kill."""

    def __init__(self, arguments: Sequence[object], folder: Path, notes: Path, largest_file: int | None = None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        self._notes = notes
        self.process: ForkServerProcess = context.Process(
            target=_run, args=([str(part) for part in arguments], folder, notes, largest_file), daemon=True
        )
        self.process.start()

    def wait(self, seconds: float = 300) -> int:
        """The exit code; minus the signal after a kill."""
        self.process.join(seconds)
        code = self.process.exitcode
        assert code is not None, f"still running after {seconds} s"
        return code

    def kill(self) -> bool:
        """kill -9; False if it had ended by itself."""
        self.process.kill()
        return self.wait() == -9

    def errors(self) -> str:
        return self._notes.read_text(encoding="utf-8")


def _run(arguments: list[str], folder: Path, notes: Path, largest_file: int | None) -> None:
    """In the new process: become the program."""
    import torch

    from sanne.cli import main

    torch.set_num_threads(1)
    os.chdir(folder)
    with notes.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if largest_file is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    sys.argv = ["sanne", *arguments]
    main()


def write_planted_tables(folder: Path, size: int = 40) -> None:
    """edges.csv and nodes.csv of a planted graph of three groups."""
    graph = planted_graph(size=size)
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    edges = [(a, b) for a, b in zip(sources, graph.indices, strict=True) if a < b]
    (folder / "edges.csv").write_text("src,dst\n" + "".join(f"p{a},p{b}\n" for a, b in edges))
    names = ",".join(f"f{column}" for column in range(graph.features.shape[1]))
    rows = "".join(f"p{i},{','.join(map(repr, row))}\n" for i, row in enumerate(graph.features.tolist()))
    (folder / "nodes.csv").write_text(f"id,{names}\n{rows}")


def fit_arguments(out: str, **changes: object) -> list[str]:
    """A small fit of those tables."""
    sets = [part for name, value in (SMALL | changes).items() for part in ("--set", f"{name}={value}")]
    return ["fit", "edges.csv", "--node-table", "nodes.csv", "--recipe", "fast", *sets, "--out", out, "--force"]
