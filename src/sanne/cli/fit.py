"""`sanne fit`: fit a model to a graph and write a model folder."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sanne.cli import options
from sanne.config import DEFAULT_RECIPE
from sanne.errors import WriteError
from sanne.interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from sanne.estimator import SANNE
    from sanne.graph.graph import Graph
    from sanne.source import ModelSource
    from sanne.vectors.formats import Dtype


@options.reads_graph
def fit(
    *,
    source: options.Source,
    out: Annotated[Path | None, typer.Option(help="The model folder to write.")] = None,
    columns: options.Columns,
    recipe: options.Recipe = DEFAULT_RECIPE,
    dim: Annotated[int | None, typer.Option(help="Dimensions of a vector: 16 to 4096, or 0 for the default.")] = None,
    text_encoder: Annotated[
        str | None,
        typer.Option(
            help="Text encoder in addition to words: sentence-transformers:NAME_OR_FOLDER or model2vec:NAME_OR_FOLDER.",
            metavar="ENCODER",
        ),
    ] = None,
    seed: options.Seed = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Recipe paper: continue an interrupted fit.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the model in the folder, if there is one.")] = False,
    settings: options.Sets = None,
    dtype: options.VectorType = "float32",
    memory: options.Memory = None,
    estimate: options.Estimated = False,
    as_json: options.Json = False,
) -> None:
    """Fit a model to a graph and write a model folder."""
    from sanne.config import recipe_config
    from sanne.device import peak_memory
    from sanne.estimator import SANNE
    from sanne.files.atomic import claimed
    from sanne.model.artifact import check_model_target
    from sanne.source import ModelSource

    given = {"dim": dim, "text_encoder": text_encoder}
    changes = (options.parse_settings(settings) or {}) | {
        name: value for name, value in given.items() if value is not None
    }
    config = recipe_config(recipe).replace(**changes)  # wrong settings are refused before anything is read
    if out is not None:
        check_model_target(out)
        if (out / "config.json").exists() and not (force or resume or estimate):
            options.confirm_replacing(out, "model")
    elif not estimate:
        options.require_out(out, "MODEL")
    model = SANNE(recipe, settings=changes or None, random_state=seed)
    origin = ModelSource.of(source, **columns)
    if out is None or estimate:
        from sanne.estimate import estimate_fit

        graph = _load(origin)
        options.logger.info("timing fits of parts of the graph")
        starting = time.process_time()
        options.show(estimate_fit(graph, config, seed).of_command(starting).to_dict(), as_json)
        return
    with claimed(out), options.limited(memory, out):
        graph = _load(origin)
        origin = replace(origin, **graph.chosen)
        seconds = _fit_and_save(model, graph, origin, out, resume, dtype)
    record = model.artifact_.record
    losses = record.get("losses")  # of a model that is trained
    result = {
        "model": str(out),
        "recipe": recipe,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "without_links": len(graph.without_links()) or None,
        "features": model.artifact_.feature_map.base_name,
        "dim": model.embedding_.shape[1],
        **({"epochs": len(losses), "loss": round(losses[-1], 4)} if losses else {}),
        "train_seconds": record["seconds"],
        "seconds": seconds,
        "peak_bytes": peak_memory(),
        "seed": seed,
    }
    options.show(result, as_json, f"wrote {out}")


def _load(origin: "ModelSource") -> "Graph":
    started = time.perf_counter()
    graph = origin.load()
    options.notes.print(f"read {graph} in {options.duration(time.perf_counter() - started)}")
    return graph


def _fit_and_save(
    model: "SANNE", graph: "Graph", origin: "ModelSource", out: Path, resume: bool, dtype: "Dtype"
) -> float:
    """Fit with a checkpoint next to `out`, removed once the model is saved; returns the seconds of the fit."""
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists() and not resume:
        options.notes.print(f"starting over: {checkpoint} holds an unfinished fit (--resume continues it)")
    if resume and not checkpoint.exists():
        why = f"no unfinished fit to continue: there is no {checkpoint}"
        if model.recipe != "paper":
            why = "--resume does nothing here: only the recipe paper writes checkpoints"
        options.notes.print(f"{why}; fitting from the start")
    started = time.perf_counter()
    try:
        model.fit(graph, checkpoint=checkpoint, resume=resume)
        seconds = time.perf_counter() - started
        raise_if_interrupted()
        model.artifact_.record["source"] = origin.to_dict()
        model.save(out, dtype)
        checkpoint.unlink(missing_ok=True)
    except (KeyboardInterrupt, WriteError) as error:
        kept = f"; --resume continues from {checkpoint}" if checkpoint.exists() else ""
        options.notes.print(f"interrupted{kept}")
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(130) from None
        raise
    return round(seconds, 2)
