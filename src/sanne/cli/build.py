"""`sanne build`, a graph folder from edge files of any size; `sanne bundle`, a model with its graph; `sanne data`."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli import options
from sanne.errors import InputError

data_app = typer.Typer(help="List public datasets, or download one.", no_args_is_help=True)


@options.reads_graph
def build(
    *,
    edges: Annotated[list[Path], typer.Argument(metavar="EDGES", help="Edge files.")],
    out: Annotated[Path, typer.Option(help="The graph folder to write.")],
    columns: options.Columns,
    memory: Annotated[str, typer.Option(help="Memory limit, such as 4GB or 1.5GiB.")] = "4GiB",
    force: Annotated[bool, typer.Option("--force", help="Replace the graph in the folder, if there is one.")] = False,
    as_json: options.Json = False,
) -> None:
    """Turn edge files of any size into a graph folder that every command reads without loading it into memory."""
    from sanne.graph.folder.build import build_graph
    from sanne.graph.folder.store import HEADER

    if (out / HEADER).exists() and not force:
        options.confirm_replacing(out, "graph")
    started = time.perf_counter()
    graph = build_graph(edges, out, memory=memory, **columns)
    result = {
        "graph": str(out),
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weighted": graph.weights is not None,
        "features": None if graph.features is None else graph.features.shape[1],
        "text": graph.texts is not None,
        "seconds": options.seconds_since(started),
    }
    options.show(result, as_json, f"wrote {out}")


@data_app.command("list")
def data_list(as_json: options.Json = False) -> None:
    """List the datasets that can be used by name."""
    from sanne.datasets.catalogue import catalog

    found = [{"name": dataset.name, "description": dataset.description} for dataset in catalog().values()]
    if as_json:
        options.print_json({"datasets": found})
        return
    options.print_table(("name", "description"), [tuple(one.values()) for one in found])


@data_app.command("get")
def data_get(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: options.Json = False) -> None:
    """Find or download a dataset, verify it, and print where it is."""
    from sanne.datasets.catalogue import find_dataset

    dataset = find_dataset(name)
    place = dataset.locate()
    graph = dataset.read(place)
    options.show({"name": name, "folder": str(place), "nodes": graph.num_nodes, "edges": graph.num_edges}, as_json)


def bundle(
    model: options.ModelFolder,
    out: Annotated[Path | None, typer.Option(help="A new folder for the bundle. Default: the model itself.")] = None,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    text: options.KnownText = None,
    as_json: options.Json = False,
) -> None:
    """Put a model's graph into its folder, so that the folder can be moved and used on any machine."""
    from sanne.files.atomic import claimed
    from sanne.model.artifact import Artifact, check_model_target
    from sanne.source import ModelSource, write_bundle

    started = time.perf_counter()
    target = check_model_target(out or model)
    if target != Path(os.path.realpath(model)) and target.is_dir() and any(target.iterdir()):
        raise InputError(f"{out} already has a model: give a new folder as --out")
    artifact = Artifact.read(model)
    origin = ModelSource.of_model(artifact, graph, node_table, text)
    with claimed(target):
        now = write_bundle(model, artifact, origin, target)
    if encoder := artifact.config.features.text_encoder:
        options.notes.print(
            f"the bundle does not contain the text encoder {encoder}: install it and sanne[encoders] where you use it"
        )
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    result = {"bundle": str(out or model), "nodes": now.num_nodes, "edges": now.num_edges, "bytes": size}
    options.show(result | {"seconds": options.seconds_since(started)}, as_json, f"wrote {out or model}")
