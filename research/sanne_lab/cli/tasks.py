"""`sanne reproduce links|communities|blogcatalog|neighbours|spread|tasks`: what is beside the paper's tables."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sanne.cli.options import Json, Sets, parse_settings, print_json
from sanne_lab.cli.reproduce import RESULTS, Budget, Datasets, Jobs, Out, Recipe, reproduce_app, running, say_paths

if TYPE_CHECKING:
    from sanne_lab.experiments.task_runs import TaskCell

__all__ = ["reproduce_app"]  # with the commands of this file

Models = Annotated[
    str | None, typer.Option("--model", help="Systems, by commas: sanne, smoothed, deepwalk, ... Default: all of them.")
]

Seeds = Annotated[int | None, typer.Option(help="Only so many seeds, from the first.", min=1)]
Splits = Annotated[int | None, typer.Option(help="Only so many splits, from the first.", min=1)]


@reproduce_app.command()
def links(
    dataset: Datasets = None,
    model: Models = None,
    recipe: Recipe = "best",
    budget: Budget = None,
    jobs: Jobs = 1,
    seeds: Seeds = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Link prediction: held-out edges against non-edges (AUC, AP, MRR, Hits); also ca-astroph, without attributes."""
    from sanne_lab.experiments import links as task

    cells = _cells(task, dataset, model, recipe, settings)
    errors = _fill(cells, out, jobs, budget, seeds)
    _show(task, task.load(out), out, as_json, errors)


@reproduce_app.command()
def communities(
    dataset: Datasets = None,
    model: Models = None,
    recipe: Recipe = "best",
    jobs: Jobs = 1,
    seeds: Seeds = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Community extraction: k-means on vectors, compared with classes (NMI, ARI) and graph (modularity)."""
    from sanne_lab.experiments import communities as task

    cells = _cells(task, dataset, model, recipe, settings)
    errors = _fill(cells, out, jobs, None, seeds)
    _show(task, task.load(out), out, as_json, errors)


@reproduce_app.command()
def blogcatalog(
    model: Models = None,
    recipe: Recipe = "best",
    budget: Budget = None,
    jobs: Jobs = 1,
    seeds: Seeds = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """A graph without attributes: groups of bloggers (micro and macro F1), present ones and newcomers."""
    from sanne_lab.experiments import blogcatalog as task

    cells = task.make_cells(_systems(model, task.SYSTEMS, recipe), parse_settings(settings))
    errors = _fill(cells, out, jobs, budget, seeds)
    _show(task, task.load(out), out, as_json, errors)


@reproduce_app.command()
def neighbours(
    dataset: Datasets = None,
    model: Models = None,
    recipe: Recipe = "best",
    jobs: Jobs = 1,
    splits: Splits = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Accuracy of newcomers by the number of neighbours that were there before them (0, 1, 2, 3+)."""
    from sanne_lab.experiments import neighbours as task
    from sanne_lab.experiments import newcomers

    cells = _cells(newcomers, dataset, model, recipe, settings)
    errors = _fill(cells, out, jobs, None, splits)
    _show(task, newcomers.load(out), out, as_json, errors)


@reproduce_app.command()
def spread(
    dataset: Datasets = None,
    recipe: Recipe = "best",
    jobs: Jobs = 1,
    splits: Splits = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Are newcomers with a large spread wrong more often? Accuracy by quarters, and a picture."""
    from sanne.plot import matplotlib_figure
    from sanne_lab.experiments import newcomers
    from sanne_lab.experiments import spread as task

    matplotlib_figure()  # what is missing is said before anything is trained
    system = f"sanne-{recipe}"
    cells = _cells(newcomers, dataset, system, recipe, settings)
    errors = _fill(cells, out, jobs, None, splits)
    found = task.of_system(newcomers.load(out), system)
    if found:
        say_paths(task.draw(found, out), False)
    _show(task, found, out, as_json, errors)


@reproduce_app.command()
def tasks(
    model: Models = None,
    recipe: Recipe = "best",
    budget: Budget = None,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    settings: Sets = None,
) -> None:
    """All of links, communities, blogcatalog, neighbours and spread, one after the other; `--budget` is for each."""
    links(model=model, recipe=recipe, budget=budget, jobs=jobs, out=out, settings=settings)
    communities(model=model, recipe=recipe, jobs=jobs, out=out, settings=settings)
    blogcatalog(model=model, recipe=recipe, budget=budget, jobs=jobs, out=out, settings=settings)
    neighbours(model=model, recipe=recipe, jobs=jobs, out=out, settings=settings)
    spread(recipe=recipe, jobs=jobs, out=out, settings=settings)


def _cells(
    task: Any, dataset: str | None, model: str | None, recipe: str, settings: list[str] | None
) -> "list[TaskCell]":
    """The cells of a task that a command line asks for."""
    from sanne_lab.experiments.task_runs import chosen

    datasets = chosen(dataset, task.DATASETS, "dataset")
    cells: list[TaskCell] = task.make_cells(_systems(model, task.SYSTEMS, recipe), datasets, parse_settings(settings))
    return cells


def _systems(model: str | None, default: Sequence[str], recipe: str) -> list[str]:
    from sanne_lab.experiments.table2 import chosen_systems

    return chosen_systems(model or ",".join(default), recipe)


def _fill(
    cells: "Sequence[TaskCell]", out: Path, jobs: int, budget: float | None, count: int | None
) -> list[Exception]:
    """Run what is missing, of the first `count` seeds or splits; the errors of what failed."""
    from sanne_lab.experiments.task_runs import fill_tasks

    some = [replace(cell, numbers=cell.numbers[:count]) for cell in cells]
    with running(out, jobs, budget) as plan:
        return fill_tasks(some, out, plan)


def _show(task: Any, found: Sequence[Any], out: Path, as_json: bool, errors: list[Exception]) -> None:
    """All that is stored: as text or JSON on stdout, and as files. Then the first error, if there was one."""
    from sanne_lab.experiments.table_formats import markdown, write_tables

    rows: Callable[[Sequence[Any]], list[dict[str, Any]]] = task.rows
    if as_json:
        print_json({"rows": rows(found)})
    elif found:
        sys.stdout.write(markdown(task.blocks(found), task.notes(found)))
    if found:
        write_tables(out, task.NAME, task.blocks(found), task.notes(found), rows(found))
    if errors:
        raise errors[0]
