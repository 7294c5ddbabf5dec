"""`sanne reproduce`: tables and figures, the paper's and ours; what their result files lack is run first."""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sanne.cli.options import Json, Seed, Sets, notes, parse_settings, print_json
from sanne.config import DEFAULT_RECIPE
from sanne_lab.cli.progress import Display

if TYPE_CHECKING:
    from sanne_lab.experiments.cells import Cell
    from sanne_lab.experiments.pool import Plan
    from sanne_lab.paper.grid import Cell as PaperCell

reproduce_app = typer.Typer(help="Run the paper's tables and figures again, and ours.", no_args_is_help=True)

Datasets = Annotated[str | None, typer.Option("--dataset", help="cora, citeseer, pubmed, or several, by commas.")]
Settings = Annotated[str | None, typer.Option("--setting", help="transductive, inductive, or both by default.")]
Recipe = Annotated[str, typer.Option(help="The recipe of sanne: best, fast or paper.")]
FeaturesFrom = Annotated[
    Literal["present", "all"] | None,
    typer.Option(
        help="inductive: fit the feature map on present nodes, or on all texts as the paper did. "
        "Default: present; for sanne-paper all."
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        help="Time for the whole call, shared evenly: a grid is tried as far as it allows; 0 runs nothing. "
        "Default: first candidates. For sanne-paper alone it is hours; among other systems nothing of it is trained.",
        min=0,
    ),
]
Hours = Annotated[
    float,
    typer.Option(
        "--budget", metavar="HOURS", min=0, help="Time for the search over the paper's grid, which goes on from before."
    ),
]
Jobs = Annotated[int, typer.Option(help="Processes, with one thread each.", min=1)]
Out = Annotated[Path, typer.Option(help="Folder of the result files; what is there is not run again.")]
Models = Annotated[
    str | None, typer.Option("--model", help="Systems, by commas: sanne, smoothed, deepwalk, ... Default: all of them.")
]
Count = Annotated[
    int | None, typer.Option("--seeds", "--splits", help="Only so many seeds or splits, from the first.", min=1)
]
RESULTS = Path("results")


