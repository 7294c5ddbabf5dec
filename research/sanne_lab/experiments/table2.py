"""Table 2: test accuracy of every system on Cora, Citeseer and Pubmed, compared with SANNE and with the paper."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sanne_lab.experiments.cells import Cell
from sanne_lab.experiments.data import DATASETS, NUM_SPLITS, SETTINGS, FeaturesFrom
from sanne_lab.experiments.gone import GONE_RECIPES, shown
from sanne_lab.experiments.paper_figures import table2_figure
from sanne_lab.experiments.pool import Plan, fill
from sanne_lab.experiments.protocol import split_cell
from sanne_lab.experiments.records import Record, read_records, systems_in
from sanne_lab.experiments.significance import paired_t_test
from sanne_lab.experiments.summaries import sources_text, splits_source, tried_text
from sanne_lab.experiments.systems import make_grid, system_names
from sanne_lab.experiments.table_formats import Block, Figure, Value
from sanne_lab.paper.grid import Cell as PaperCell
from sanne_lab.paper.rows import CellRecord
from sanne_lab.paper.rows import rows as searched

NAME = "table2"
PAPER = "sanne-paper"  # searched over the paper's grid; its records are in a folder of their own
# The paper's order; then the systems that it names, then ours.
ORDER = (
    "deepwalk", "deepwalk-bow", "doc2vec", "ep-b", "sanne-paper", "sanne-fast", "sanne-best",
    *(f"sanne-{recipe}" for recipe in GONE_RECIPES),
    "gcn", "gat", "planetoid",
    "node2vec", "line", "graphsage", "sdne", "ddrw",
    "smoothed", "walk-mean", "dgi", "cca-ssg", "graphmae",
)  # fmt: skip
REFERENCES = ("sanne-best", "sanne-fast", "sanne-paper")  # what the others are compared with: the first that is there


@dataclass(frozen=True)
class Row:
    """A system on a dataset in a setting, over all splits."""

    model: str
    dataset: str
    setting: str
    recipe: str | None
    mean: float
    std: float
    splits: list[float]
    validation: float
    train_seconds: float  # mean over trainings
    trainings: int
    tried: int  # candidates, on the split with the fewest
    tried_most: int
    grid: int
    splits_source: str
    features_from: str
    seed: int
    paper: float | None
    paper_std: float | None
    against: str | None = None  # the SANNE that this is compared with
    p: float | None = None
    significant: bool = False
    error_reduction: float | None = None  # of SANNE over this system, percent

    @property
    def system(self) -> str:
        return self.model if self.recipe is None else f"{self.model}-{self.recipe}"

    @property
    def name(self) -> str:
        texts = " (all texts)" if self.setting == "inductive" and self.features_from == "all" else ""
        return self.system + texts

    @property
    def share(self) -> str:
        """How much of the grid was tried, in words."""
        return tried_text(self.tried, self.tried_most, self.grid)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


def chosen_systems(model: str, recipe: str) -> list[str]:
    """Names from a command line: by commas, `sanne` for the recipe's, `all` for every one."""
    names: list[str] = []
    for name in model.split(","):
        names += system_names() if name == "all" else [f"sanne-{recipe}" if name == "sanne" else name]
    for name in names:
        make_grid(name)  # refuses names that it does not know
    return sorted(dict.fromkeys(names), key=_place)


def make_cells(
    systems: Sequence[str],
    datasets: Sequence[str] = DATASETS,
    settings: Sequence[str] = SETTINGS,
    *,
    seed: int = 0,
    features_from: FeaturesFrom = "present",
    changes: dict[str, Any] | None = None,
) -> list[Cell]:
    """A cell for every dataset, setting and system; `changes` are settings of SANNE recipes."""
    return [
        split_cell(
            NAME, system, system, dataset, setting,
            settings=changes, seed=seed, features_from=features_from,
        )
        for dataset in datasets
        for setting in settings
        for system in systems
    ]  # fmt: skip


def searched_rows(datasets: Sequence[str], settings: Sequence[str], out: Path) -> tuple[list[Row], list[str]]:
    """SANNE by the paper's own protocol, as far as the search over its grid has come: complete rows, and other names.

    For newcomers there are two: Doc2Vec has seen all texts, as the paper's had, or only those of present nodes.
    """
    complete, incomplete = [], []
    for cell in searched_cells(datasets, settings, "all") + searched_cells(datasets, ["inductive"], "present"):
        if cell.setting not in settings:
            continue
        record = searched(cell, out / "paper")
        if record.mean is not None:
            complete.append(_searched_row(record))
        elif record.splits:
            incomplete.append(f"{PAPER}, {cell}")
    return complete, incomplete


