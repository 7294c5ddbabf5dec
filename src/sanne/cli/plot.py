"""`sanne plot`: a map of the vectors."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sanne.cli.options import CurrentGraph, Json, Labels, ModelFolder, NodeTable, Picture, Seed, show


def plot(
    model: ModelFolder,
    out: Picture,
    method: Annotated[Literal["auto", "tsne", "pca"], typer.Option(help="How to reduce to two dimensions.")] = "auto",
    labels: Labels = None,
    graph: CurrentGraph = None,
    node_table: NodeTable = None,
    new: Annotated[Path | None, typer.Option(help="Vectors of new nodes (from sanne embed), to be marked.")] = None,
    color: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="label, community, uncertainty, or a column of the label or node table."),
    ] = None,
    regions: Annotated[bool, typer.Option(help="Write names on regions, from the words of their nodes.")] = True,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw the vectors of a model as a map, coloured by class where classes are known."""
    from sanne.draw.plot import check_picture
    from sanne.estimator import SANNE
    from sanne.judge import draw_model
    from sanne.source import ModelSource

    check_picture(out)
    fitted = SANNE.load(model)
    origin = ModelSource.of_model(fitted.artifact_, graph, node_table)
    count = draw_model(
        fitted, origin, out, labels=labels, new=new, color=color, regions=regions, method=method, seed=seed
    )
    show({"map": str(out), "nodes": count}, as_json, f"wrote {out}")
