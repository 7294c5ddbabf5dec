"""`sanne reproduce`: the tables and figures of the paper, from result files that are filled as far as they are not."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sanne.cli.options import Json, Seed, Sets, notes, parse_settings, print_json
from sanne_lab.cli.progress import Display

if TYPE_CHECKING:
    from sanne_lab.experiments.pool import Plan

reproduce_app = typer.Typer(help="Run the paper's tables and figures again.", no_args_is_help=True)

Datasets = Annotated[str | None, typer.Option("--dataset", help="cora, citeseer, pubmed, or several, by commas.")]
Settings = Annotated[str | None, typer.Option("--setting", help="transductive, inductive, or both by default.")]
Recipe = Annotated[str, typer.Option(help="The recipe of sanne: best, fast or paper.")]
FeaturesFrom = Annotated[
    Literal["present", "all"],
    typer.Option(help="inductive: fit the feature map on present nodes, or on all texts as the paper did."),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="MINUTES",
        help="Time for the whole call, shared evenly: a grid is tried as far as it allows. Default: first candidates.",
        min=0,
    ),
]
Jobs = Annotated[int, typer.Option(help="Processes, with one thread each.", min=1)]
Out = Annotated[Path, typer.Option(help="Folder of the result files; what is there is not run again.")]
RESULTS = Path("results")


@contextlib.contextmanager
def running(out: Path, jobs: int, budget: float | None) -> Iterator["Plan"]:
    """A plan whose news are shown; Ctrl-C leaves a word about what is kept."""
    from sanne_lab.experiments.pool import Plan

    try:
        with Display() as display:
            yield Plan(jobs=jobs, budget=budget, watch=display.show)
    except KeyboardInterrupt:
        notes.print(f"stopped; finished splits are in {out}, and the same command goes on from there", markup=False)
        raise typer.Exit(130) from None


@reproduce_app.command()
def table2(
    dataset: Datasets = None,
    setting: Settings = None,
    model: Annotated[str, typer.Option(help="Systems, by commas: sanne, smoothed, gcn, ... or all.")] = "sanne",
    recipe: Recipe = "best",
    budget: Budget = None,
    jobs: Jobs = 1,
    features_from: FeaturesFrom = "present",
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """Test accuracy over ten splits, settings chosen on validation, compared with SANNE and with the paper."""
    from sanne_lab.experiments import table2 as table
    from sanne_lab.experiments.result_files import DATASETS, SETTINGS
    from sanne_lab.experiments.table_formats import markdown, write_tables

    cells = table.make_cells(
        table.chosen_systems(model, recipe),
        dataset.split(",") if dataset else DATASETS,
        setting.split(",") if setting else SETTINGS,
        seed=seed,
        features_from=features_from,
        changes=parse_settings(settings),
    )
    with running(out, jobs, budget) as plan:
        rows, errors = table.run_rows(cells, out, plan)
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows]})
    elif rows:
        sys.stdout.write(markdown(table.blocks(rows), table.notes(rows)))
    stored, _ = table.stored_rows(out)
    if stored:
        write_tables(out, "table2", table.blocks(stored), table.notes(stored), table.records(stored))
    if errors:
        raise errors[0]


@reproduce_app.command()
def table1(dataset: Datasets = None, out: Out = RESULTS, as_json: Json = False) -> None:
    """The size of the datasets, counted in their files, beside the paper's numbers."""
    from dataclasses import asdict

    from sanne_lab.experiments import table1 as table
    from sanne_lab.experiments.result_files import DATASETS
    from sanne_lab.experiments.table_formats import markdown, write_tables

    found = table.run(dataset.split(",") if dataset else DATASETS, out)
    write_tables(out, "table1", table.blocks(found), [table.NOTE], table.records(found))
    if as_json:
        print_json({"datasets": [asdict(one) for one in found]})
        return
    sys.stdout.write(markdown(table.blocks(found), [table.NOTE]))


