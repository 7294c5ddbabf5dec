"""Figure 3: the effect of the number of layers, heads and walks on validation accuracy, as bars with deviations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import recipe_config
from sanne.errors import InputError
from sanne.experiments.paper_figures import FIGURE3
from sanne.experiments.pictures import save_picture
from sanne.experiments.result_files import DATASETS, SETTINGS, Cell
from sanne.experiments.validation import Measured, measured, splits_text
from sanne.plot import INK, PALETTE, PAPER, SOFT_INK, matplotlib_figure

# The paper's symbols, what they are called here, and its values.
AXES: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "K": ("num_layers", "attention layers", (2, 4, 8)),
    "H": ("num_heads", "attention heads", (4, 8, 16)),
    "T": ("num_walks", "walks a node", (16, 32, 64, 128)),
}


def make_cells(
    recipe: str,
    datasets: Sequence[str] = DATASETS,
    settings: Sequence[str] = SETTINGS,
    symbols: Sequence[str] = tuple(AXES),
    *,
    splits: int | None = None,
    seed: int = 0,
    changes: dict[str, Any] | None = None,
) -> list[Cell]:
    """A cell for every dataset, setting and value; what else the grid holds is tuned as far as a budget allows."""
    unknown = sorted(set(symbols) - set(AXES))
    if unknown:
        raise InputError(f"figure 3 has no parameter {unknown[0]!r}: choose from {', '.join(AXES)}")
    return [
        Cell(
            "figure3", f"sanne-{recipe}-{symbol}{value}", f"sanne-{recipe}", dataset, setting,  # type: ignore[arg-type]
            (changes or {}) | _change(recipe, symbol, value), seed, splits=splits,
        )
        for dataset in datasets
        for setting in settings
        for symbol in symbols
        for value in AXES[symbol][2]
    ]  # fmt: skip


def _change(recipe: str, symbol: str, value: int) -> dict[str, Any]:
    """The settings of a point. Where a recipe counts steps instead of walks, T walks a node are all of its training."""
    change = {AXES[symbol][0]: value}
    if symbol == "T" and recipe_config(recipe).train.steps_per_epoch:
        change |= {"epochs": 1, "steps_per_epoch": 0}
    return change


def stored(cells: Sequence[Cell], out: Path) -> list[Measured]:
    """What the files hold about cells."""
    return [one for cell in cells if (one := measured(cell, out)) is not None]


def draw(recipe: str, found: Sequence[Measured], out: Path) -> list[Path]:
    """Draw figure3.png and figure3.svg: a panel for each hyper-parameter and setting."""
    points: dict[tuple[str, str, str], Measured] = {
        (one.setting, one.dataset, one.label.removeprefix(f"sanne-{recipe}-")): one for one in found
    }
    settings = [setting for setting in SETTINGS if any(one.setting == setting for one in found)]
    symbols = [symbol for symbol in AXES if any(key[2].startswith(symbol) for key in points)]
    figure = matplotlib_figure()(
        figsize=(5.6 * len(settings) + 0.4, 2.9 * len(symbols) + 1.3), dpi=140, facecolor=PAPER
    )
    panels = figure.subplots(len(symbols), len(settings), squeeze=False)
    for row, symbol in enumerate(symbols):
        for column, setting in enumerate(settings):
            _draw_panel(panels[row][column], symbol, setting, points)
    _add_words(figure, panels, recipe, list(found))
    return save_picture(figure, out, "figure3")


def _draw_panel(axes: Any, symbol: str, setting: str, points: dict[tuple[str, str, str], Measured]) -> None:
    """Bars of every dataset beside each other for every value; the paper's means as diamonds."""
    values = AXES[symbol][2]
    width = 0.8 / len(DATASETS)
    edges = []
    for place, dataset in enumerate(DATASETS):
        shown = [(x, points.get((setting, dataset, f"{symbol}{value}"))) for x, value in enumerate(values)]
        bars = [(x + (place - 1) * width, one) for x, one in shown if one is not None]
        if not bars:
            continue
        at, means, deviations = [x for x, _ in bars], [one.mean for _, one in bars], [one.std for _, one in bars]
        error = {"ecolor": INK, "elinewidth": 0.9, "capsize": 2.5}
        axes.bar(at, means, 0.92 * width, yerr=deviations, color=PALETTE[place], error_kw=error)
        for x, mean, deviation in zip(at, means, deviations, strict=True):
            axes.text(x, mean + deviation + 0.5, f"{mean:.1f}", ha="center", fontsize=7.5, color=INK)
        printed = FIGURE3[setting].get(symbol, {})
        paper = [(x + (place - 1) * width, printed[values[x]][dataset][0]) for x, one in shown if one and printed]
        if paper:
            axes.scatter(*zip(*paper, strict=True), marker="D", s=16, facecolor=PAPER, edgecolor=INK, lw=0.9, zorder=3)
        edges += [mean - deviation for mean, deviation in zip(means, deviations, strict=True)]
        edges += [mean + deviation + 2 for mean, deviation in zip(means, deviations, strict=True)]
        edges += [mean for _, mean in paper]
    if edges:
        axes.set_ylim(5 * np.floor(min(edges) / 5 - 0.4), max(edges) + 0.5)
    axes.set_xticks(range(len(values)), [f"{symbol} = {value}" for value in values])
    axes.tick_params(labelsize=9, colors=INK, length=0)
    axes.spines[["top", "right"]].set_visible(False)


def _add_words(figure: Any, panels: Any, recipe: str, found: list[Measured]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shares = "; ".join(dict.fromkeys(one.share for one in found))
    figure.suptitle(
        f"Effect of layers (K), heads (H) and walks a node (T): sanne-{recipe}",
        x=0.02, y=0.985, ha="left", va="top", fontsize=14, fontweight="bold", color=INK,
    )  # fmt: skip
    height = figure.get_size_inches()[1]
    figure.text(
        0.02, 1 - 0.47 / height,
        f"Validation accuracy, %: mean and deviation over {splits_text(found)}; candidates tried: {shares}",
        fontsize=9.5, color=SOFT_INK, va="top",
    )  # fmt: skip
    for axes, setting in zip(panels[0], [s for s in SETTINGS if any(o.setting == s for o in found)], strict=True):
        axes.set_title(setting.capitalize(), fontsize=11, color=INK)
    handles: list[Any] = [Patch(color=PALETTE[place], label=name.capitalize()) for place, name in enumerate(DATASETS)]
    if any(one.setting in FIGURE3 for one in found):
        handles.append(Line2D([], [], ls="", marker="D", ms=4.5, mfc=PAPER, mec=INK, label="mean in the paper"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=9.5, labelcolor=INK)
    figure.subplots_adjust(
        left=0.45 / figure.get_size_inches()[0], right=0.985, top=1 - 1.05 / height, bottom=0.7 / height,
        hspace=0.3, wspace=0.12,
    )  # fmt: skip
