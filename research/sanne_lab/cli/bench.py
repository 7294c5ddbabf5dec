"""`sanne bench`: the speed of each stage on this machine."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from sanne.cli.options import Json, Recipe, Sets, notes, parse_settings, print_json, show
from sanne.config import DEFAULT_RECIPE

bench_app = typer.Typer(help="Measure the speed of each stage on this machine.", no_args_is_help=True)


@bench_app.command("walks")
def bench_walks(
    nodes: Annotated[int, typer.Option(help="Nodes of the generated graph.")] = 1_000_000,
    edges: Annotated[int, typer.Option(help="Edges of the generated graph.", min=1)] = 10_000_000,
    graph: Annotated[
        Literal["uniform", "hub", "cora"], typer.Option(help="Even degrees, a power law with a hub, or Cora.")
    ] = "uniform",
    threads: Annotated[int | None, typer.Option(help="Measured beside one thread. Default: every core.", min=1)] = None,
    rivals: Annotated[Path | None, typer.Option(help="A python that has PecanPy (make bench sets one up).")] = None,
    seconds: Annotated[float, typer.Option(help="About how long a run lasts; an engine has five.", min=0.001)] = 1.0,
    as_json: Json = False,
) -> None:
    """Walk steps per second, with a plain numba loop, networkx and PecanPy for comparison."""
    from sanne.device import available_cores
    from sanne_lab.bench.graphs import bench_graph
    from sanne_lab.bench.walks import WalkTask
    from sanne_lab.bench.walks import bench_walks as measure

    subject = bench_graph(graph, nodes, edges)
    notes.print(f"measuring on {subject}")
    cores = threads or available_cores()
    result = measure(subject, graph, threads=cores, rivals=rivals, task=WalkTask(seconds=seconds))
    if as_json:
        print_json(result)
        return
    table = Table("engine", "order", "threads", "million steps/s", "per CPU second")
    for row in result["engines"]:
        speeds = [f"{row[name] / 1e6:.3f}" for name in ("steps_per_second", "steps_per_cpu_second")]
        table.add_row(row["name"], str(row["order"]), str(row["threads"]), *speeds)
    Console().print(table)


@bench_app.command("train")
def bench_train(
    recipe: Annotated[str, typer.Option(help="A recipe that is trained on walks.")] = "paper",
    nodes: Annotated[int, typer.Option(help="Nodes of the generated graph; ten edges each.", min=100)] = 10_000,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Speed of a training step, beside the bare matrix products that it holds."""
    from sanne_lab.bench.train import bench_train as measure

    show(measure(recipe, nodes, parse_settings(settings)), as_json)


@bench_app.command("embed")
def bench_embed(
    recipe: Recipe = DEFAULT_RECIPE,
    nodes: Annotated[int, typer.Option(help="Nodes of the generated graph; ten edges each.", min=100)] = 10_000,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """New nodes embedded per second, many at once, and the time of one alone."""
    from sanne_lab.bench.embed import bench_embed as measure

    show(measure(recipe, nodes, parse_settings(settings)), as_json)
