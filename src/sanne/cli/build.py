"""`sanne build`: a graph folder from edge files of any size."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sanne.cli.options import (
    Directed,
    Dst,
    Features,
    Id,
    Json,
    Kind,
    KindWeight,
    Label,
    NodeTable,
    Src,
    Text,
    UnknownNodes,
    graph_options,
    seconds_since,
    show,
)


def build(
    context: typer.Context,
    edges: Annotated[list[Path], typer.Argument(metavar="EDGES", help="Files of edges.")],
    out: Annotated[Path, typer.Option(help="The graph folder to write.")],
    node_table: NodeTable = None,
    text: Text = None,
    features: Features = None,
    label: Label = None,
    src: Src = None,
    dst: Dst = None,
    id: Id = None,
    kind: Kind = None,
    kind_weight: KindWeight = None,
    unknown: UnknownNodes = None,
    directed: Directed = False,
    memory: Annotated[str, typer.Option(help="Memory limit, such as 4GB or 1.5GiB.")] = "4GiB",
    as_json: Json = False,
) -> None:
    """Turn edge files of any size into a graph folder that every command reads without loading it into memory."""
    from sanne.graph.folder.build import build_graph

    started = time.perf_counter()
    options = graph_options(context) | {"unknown": unknown or "refuse"}
    graph = build_graph(edges, out, node_table=node_table, memory=memory, **options)
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
