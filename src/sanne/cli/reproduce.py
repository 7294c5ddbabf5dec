"""`sanne reproduce`: the tables and figures of the paper, from result files that are filled as far as they are not."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sanne.cli.options import Json, Seed, Sets, notes, parse_settings, print_json
from sanne.cli.progress import Display

if TYPE_CHECKING:
    from sanne.experiments.pool import Plan

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
def _running(out: Path, jobs: int, budget: float | None) -> Iterator["Plan"]:
    """A plan whose news are shown; Ctrl-C leaves a word about what is kept."""
    from sanne.experiments.pool import Plan

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
    from sanne.experiments import table2 as table
    from sanne.experiments.result_files import DATASETS, SETTINGS
    from sanne.experiments.table_formats import markdown, write_tables

    cells = table.make_cells(
        table.chosen_systems(model, recipe),
        dataset.split(",") if dataset else DATASETS,
        setting.split(",") if setting else SETTINGS,
        seed=seed,
        features_from=features_from,
        changes=parse_settings(settings),
    )
    with _running(out, jobs, budget) as plan:
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
