"""A fit into a model folder: one at a time, with a checkpoint beside it until the model is there."""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sanne.cli.options import notes
from sanne.errors import WriteError

if TYPE_CHECKING:
    from sanne.estimator import SANNE
    from sanne.experiments.model_source import ModelSource
    from sanne.graph.csr import Graph


def load(origin: "ModelSource") -> "Graph":
    """Read the graph, and say so."""
    started = time.perf_counter()
    graph = origin.load()
    notes.print(f"read {graph} in {time.perf_counter() - started:.1f} s")
    return graph


def fit_and_save(
    model: "SANNE", origin: "ModelSource", out: Path, *, resume: bool, **fit_options: Any
) -> tuple["Graph", float]:
    """Read, train and save; the graph, and how many seconds the training took. A second fit into `out` is refused."""
    from sanne.locks import claimed
    from sanne.train.distributed import is_first_process

    with claimed(out) if is_first_process() else contextlib.nullcontext():
        graph = load(origin)
        checkpoint = out.with_name(out.name + ".checkpoint")
        _say_where_it_starts(checkpoint, resume)
        started = time.perf_counter()
        try:
            model.fit(graph, checkpoint=checkpoint, resume=resume, **fit_options)
            seconds = time.perf_counter() - started
            if is_first_process():
                model.artifact_.record["source"] = origin.to_dict()
                model.save(out)
                checkpoint.unlink(missing_ok=True)
        except (KeyboardInterrupt, WriteError) as error:
            kept = f"; --resume goes on from {checkpoint}" if checkpoint.exists() else ""
            notes.print(f"interrupted{kept}")
            if isinstance(error, KeyboardInterrupt):
                raise typer.Exit(130) from None
            raise
    return graph, round(seconds, 2)


def _say_where_it_starts(checkpoint: Path, resume: bool) -> None:
    from sanne.train.distributed import is_restarted

    if checkpoint.exists() and is_restarted():
        notes.print(f"started again: going on from {checkpoint}")
    elif checkpoint.exists() and not resume:
        notes.print(f"starting over: {checkpoint} holds an unfinished fit (--resume goes on with it)")
