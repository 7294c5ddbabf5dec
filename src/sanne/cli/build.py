"""`sanne build`, a graph folder from edge files of any size, and `sanne data`, public datasets."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli import options

data_app = typer.Typer(help="List public datasets, or download one.", no_args_is_help=True)


@options.reads_graph
def build(
    *,
    edges: Annotated[list[Path], typer.Argument(metavar="EDGES", help="Files of edges.")],
    out: Annotated[Path, typer.Option(help="The graph folder to write.")],
    columns: options.Columns,
    memory: Annotated[str, typer.Option(help="Memory limit, such as 4GB or 1.5GiB.")] = "4GiB",
    as_json: options.Json = False,
) -> None:
    """Turn edge files of any size into a graph folder that every command reads without loading it into memory."""
    from sanne.graph.folder.build import build_graph

    started = time.perf_counter()
    columns["unknown"] = columns["unknown"] or "refuse"
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
