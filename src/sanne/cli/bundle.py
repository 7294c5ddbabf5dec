"""`sanne bundle`: put a model's graph into its folder, so that it serves where nothing else is."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli.options import CurrentGraph, Json, KnownText, ModelFolder, NodeTable, notes, seconds_since, show
from sanne.errors import InputError


def bundle(
    model: ModelFolder,
    out: Annotated[Path | None, typer.Option(help="A new folder for the bundle. Default: the model itself.")] = None,
    graph: CurrentGraph = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    as_json: Json = False,
) -> None:
    """Put a model's graph into its folder. The folder can then be moved, served and embedded from on any machine."""
    from sanne.files.locks import claimed
    from sanne.model.artifact import Artifact, check_model_target
    from sanne.source import ModelSource, write_bundle

    started = time.perf_counter()
    target = check_model_target(out or model)
    if target != Path(os.path.realpath(model)) and target.is_dir() and any(target.iterdir()):
        raise InputError(f"{out} has a model already: give a new folder as --out")
    artifact = Artifact.read(model)
    origin = ModelSource.of_model(artifact, graph, node_table, text)
    with claimed(target):
        now = write_bundle(model, artifact, origin, target)
    if encoder := artifact.config.features.text_encoder:
        notes.print(
            f"texts are read with {encoder}, which is not in the bundle: have sanne[encoders] and the encoder there"
        )
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    result = {"bundle": str(out or model), "nodes": now.num_nodes, "edges": now.num_edges, "bytes": size}
    show(result | {"seconds": seconds_since(started)}, as_json, f"wrote {out or model}")