def searched_cells(datasets: Sequence[str], settings: Sequence[str], texts: FeaturesFrom) -> list[PaperCell]:
    """The cells of the search over the paper's grid."""
    return [
        PaperCell(dataset, setting, texts="all" if setting == "transductive" else texts)  # type: ignore[arg-type]
        for dataset in datasets
        for setting in settings
    ]


def _searched_row(record: CellRecord) -> Row:
    assert record.mean is not None
    assert record.std is not None
    assert record.validation is not None
    return Row(
        model="sanne",
        dataset=record.dataset,
        setting=record.setting,
        recipe="paper",
        mean=record.mean,
        std=record.std,
        splits=[split.test for split in record.splits],
        validation=record.validation,
        train_seconds=round(3600 * record.hours / record.trainings, 2),
        trainings=record.trainings,
        tried=record.tried,
        tried_most=record.tried_most,
        grid=record.grid,
        splits_source="paper",
        features_from=record.texts,
        seed=0,
        paper=record.paper,
        paper_std=record.paper_std,
    )


def run_rows(
    cells: Sequence[Cell], out: Path, plan: Plan, others: Sequence[Row] = ()
) -> tuple[list[Row], list[Exception]]:
    """Run what is missing; the rows that are complete, `others` among them, and the errors of those that are not."""
    errors = fill(cells, out, plan)
    stored = read_records(out, NAME)
    found = [[stored[key] for number in cell.numbers if (key := cell.key(number)) in stored] for cell in cells]
    rows = [*(summarise(records) for records in found if len(records) == NUM_SPLITS), *others]
    return compared(sorted(rows, key=_row_place)), errors


def load(out: Path) -> list[Row]:
    """Every complete row."""
    return stored_rows(out)[0]


def stored_rows(out: Path) -> tuple[list[Row], list[str]]:
    """Every complete row of a folder, and the names of those that are not complete."""
    complete, incomplete = searched_rows(DATASETS, SETTINGS, out)
    for dataset in DATASETS:
        for setting in SETTINGS:
            for records in systems_in(out, NAME, [dataset], ORDER, setting):
                if len(records) == NUM_SPLITS:
                    complete.append(summarise(records))
                else:
                    incomplete.append(f"{records[0]['system']}, {dataset}, {setting}")
    return compared(sorted(complete, key=_row_place)), incomplete


def summarise(records: Sequence[Record]) -> Row:
    """A row of the table from the records of its splits."""
    first = records[0]
    parts = [record["parts"]["split"] for record in records]
    tests = [float(part["test"]) for part in parts]
    seconds = [float(record["candidates"][0]["seconds"]) for record in records]
    paper = table2_figure(first["system"], first["dataset"], first["setting"]) or (None, None)
    is_sanne = first["system"].startswith("sanne-")
    tried = [int(record["tried"]) for record in records]
    return Row(
        model="sanne" if is_sanne else first["system"],
        dataset=first["dataset"],
        setting=first["setting"],
        recipe=first["system"].removeprefix("sanne-") if is_sanne else None,
        mean=round(float(np.mean(tests)), 2),
        std=round(float(np.std(tests)), 2),
        splits=tests,
        validation=round(float(np.mean([part["val"] for part in parts])), 2),
        train_seconds=round(float(np.mean(seconds)), 2),
        trainings=1 if first["setting"] == "transductive" and parts[0]["C"] is not None else len(records),
        tried=min(tried),
        tried_most=max(tried),
        grid=max(int(record["grid"]) for record in records),
        splits_source=splits_source(records),
        features_from=first["features_from"],
        seed=first["seed"],
        paper=paper[0],
        paper_std=paper[1],
    )


def compared(rows: Sequence[Row]) -> list[Row]:
    """Each row against the SANNE of its column on the same splits: t-test and relative error reduction."""
    found = []
    for row in rows:
        column = {r.system: r for r in rows if _column(r) == _column(row)}
        sanne = next((column[name] for name in REFERENCES if name in column), None)
        if sanne is None or sanne is row or sanne.splits_source != row.splits_source:
            found.append(row)
            continue
        p = paired_t_test(row.splits, sanne.splits).p
        ours, theirs = 100 - sanne.mean, 100 - row.mean
        reduction = round(100 * (theirs - ours) / theirs, 1) if theirs else None
        found.append(replace(row, against=sanne.name, p=round(p, 6), significant=p < 0.05, error_reduction=reduction))
    return found


