"""`sanne plot`, a map of the vectors, and `sanne demo`, the whole story on Cora."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sanne.cli import options


def plot(
    model: options.ModelFolder,
    out: options.Picture,
    method: Annotated[Literal["auto", "tsne", "pca"], typer.Option(help="How to reduce to two dimensions.")] = "auto",
    labels: options.Labels = None,
    label: options.LabelColumn = None,
    id: options.LabelId = None,
    graph: options.CurrentGraph = None,
    node_table: options.NodeTable = None,
    new: Annotated[Path | None, typer.Option(help="Vectors of new nodes (from sanne embed) to mark.")] = None,
    color: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="label, community, uncertainty, or a column of the label or node table."),
    ] = None,
    regions: Annotated[bool, typer.Option(help="Name regions by their distinctive words.")] = True,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Draw the vectors of a model as a map, coloured by class where classes are known."""
    from sanne.draw.image import MAPS, check_picture
    from sanne.estimator import SANNE
    from sanne.judge import draw_model
    from sanne.source import ModelSource

    options.require_labels(labels, label, id)
    check_picture(out, MAPS)
    fitted = SANNE.load(model)
    origin = ModelSource.of_model(fitted.artifact_, graph, node_table)
    count = draw_model(
        fitted,
        origin,
        out,
        labels=labels,
        label=label,
        id=id,
        new=new,
        color=color,
        regions=regions,
        method=method,
        seed=seed,
    )
    options.show({"map": str(out), "nodes": count}, as_json, f"wrote {out}")


def demo(
    out: options.Picture = Path("map.png"),
    recipe: options.Recipe = "fast",
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Fit Cora without 1000 of its papers, embed them as new nodes, evaluate the vectors, draw the map."""
    from sanne.demo import run_demo
    from sanne.draw.image import MAPS, check_picture

    check_picture(out, MAPS)
    result = run_demo(recipe=recipe, seed=seed, out=out, say=options.notes.print)
    if as_json:
        options.print_json(result)
        return
    rows = [
        ("sanne", result["present_accuracy"], result["new_accuracy"]),
        ("smoothed features", result["smoothed_present_accuracy"], result["smoothed_accuracy"]),
    ]
    shown = [(name, f"{present:.1f}", f"{new:.1f}") for name, present, new in rows]
    options.print_table(("accuracy, %", "fitted papers", "new papers"), shown)
    steps = ("load", "fit", "embed", "evaluate", "plot")
    options.print_table(("step", "seconds"), [(step, f"{result[f'{step}_seconds']:.1f}") for step in steps])
    options.print_table(
        (f"papers similar to {result['example']} ({result['example_class']}), a new paper", "class", "similarity"),
        [(str(row["id"]), row["class"], f"{row['similarity']:.3f}") for row in result["similar"]],
    )
    options.notes.print(f"wrote {result['map']}")
