"""Figure 3: the effect of the number of layers, heads and walks on validation accuracy, as bars with deviations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sanne.draw.colours import INK, PALETTE, PAPER, SOFT_INK
from sanne.draw.image import matplotlib_figure
from sanne_lab.experiments.data import DATASETS, SETTINGS
from sanne_lab.experiments.gone import shown
from sanne_lab.experiments.paper_figures import FIGURE3
from sanne_lab.experiments.pictures import save_picture
from sanne_lab.experiments.validation import Validation, of_files, of_search, splits_text
from sanne_lab.paper.grid import Cell
from sanne_lab.paper.records import read
from sanne_lab.paper.rows import by_value

# The paper's symbols, what they are called here, and its values.
AXES: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "K": ("num_layers", "attention layers", (2, 4, 8)),
    "H": ("num_heads", "attention heads", (4, 8, 16)),
    "T": ("num_walks", "walks a node", (16, 32, 64, 128)),
}


def load(recipe: str, out: Path) -> list[Validation]:
    """What is known of a recipe, `paper` or one that is gone, where each setting is held at each of its values."""
    return [one for dataset in DATASETS for setting in SETTINGS for one in _column(recipe, dataset, setting, out)]


def _column(recipe: str, dataset: str, setting: str, out: Path) -> Iterator[Validation]:
    cell = Cell(dataset, setting)  # type: ignore[arg-type]  # checked there
    epochs = read(out / "paper", cell) if recipe == "paper" else []
    for symbol, (axis, _, values) in AXES.items():
        held = by_value(cell, epochs, axis)
        for value in values:
            label = f"sanne-{recipe}-{symbol}{value}"
            if recipe != "paper":
                one = of_files(label, "figure3", dataset, setting, out)
            else:
                one = of_search(label, held[value]) if value in held else None
            if one is not None:
                yield one


def draw(recipe: str, found: Sequence[Validation], out: Path) -> list[Path]:
    """Draw figure3-RECIPE.png and .svg: a panel for each hyper-parameter and setting."""
    points: _Points = {(one.setting, one.dataset, one.label.removeprefix(f"sanne-{recipe}-")): one for one in found}
    settings = [setting for setting in SETTINGS if any(one.setting == setting for one in found)]
    symbols = [symbol for symbol in AXES if any(key[2].startswith(symbol) for key in points)]
    width, height = 5.6 * len(settings) + 0.6, 2.9 * len(symbols) + 1.7
    figure = matplotlib_figure()(figsize=(width, height), dpi=140, facecolor=PAPER)
    panels = figure.subplots(len(symbols), len(settings), squeeze=False, sharey="col")
    for column, setting in enumerate(settings):
        panels[0][column].set_title(setting.capitalize(), fontsize=11, color=INK)
        for row, symbol in enumerate(symbols):
            _draw_panel(panels[row][column], symbol, setting, points)
        _set_limits(panels[0][column], [one for one in found if one.setting == setting])
    _add_words(figure, recipe, symbols, list(found))
    figure.subplots_adjust(
        left=0.5 / width, right=0.985, top=1 - 1.35 / height, bottom=0.75 / height, hspace=0.3, wspace=0.12
    )
    return save_picture(figure, out, f"figure3-{recipe}")


_Points = dict[tuple[str, str, str], Validation]  # by setting, dataset, and symbol with value


def _draw_panel(axes: Any, symbol: str, setting: str, points: _Points) -> None:
    """Bars of every dataset beside each other for every value; the paper's means as diamonds."""
    datasets = [name for name in DATASETS if any(key[1] == name for key in points)]
    values = AXES[symbol][2]
    width = 0.8 / len(datasets)
    for place, dataset in enumerate(datasets):
        for x, value in enumerate(values):
            one = points.get((setting, dataset, f"{symbol}{value}"))
            if one is None:
                continue
            at = x + (place - (len(datasets) - 1) / 2) * width
            error = {"ecolor": INK, "elinewidth": 0.9, "capsize": 2.5}
            axes.bar(at, one.mean, 0.92 * width, yerr=one.std, color=_colour(dataset), error_kw=error)
            axes.text(at, one.mean + one.std + 0.4, f"{one.mean:.1f}", ha="center", fontsize=7.5, color=INK)
            printed = FIGURE3[setting].get(symbol, {}).get(value)
            if printed is not None:
                mark = {"marker": "D", "s": 16, "facecolor": PAPER, "edgecolor": INK, "lw": 0.9, "zorder": 3}
                axes.scatter(at, printed[dataset][0], **mark)
    axes.set_xticks(range(len(values)), [f"{symbol} = {value}" for value in values])
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.yaxis.set_major_locator(_every_five())
    axes.tick_params(labelsize=9, colors=INK, length=0)
    axes.spines[["top", "right"]].set_visible(False)


def _every_five() -> Any:
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(5)


def _set_limits(axes: Any, found: Sequence[Validation]) -> None:
    """One scale for all panels of a setting; the paper's means are inside."""
    symbols = FIGURE3[found[0].setting].values()
    datasets = {one.dataset for one in found}
    printed = [row[dataset][0] for values in symbols for row in values.values() for dataset in datasets]
    low = min([one.mean - one.std for one in found] + printed)
    axes.set_ylim(5 * np.floor(low / 5 - 0.4), max(one.mean + one.std for one in found) + 2.5)


def _add_words(figure: Any, recipe: str, symbols: Sequence[str], found: list[Validation]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    inch = 1 / figure.get_size_inches()[1]
    left = 0.2 / figure.get_size_inches()[0]
    meanings = ", ".join(f"{symbol}: {AXES[symbol][1]}" for symbol in symbols)
    shares = "; ".join(dict.fromkeys(one.share for one in found))
    title = f"Effect of {', '.join(symbols)} on {shown(f'sanne-{recipe}')}"
    figure.text(left, 1 - 0.35 * inch, title, fontsize=14, fontweight="bold", color=INK)
    lines = (
        f"Validation accuracy, %: mean and deviation over {splits_text(found)}",
        f"{meanings}; candidates tried: {shares}; bars do not start at 0",
    )
    for number, line in enumerate(lines):
        figure.text(left, 1 - (0.6 + 0.2 * number) * inch, line, fontsize=9, color=SOFT_INK)
    datasets = [name for name in DATASETS if any(one.dataset == name for one in found)]
    handles: list[Any] = [Patch(color=_colour(name), label=name.capitalize()) for name in datasets]
    handles.append(Line2D([], [], ls="", marker="D", ms=4.5, mfc=PAPER, mec=INK, label="mean in the paper"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=9.5, labelcolor=INK)


def _colour(dataset: str) -> str:
    return PALETTE[DATASETS.index(dataset)]