@reproduce_app.command()
def table2(
    dataset: Datasets = None,
    setting: Settings = None,
    model: Annotated[str, typer.Option(help="Systems, by commas: sanne, smoothed, gcn, ... or all.")] = "sanne",
    recipe: Recipe = DEFAULT_RECIPE,
    budget: Budget = None,
    jobs: Jobs = 1,
    features_from: FeaturesFrom = None,
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Test accuracy over ten splits, settings chosen on validation, compared with SANNE and with the paper.

    sanne-paper is the paper's model by its own protocol, searched over its grid: a budget of 2 is two hours, and of 0
    prints what has been found.
    """
    from sanne_lab.experiments import table2 as table

    systems, columns = table.chosen_systems(model, recipe), _columns(dataset, setting)
    cells = table.make_cells(
        [system for system in systems if system != table.PAPER],
        *columns,
        seed=seed,
        features_from=features_from or "present",
        changes=parse_settings(settings),
    )
    others = []
    if table.PAPER in systems:
        hours = budget if budget and systems == [table.PAPER] else 0
        _search(table.searched_cells(*columns, features_from or "all"), out, hours, jobs)
        others = table.searched_rows(*columns, out)[0]
    with _running(out, jobs, budget) as plan:
        found, errors = table.run_rows(cells, out, plan, others)
    _show(table, found, table.load(out), out, as_json, errors, _as_dicts)


@reproduce_app.command()
def table1(dataset: Datasets = None, out: Out = RESULTS, as_json: Json = False) -> None:
    """The size of the datasets, counted in their files, beside the paper's numbers."""
    from sanne_lab.experiments import table1 as table

    found = table.run(_columns(dataset, None)[0], out)
    _show(table, found, table.load(out), out, as_json, [])


@reproduce_app.command()
def table3(
    dataset: Datasets = None,
    setting: Settings = None,
    budget: Hours = 0,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """The paper's model without self-attention, and without the feed-forward layer, on validation accuracy."""
    from sanne_lab.experiments import table3 as table

    columns = _columns(dataset, setting)
    _search(table.make_cells(*columns), out, budget, jobs)
    _show(table, table.ablations("paper", out, *columns), table.load(out), out, as_json, [], _as_dicts)


@reproduce_app.command()
def figure2(
    dataset: Annotated[str, typer.Option(help="cora, citeseer or pubmed.")] = "cora",
    recipe: Recipe = DEFAULT_RECIPE,
    split: Annotated[int, typer.Option(help="Which of the ten splits.", min=0, max=9)] = 0,
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """The vectors of one split as t-SNE maps, transductive and inductive side by side."""
    from sanne.draw.image import matplotlib_figure
    from sanne.draw.reduce import tsne_package
    from sanne_lab.experiments import figure2 as figure

    matplotlib_figure(), tsne_package()  # a missing package is reported before anything is trained
    cells = figure.make_cells(recipe, dataset, split, seed=seed, changes=parse_settings(settings))
    errors = _fill(cells, out, 1, None)
    if errors:
        raise errors[0]
    _show_paths(figure.draw(figure.load(cells, out), out), as_json)


@reproduce_app.command()
def figure3(
    dataset: Datasets = None,
    setting: Settings = None,
    budget: Hours = 0,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """The effect of layers, heads and walks of the paper's model on validation accuracy, as bars with deviations."""
    from sanne.draw.image import matplotlib_figure
    from sanne_lab.experiments import figure3 as figure
    from sanne_lab.experiments.table2 import searched_cells

    matplotlib_figure()  # a missing package is reported before anything is trained
    _search(searched_cells(*_columns(dataset, setting), "all"), out, budget, jobs)
    if found := figure.load("paper", out):
        _show_paths(figure.draw("paper", found, out), as_json)


_TASKS = {  # modules of sanne_lab.experiments, and the help of their commands
    "links": "Link prediction: held-out edges against non-edges (AUC, AP, MRR, Hits); also ca-astroph, no attributes.",
    "communities": "Community extraction: k-means on vectors, compared with classes (NMI, ARI) and graph (modularity).",
    "blogcatalog": "A graph without attributes: groups of bloggers (micro and macro F1), present ones and newcomers.",
    "neighbours": "Accuracy of newcomers by the number of neighbours that were there before them (0, 1, 2, 3+).",
}


def _add_task(name: str, about: str) -> None:
    @reproduce_app.command(name, help=about)
    def command(
        dataset: Datasets = None,
        model: Models = None,
        recipe: Recipe = DEFAULT_RECIPE,
        budget: Budget = None,
        jobs: Jobs = 1,
        count: Count = None,
        out: Out = RESULTS,
        settings: Sets = None,
        as_json: Json = False,
    ) -> None:
        _run_task(name, dataset, model, recipe, budget, jobs, count, out, settings, as_json)


for _task in _TASKS.items():
    _add_task(*_task)


@reproduce_app.command()
def spread(
    dataset: Datasets = None,
    recipe: Recipe = DEFAULT_RECIPE,
    jobs: Jobs = 1,
    count: Count = None,
    out: Out = RESULTS,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Are newcomers with a large uncertainty wrong more often? Accuracy by quarters, and a picture."""
    from sanne.draw.image import matplotlib_figure

    matplotlib_figure()  # a missing package is reported before anything is trained
    _run_task("spread", dataset, None, recipe, None, jobs, count, out, settings, as_json)


@reproduce_app.command()
def suite(
    graph: Annotated[str | None, typer.Option(help="Graphs of the suite, by commas. Default: all of them.")] = None,
    system: Annotated[
        str | None, typer.Option(help="Systems or closed, rivals, ours, sizes, parts. Default: closed,sanne.")
    ] = None,
    place: Annotated[str, typer.Option(help="present, newcomers, by commas.")] = "present",
    measure: Annotated[str, typer.Option(help="accuracy, retrieval, links, communities, by commas.")] = "accuracy",
    setting: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="What does this setting of sanne change? May be repeated: all at once."),
    ] = None,
    final: Annotated[bool, typer.Option("--final", help="Score the nodes that no choice has seen.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Run what is stored, too.")] = False,
    stored: Annotated[bool, typer.Option("--table", help="Only print what is stored.")] = False,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Graphs of many kinds, few labels and many, present nodes and newcomers: accuracy, mean ranks, nearest nodes."""
    from sanne_lab.suite import graphs, run, systems, table

    changed = " ".join(["sanne", *(setting or [])])
    names = list(dict.fromkeys(systems.names_of(system or "closed,sanne") + ([changed] if setting else [])))
    if not stored:
        chosen = graph.split(",") if graph else list(graphs.LOADERS)
        scored = place.split(","), measure.split(",")
        tell = partial(notes.print, markup=False)
        run.fill(names, chosen, *scored, out, final=final, again=again, tell=tell)
    variants = [*systems.GROUPS["sizes"], *systems.GROUPS["parts"]]
    parts = [changed] if setting else [name for name in variants if name in names]
    if as_json:
        print_json({"rows": table.as_dicts(out, final)})
    elif parts:
        sys.stdout.write(table.changes(out, "sanne", parts, final) + "\n")
    else:
        blocks = [table.accuracy_table(out, final), table.other_table(out, final), *table.left_out(out, final)]
        sys.stdout.write("\n\n".join(blocks) + "\n")


@reproduce_app.command()
def tasks(
    model: Models = None,
    recipe: Recipe = DEFAULT_RECIPE,
    budget: Budget = None,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    settings: Sets = None,
) -> None:
    """All of links, communities, blogcatalog, neighbours and spread, one after the other; `--budget` is for each."""
    for name in _TASKS:
        _run_task(name, None, model, recipe, budget, jobs, None, out, settings, False)
    spread(recipe=recipe, jobs=jobs, out=out, settings=settings)


@reproduce_app.command()
def report(
    page: Annotated[Path, typer.Option(help="The page whose marked parts are written again.")] = Path(
        "docs/research.md"
    ),
    recipe: Recipe = DEFAULT_RECIPE,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Write the tables and figures of a page again from the result files; nothing is trained."""
    from sanne_lab.experiments.report import write_report

    filled = write_report(page, out, recipe)
    if as_json:
        print_json({"page": str(page), "filled": filled})
        return
    notes.print(f"{page}: wrote {', '.join(filled)}", markup=False)


@contextlib.contextmanager
def _running(out: Path, jobs: int, budget: float | None) -> Iterator["Plan"]:
    """A plan whose news are shown; after Ctrl-C a line says what is kept."""
    from sanne_lab.experiments.pool import Plan

    try:
        with Display() as display:
            yield Plan(jobs=jobs, budget=budget, watch=display.show)
    except KeyboardInterrupt:
        notes.print(f"stopped; finished splits are in {out}, and the same command goes on from there", markup=False)
        raise typer.Exit(130) from None


def _fill(
    cells: "Sequence[Cell]", out: Path, jobs: int, budget: float | None, count: int | None = None
) -> list[Exception]:
    """Run what is missing, of the first `count` seeds or splits; the errors of what failed."""
    from sanne_lab.experiments.pool import fill

    some = [replace(cell, numbers=cell.numbers[:count]) for cell in cells]
    with _running(out, jobs, budget) as plan:
        return fill(some, out, plan)


def _search(cells: "Sequence[PaperCell]", out: Path, hours: float, jobs: int) -> None:
    """Search the paper's grid for so many hours; what there is stays in OUT/paper."""
    from sanne_lab.paper.search import search

    if hours > 0:
        search(cells, out / "paper", out / "paper" / "cache", hours=hours, jobs=jobs)


def _columns(dataset: str | None, setting: str | None) -> tuple[Sequence[str], Sequence[str]]:
    """The datasets and settings that a command line asks for."""
    from sanne_lab.experiments.data import DATASETS, SETTINGS

    return dataset.split(",") if dataset else DATASETS, setting.split(",") if setting else SETTINGS


def _run_task(
    name: str,
    dataset: str | None,
    model: str | None,
    recipe: str,
    budget: float | None,
    jobs: int,
    count: int | None,
    out: Path,
    settings: list[str] | None,
    as_json: bool,
) -> None:
    """Fill the table of a task and show all that is stored of it."""
    from sanne_lab.experiments.cells import chosen
    from sanne_lab.experiments.table2 import chosen_systems

    task: Any = importlib.import_module(f"sanne_lab.experiments.{name}")
    systems = chosen_systems(model or ",".join(task.SYSTEMS), recipe)
    cells = task.make_cells(systems, chosen(dataset, task.DATASETS, "dataset"), parse_settings(settings))
    errors = _fill(cells, out, jobs, budget, count)
    found = task.load(out, recipe) if name == "spread" else task.load(out)
    if found and name == "spread":
        _show_paths(task.draw(found, out), False)
    _show(task, found, found, out, as_json, errors)


def _show(
    table: Any,
    found: Sequence[Any],
    stored: Sequence[Any],
    out: Path,
    as_json: bool,
    errors: list[Exception],
    rows: Callable[[Sequence[Any]], list[dict[str, Any]]] | None = None,
) -> None:
    """What was asked for, on stdout, and all that is stored, as files. Then the first error, if there was one.

    `rows` are those of the JSON, where they are not the ones of the CSV file.
    """
    from sanne_lab.experiments.table_formats import markdown, write_tables

    if as_json:
        print_json({"rows": (rows or table.rows)(found)})
    elif found:
        sys.stdout.write(markdown(table.blocks(found), table.notes(found)))
    if stored:
        write_tables(out, table.NAME, table.blocks(stored), table.notes(stored), table.rows(stored))
    if errors:
        raise errors[0]


def _as_dicts(found: Sequence[Any]) -> list[dict[str, Any]]:
    return [one.to_dict() for one in found]


def _show_paths(paths: list[Path], as_json: bool) -> None:
    """Name the pictures that were written."""
    if as_json:
        print_json({"pictures": [str(path) for path in paths]})
        return
    for path in paths:
        notes.print(f"wrote {path}", markup=False)
