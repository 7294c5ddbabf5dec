"""`sanne build`: a graph folder from edge files of any size."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli.options import Directed, Features, Json, Label, NodeTable, Text, seconds_since, show


def build(
    edges: Annotated[list[Path], typer.Argument(metavar="EDGES", help="CSV, TSV or Parquet files of edges.")],
    out: Annotated[Path, typer.Option(help="The graph folder to write.")],
    node_table: NodeTable = None,
    text: Text = None,
    features: Features = None,
    label: Label = None,
    directed: Directed = False,
    memory: Annotated[str, typer.Option(help="Memory limit, such as 4GB or 1.5GiB.")] = "4GiB",
    as_json: Json = False,
) -> None:
    """Turn edge files of any size into a graph folder that every command reads without loading it into memory."""
    from sanne.graph.folder.build import build_graph

    started = time.perf_counter()
    graph = build_graph(
        edges, out, node_table=node_table, text=text, features=features, label=label, directed=directed, memory=memory
    )
    result = {
        "graph": str(out),
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.directed,
        "weighted": graph.weights is not None,
        "features": None if graph.features is None else graph.features.shape[1],
        "text": graph.texts is not None,
        "seconds": seconds_since(started),
    }
    show(result, as_json, f"wrote {out}")
