"""`sanne evaluate`: scores of a model on its own graph."""

from typing import Annotated, Literal

import typer

from sanne.cli.options import CurrentGraph, Json, Labels, ModelFolder, NodeTable, Seed, show


def evaluate(
    model: ModelFolder,
    task: Annotated[Literal["classify", "links", "communities"], typer.Option(help="What to evaluate.")] = "classify",
    labels: Labels = None,
    graph: CurrentGraph = None,
    node_table: NodeTable = None,
    fraction: Annotated[float, typer.Option(help="links: fraction of edges to hide.", min=0.01, max=0.9)] = 0.1,
    communities: Annotated[
        int | None, typer.Option(help="communities: how many. Default: as many as there are classes.", min=2)
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Evaluate the vectors of a model on its own graph. `links` fits again without the hidden edges."""
    from sanne.estimator import SANNE
    from sanne.judge import judge
    from sanne.source import ModelSource

    fitted = SANNE.load(model)
    origin = ModelSource.of_model(fitted.artifact_, graph, node_table)
    result = judge(fitted, origin, task, labels, fraction=fraction, communities=communities, seed=seed)
    show({name: value for name, value in result.items() if as_json or name != "splits"}, as_json)
