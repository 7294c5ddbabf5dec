"""Does uncertainty mean anything? Accuracy of newcomers by quarters of it, and of what is known anyway."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import INK, PALETTE, PAPER, SOFT_INK
from sanne.draw.image import matplotlib_figure
from sanne_lab.experiments import newcomers
from sanne_lab.experiments.confidence import accuracy_by_quarter, error_auc
from sanne_lab.experiments.gone import shown
from sanne_lab.experiments.newcomers import DATASETS, Newcomers, make_cells
from sanne_lab.experiments.pictures import save_picture
from sanne_lab.experiments.summaries import Column, figures_block, records
from sanne_lab.experiments.table_formats import Block, Figure, Value

__all__ = ["DATASETS", "NAME", "SYSTEMS", "blocks", "draw", "load", "make_cells", "notes", "rows"]

NAME = "spread"
SYSTEMS = ("sanne",)  # that of the recipe
QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
# What is taken as a sign of error, the larger the worse, and what it is.
MEASURES = {
    "spread": "the standard error of a vector over its walks",
    "uncertainty": "one minus the largest share that a clustering gives the node, mean over clusterings",
    "few neighbours": "0, 1, 2 or 3 and more that were there before",
    "classifier's uncertainty": "what the logistic regression says, which has seen labels",
}


def load(out: Path, recipe: str) -> list[list[Newcomers]]:
    """The newcomers of a recipe, a list for each dataset."""
    return [results for results in newcomers.load(out) if results[0].system == f"sanne-{recipe}"]


def signs(one: Newcomers) -> dict[str, npt.NDArray[np.float64]]:
    """The measures of one split, those that it has."""
    known = -np.minimum(one.known, 3).astype(np.float64)
    certainty = None if one.certainty is None else -one.certainty
    values = dict(zip(MEASURES, (one.spread, one.uncertainty, known, certainty), strict=True))
    return {name: value for name, value in values.items() if value is not None}


def columns(results: Sequence[Newcomers], measure: str) -> list[Column]:
    """AUC against error, for each split that has errors, then the accuracy in each quarter, for each split."""
    values = [(one.correct, signs(one)[measure]) for one in results]
    quarters = np.array([accuracy_by_quarter(correct, value) for correct, value in values])
    aucs = [100 * error_auc(correct, value) for correct, value in values if 0 < correct.sum() < len(correct)]
    return [("AUC", aucs), *((name, quarters[:, index].tolist()) for index, name in enumerate(QUARTERS))]


def blocks(found: Sequence[Sequence[Newcomers]]) -> list[Block]:
    """A table for each dataset."""
    tables = []
    for results in found:
        lines = [(measure, columns(results, measure)) for measure in signs(results[0])]
        block = figures_block(
            f"{results[0].dataset.capitalize()}: {shown(results[0].system)}", "a sign of error", lines
        )
        tables.append(_without_ranks(block))
    return tables


def _without_ranks(block: Block) -> Block:
    """A small accuracy in the last quarter is as good a sign as a large one in the first: nothing is best."""
    rows = [[row[0], *map(_plainly, row[1:])] for row in block.rows]
    return Block(block.title, block.headers, rows)


def _plainly(value: Value) -> Value:
    return f"{value.mean:.1f} ± {value.std:.1f}" if isinstance(value, Figure) else value


def notes(found: Sequence[Sequence[Newcomers]]) -> list[str]:
    """How the figures came about."""
    splits = max(len(results) for results in found)
    return [
        "Newcomers of the strict inductive setting, put in four quarters by a number that may tell which of them will "
        "be classified wrongly: accuracy in percent in each quarter, from the smallest number to the largest, and how "
        "well the number tells wrong from right (AUC times 100: 50 says nothing). Mean and deviation over "
        f"{splits} splits. " + " ".join(f"*{name}*: {MEASURES[name]}." for name in signs(found[0][0]))
    ]


def rows(found: Sequence[Sequence[Newcomers]]) -> list[dict[str, Any]]:
    """Lines of a CSV file."""
    return [
        records(
            {"system": results[0].system, "dataset": results[0].dataset, "measure": measure, "splits": len(results)},
            columns(results, measure),
        )
        for results in found
        for measure in signs(results[0])
    ]


def draw(found: Sequence[Sequence[Newcomers]], folder: Path) -> list[Path]:
    """Draw spread.png and spread.svg: accuracy by quarters, a panel for each dataset."""
    drawn = [name for name in ("spread", "uncertainty") if name in signs(found[0][0])]
    figure = matplotlib_figure()(figsize=(1.2 + 3.9 * len(found), 4.6), dpi=140, facecolor=PAPER)
    panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for axes, results in zip(panels, found, strict=True):
        _draw_panel(axes, results, drawn)
    panels[0].set_ylabel("accuracy of newcomers, %", color=INK)
    system, splits = shown(found[0][0].system), max(len(results) for results in found)
    title = f"Who is wrong? Accuracy by {' and by '.join(drawn)}"
    figure.text(0.02, 0.94, title, fontsize=14, fontweight="bold", color=INK)
    facts = f"{system} · {splits} splits, strictly inductive · dotted: all newcomers"
    figure.text(0.02, 0.885, facts, fontsize=9.5, color=SOFT_INK)
    panels[-1].legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper right")
    figure.subplots_adjust(left=0.085 if len(found) > 1 else 0.16, right=0.99, top=0.78, bottom=0.15, wspace=0.06)
    return save_picture(figure, folder, NAME)


def _draw_panel(axes: Any, results: Sequence[Newcomers], drawn: Sequence[str]) -> None:
    places = np.arange(4)
    overall = float(np.mean([100 * one.correct.mean() for one in results]))
    axes.axhline(overall, color=SOFT_INK, lw=0.8, ls=":", zorder=0)
    signs_of_error: list[str] = []
    for index, measure in enumerate(drawn):
        (_, aucs), *quarters = columns(results, measure)
        means, deviations = zip(*((np.mean(values), np.std(values)) for _, values in quarters), strict=True)
        shift = 0.38 * (index - (len(drawn) - 1) / 2)
        axes.bar(
            places + shift, means, 0.36, yerr=deviations, color=PALETTE[index], ecolor=SOFT_INK,
            label=measure, error_kw={"lw": 0.9},
        )  # fmt: skip
        signs_of_error.append(f"{measure} {np.mean(aucs):.0f}" if aucs else measure)
    title = f"{results[0].dataset.capitalize()} (AUC: {', '.join(signs_of_error)})"
    axes.set_title(title, fontsize=10.5, color=INK)
    axes.set_facecolor(PAPER)
    axes.set_xticks(places, ["smallest\nquarter", "2nd", "3rd", "largest\nquarter"], fontsize=8.5, color=INK)
    axes.tick_params(colors=SOFT_INK, labelcolor=INK, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_ylim(0, 112)
    axes.set_yticks(range(0, 101, 20))