def blocks(rows: Sequence[Row]) -> list[Block]:
    """The accuracies, a table for each setting, our figures beside the paper's; then the details."""
    tables = [_accuracies([row for row in rows if row.setting == s], s) for s in SETTINGS if _has(rows, s)]
    return [*tables, _details(rows)]


def notes(rows: Sequence[Row]) -> list[str]:
    """What the marks of the table mean, and which splits it comes from."""
    source = sources_text(row.splits_source for row in rows)
    against = ", ".join(dict.fromkeys(row.against for row in rows if row.against))
    lines = [
        f"Mean test accuracy in percent and standard deviation over {NUM_SPLITS} splits ({source}). Best of a column "
        "bold, second underlined. *paper*: the figure printed there. *tried*: candidates of the grid that were tried, "
        "chosen per split on validation.",
    ]
    if against:
        lines.append(
            f"\\*: p < 0.05 in a two-tailed paired t-test against {against}. Small: the relative error reduction of "
            f"{against} over the system, percent."
        )
    return lines


def rows(found: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows for a CSV file: one line for each system, dataset and setting."""
    ranks = _ranks(found)
    return [
        {"system": row.name, "dataset": row.dataset, "setting": row.setting, "rank": ranks[index]}
        | {k: v for k, v in row.to_dict().items() if k not in ("model", "recipe", "dataset", "setting", "splits")}
        | {f"split_{number}": value for number, value in enumerate(row.splits)}
        for index, row in enumerate(found)
    ]


def _accuracies(rows: Sequence[Row], setting: str) -> Block:
    ranks = _ranks(rows)
    cells = {(row.name, row.dataset): (row, rank) for row, rank in zip(rows, ranks, strict=True)}
    datasets = [name for name in DATASETS if any(row.dataset == name for row in rows)]
    table: list[list[Value]] = []
    for name in sorted(dict.fromkeys(row.name for row in rows), key=_place):
        line: list[Value] = [shown(name)]
        shares = []
        for dataset in datasets:
            row, rank = cells.get((name, dataset), (None, 0))
            if row is None:
                line += [None, None]
                continue
            shares.append(row.share)
            line.append(Figure(row.mean, row.std, rank, row.significant, row.error_reduction))
            line.append(None if row.paper is None else f"{row.paper:.2f} ± {row.paper_std:.2f}")
        table.append([*line, "; ".join(dict.fromkeys(shares))])
    headers = ["", *(title for name in datasets for title in (name.capitalize(), "paper")), "tried"]
    return Block(setting.capitalize(), headers, table)


def _details(rows: Sequence[Row]) -> Block:
    headers = (
        "", "dataset", "setting", "validation", "seconds a training", "trainings", "tried", "splits", "features from",
        "seed",
    )  # fmt: skip
    lines: list[list[Value]] = [
        [
            shown(row.name), row.dataset, row.setting, f"{row.validation:.2f}", f"{row.train_seconds:.1f}",
            str(row.trainings), row.share, row.splits_source, row.features_from, str(row.seed),
        ]
        for row in rows
    ]  # fmt: skip
    return Block("Details", headers, lines)


def _ranks(rows: Sequence[Row]) -> list[int]:
    """1 for the best of a column, 2 for the second best, else 0."""
    ranks = []
    for row in rows:
        means = sorted({r.mean for r in rows if (r.dataset, r.setting) == (row.dataset, row.setting)}, reverse=True)
        place = means.index(row.mean) + 1
        ranks.append(place if place <= 2 else 0)
    return ranks


def _column(row: Row) -> tuple[str, str, str]:
    return row.dataset, row.setting, row.features_from


def _has(rows: Sequence[Row], setting: str) -> bool:
    return any(row.setting == setting for row in rows)


def _row_place(row: Row) -> tuple[int, int, int, bool]:
    """Where a row stands among all."""
    column = DATASETS.index(row.dataset), SETTINGS.index(row.setting)
    return *column, _place(row.system), row.features_from == "all"


def _place(name: str) -> int:
    """Where a system stands in the table; unknown ones last."""
    base = name.split(" ")[0]
    return ORDER.index(base) if base in ORDER else len(ORDER)
