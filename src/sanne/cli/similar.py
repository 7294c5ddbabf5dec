"""`sanne similar`: nearest nodes."""

from pathlib import Path
from typing import Annotated

import typer

from sanne.cli.options import Json, KnownText, ModelFolder, NodeTable, plain, print_json, print_table


def similar(
    model: ModelFolder,
    node_id: Annotated[str, typer.Argument(metavar="NODE_ID")],
    k: Annotated[int, typer.Option("-k", help="How many.", min=1)] = 10,
    vectors: Annotated[Path | None, typer.Option(help="What sanne embed wrote for the node, if it is new.")] = None,
    graph: Annotated[str | None, typer.Option(help="The graph that contains the node, if it is new.")] = None,
    node_table: NodeTable = None,
    text: KnownText = None,
    as_json: Json = False,
) -> None:
    """List the nodes of the fitted graph that are nearest to a node."""
    from sanne.estimator import SANNE
    from sanne.source import ModelSource
    from sanne.vectors.formats import read_vectors

    fitted = SANNE.load(model)
    if vectors is not None:
        fitted.know(read_vectors(vectors))
    elif graph is not None or node_table is not None:
        fitted.embed(ModelSource.of_model(fitted.artifact_, graph, node_table, text).load(), [node_id])
    found = fitted.similar(node_id, k)
    if as_json:
        rows = [{"id": plain(other), "similarity": round(score, 4)} for other, score in found]
        print_json({"id": node_id, "similar": rows})
        return
    print_table(("node", "similarity"), [(str(other), f"{score:.4f}") for other, score in found])
