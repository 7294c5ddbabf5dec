"""SANNE by the paper's own protocol: the six figures that it prints, ours beside them, and what they took."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sanne.draw.colours import INK, PALETTE, PAPER, SOFT_INK
from sanne.draw.image import matplotlib_figure
from sanne_lab.experiments.data import DATASETS, SETTINGS
from sanne_lab.experiments.pictures import save_picture
from sanne_lab.experiments.summaries import tried_text
from sanne_lab.experiments.table_formats import Block, Figure, Value
from sanne_lab.paper.grid import Cell
from sanne_lab.paper.records import read
from sanne_lab.paper.rows import CellRecord, curve, rows

CELLS = tuple(Cell(dataset, setting) for setting in SETTINGS for dataset in DATASETS)  # type: ignore[arg-type]
STRICT = tuple(Cell(dataset, "inductive", texts="present") for dataset in DATASETS)  # type: ignore[arg-type]


def load(out: Path) -> list[CellRecord]:
    """What the search has come to in every cell that it has begun."""
    found = [rows(cell, out / "paper") for cell in (*CELLS, *STRICT)]
    return [record for record in found if record.splits]


def blocks(found: Sequence[CellRecord]) -> list[Block]:
    """One table: a line for each figure of the paper, and for each of our strict variant."""
    headers = ["", "paper", "here", "validation", "best epochs", "grid points", "variants", "epochs", "hours"]
    return [Block("", headers, [_line(record) for record in found])]


def _line(record: CellRecord) -> list[Value]:
    strict = record.texts == "present"
    name = record.dataset.capitalize() + (", newcomers" if record.setting == "inductive" else "")
    here: Value = Figure(record.mean, record.std) if record.mean is not None and record.std is not None else None
    epochs = sorted({split.epoch for split in record.splits})
    return [
        name + (", texts unseen" if strict else ""),
        None if strict else f"{record.paper:.2f} ± {record.paper_std:.2f}",
        here or f"{len(record.splits)} split{'s' if len(record.splits) > 1 else ''} only",
        None if record.validation is None else f"{record.validation:.2f}",
        f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}",
        tried_text(record.tried or 1, record.tried_most, record.grid),
        str(record.variants),
        str(record.epochs),
        f"{record.hours:.2f}",
    ]


def notes(found: Sequence[CellRecord]) -> list[str]:
    """What the columns are."""
    return [
        "Test accuracy in percent, mean and standard deviation over the paper's ten splits; the epoch and candidate of "
        "each split are chosen on validation. *variants*: ways in which what the paper leaves out was filled in. "
        "*epochs* of all trainings, and *hours* of one processor that they took. *texts unseen*: Doc2Vec has not seen "
        "the texts of the newcomers, as it has in the paper."
    ]


def draw(out: Path, folder: Path) -> list[Path]:
    """Draw paper.png and paper.svg: validation over the epochs of every candidate, a panel for each cell."""
    figure = matplotlib_figure()(figsize=(11.4, 6.6), dpi=140, facecolor=PAPER)
    panels = figure.subplots(len(SETTINGS), len(DATASETS), squeeze=False)
    for number, cell in enumerate(CELLS):
        axes = panels[number // len(DATASETS)][number % len(DATASETS)]
        _draw_panel(axes, cell, curve(cell, read(out / "paper", cell)), rows(cell, out / "paper"))
    left = 0.2 / figure.get_size_inches()[0]
    title = "Validation accuracy over epochs, every candidate of the paper's grid that was tried"
    figure.text(left, 0.955, title, fontsize=14, fontweight="bold", color=INK)
    words = "Mean over the splits that a candidate was trained on, by the number of walks from each node (T an epoch)"
    figure.text(left, 0.92, words, fontsize=9, color=SOFT_INK)
    figure.subplots_adjust(left=0.05, right=0.985, top=0.86, bottom=0.07, hspace=0.32, wspace=0.16)
    return save_picture(figure, folder, "paper")


def _draw_panel(axes: Any, cell: Cell, lines: Sequence[dict[str, Any]], record: CellRecord) -> None:
    axes.set_title(f"{cell.dataset.capitalize()}, {cell.setting}", fontsize=10, color=INK)
    for place, key in enumerate(dict.fromkeys(line["key"] for line in lines)):
        mine = [line for line in lines if line["key"] == key]
        walks = [line["walks"] for line in mine]
        style = {"color": PALETTE[place % len(PALETTE)], "lw": 1.2, "marker": "o", "ms": 3}
        axes.plot(walks, [line["validation"] for line in mine], **style)
    if record.paper_validation is not None:
        axes.axhline(record.paper_validation, color=INK, lw=0.9, ls="--")
        where: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate("paper", (1, record.paper_validation), **where, fontsize=8, color=INK)
    if not lines:
        axes.text(0.5, 0.5, "nothing trained", ha="center", transform=axes.transAxes, fontsize=9, color=SOFT_INK)
        axes.set_axis_off()
        return
    axes.set_xlim(0, 1.1 * max(line["walks"] for line in lines))
    axes.tick_params(labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