@reproduce_app.command()
def table3(
    dataset: Datasets = None,
    setting: Settings = None,
    recipe: Recipe = "best",
    budget: Budget = None,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """SANNE without self-attention, and without the feed-forward layer, on validation accuracy."""
    from sanne_lab.experiments import table3 as table
    from sanne_lab.experiments.pool import fill
    from sanne_lab.experiments.result_files import DATASETS, SETTINGS
    from sanne_lab.experiments.table_formats import markdown, write_tables

    columns = (dataset.split(",") if dataset else DATASETS, setting.split(",") if setting else SETTINGS)
    cells = table.make_cells(recipe, *columns, seed=seed, changes=parse_settings(settings))
    with running(out, jobs, budget) as plan:
        errors = fill(cells, out, plan)
    found = table.ablations(recipe, out, *columns)
    if as_json:
        print_json({"rows": [one.to_dict() for one in found]})
    elif found:
        sys.stdout.write(markdown(table.blocks(found), table.notes(found)))
    stored = table.stored(out)
    if stored:
        write_tables(out, "table3", table.blocks(stored), table.notes(stored), table.records(stored))
    if errors:
        raise errors[0]


@reproduce_app.command()
def figure2(
    dataset: Annotated[str, typer.Option(help="cora, citeseer or pubmed.")] = "cora",
    recipe: Recipe = "best",
    split: Annotated[int, typer.Option(help="Which of the ten splits.", min=0, max=9)] = 0,
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """The vectors of one split as t-SNE maps, transductive and inductive side by side."""
    from sanne.plot import matplotlib_figure, tsne_package
    from sanne_lab.experiments import figure2 as figure

    matplotlib_figure(), tsne_package()  # what is missing is said before anything is trained
    cells = figure.make_cells(recipe, dataset, seed=seed, changes=parse_settings(settings))
    maps = [figure.make_map(cell, out, split) for cell in cells]
    say_paths(figure.draw(maps, out), as_json)


@reproduce_app.command()
def figure3(
    dataset: Datasets = None,
    setting: Settings = None,
    recipe: Recipe = "best",
    parameter: Annotated[str, typer.Option(help="K (layers), H (heads), T (walks), by commas.")] = "K,H,T",
    splits: Annotated[int, typer.Option(help="inductive: only so many splits, from the first.", min=1, max=10)] = 10,
    budget: Budget = None,
    jobs: Jobs = 1,
    out: Out = RESULTS,
    seed: Seed = 0,
    settings: Sets = None,
    as_json: Json = False,
) -> None:
    """The effect of layers, heads and walks on validation accuracy, as bars with deviations."""
    from sanne.plot import matplotlib_figure
    from sanne_lab.experiments import figure3 as figure
    from sanne_lab.experiments.pool import fill
    from sanne_lab.experiments.result_files import DATASETS, SETTINGS

    matplotlib_figure()  # what is missing is said before anything is trained
    cells = figure.make_cells(
        recipe,
        dataset.split(",") if dataset else DATASETS,
        setting.split(",") if setting else SETTINGS,
        parameter.split(","),
        splits=splits,
        seed=seed,
        changes=parse_settings(settings),
    )
    with running(out, jobs, budget) as plan:
        errors = fill(cells, out, plan)
    found = figure.stored(cells, out)
    if found:
        say_paths(figure.draw(recipe, found, out), as_json)
    if errors:
        raise errors[0]


@reproduce_app.command()
def report(
    page: Annotated[Path, typer.Option(help="The page whose marked parts are written again.")] = Path(
        "docs/results.md"
    ),
    recipe: Recipe = "best",
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


def say_paths(paths: list[Path], as_json: bool) -> None:
    """Name the pictures that were written."""
    if as_json:
        print_json({"pictures": [str(path) for path in paths]})
        return
    for path in paths:
        notes.print(f"wrote {path}", markup=False)
