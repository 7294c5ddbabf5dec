"""Pictures as .png, .svg or .pdf: the map and the confusion matrix, without matplotlib's global state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import INK, NO_COLOUR, NO_LABEL, OTHER, PAPER, SOFT_INK, Colouring
from sanne.draw.picture import MapPicture
from sanne.draw.regions import Region
from sanne.errors import InputError, import_extra
from sanne.files.atomic import check_target, replaced_file

PICTURES = (".png", ".svg", ".pdf")
MAPS = (*PICTURES, ".html")
_REGION_SIZES = (11.0, 8.0)  # points, the letters of regions; the finest are for pages, where one can zoom
_NUDGES = (0, 1, -1, 2, -2)  # how far a name is moved to avoid overlap, in heights of its text
_HEIGHT, _LEGEND = 7.2, 2.7  # inches
_MOST = 30  # classes with their own row; the others share one
_WRITTEN = 15  # with more rows than this, shares are not written into the squares


def matplotlib_figure() -> Any:
    """The class of matplotlib's pictures, if it is installed."""
    return import_extra("matplotlib.figure", "plot", "a picture of the map", "matplotlib").Figure


def draw_picture(picture: MapPicture, path: Path) -> None:
    colouring, count = picture.colourings[0], len(picture.points)
    beside = _LEGEND if colouring.title or picture.new else 0.3
    spans = np.maximum(np.ptp(picture.points, axis=0), 1e-9)
    width = float(np.clip(0.88 * _HEIGHT * spans[0] / spans[1], 5.5, 10.5)) + beside
    figure = matplotlib_figure()(figsize=(width, _HEIGHT), dpi=160, facecolor=PAPER)
    axes = figure.add_axes((0.02, 0.02, 0.97 - beside / width, 0.88))
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    size = float(np.clip(40_000 / count, 2.2, 60))
    shades, fitted = colouring.hexes(), count - picture.new
    dense = {"rasterized": count > 20_000}
    axes.scatter(*picture.points[:fitted].T, s=size, c=shades[:fitted], alpha=0.75, linewidths=0, **dense)
    ring = {"edgecolors": INK, "linewidths": 0.6}
    axes.scatter(*picture.points[fitted:].T, s=max(1.3 * size, 9), c=shades[fitted:], **ring, **dense)
    height = 0.905 if picture.title else 0.945
    words = [
        figure.text(0.3 / width, 0.945, picture.title, fontsize=17, fontweight="bold", color=INK),
        figure.text(0.3 / width, height, picture.subtitle, fontsize=10.5, color=SOFT_INK),
    ]
    words += _add_legend(figure, picture, 1 - (beside - 0.1) / width) if beside == _LEGEND else []
    for word in words:
        word.set_parse_math(False)  # a label may hold a dollar sign
    _name_regions(figure, axes, picture.regions)
    no_date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    figure.savefig(path, metadata=no_date)


def legend_entries(picture: MapPicture) -> list[tuple[str, str]]:
    """Names and colours of a legend: the classes with a colour of their own, the others together."""
    colouring = picture.colourings[0]
    own, rest = len(colouring.light), len(colouring.classes) - len(colouring.light)
    entries = [] if colouring.kind == "number" else list(zip(colouring.classes[:own], colouring.light, strict=True))
    entries += [(f"other ({rest} classes)", OTHER)] if rest > 0 and colouring.kind == "class" else []
    if colouring.title and (colouring.codes == NO_COLOUR).any():
        entries.append((f"no {colouring.title}", NO_LABEL))
    return entries


def _add_legend(figure: Any, picture: MapPicture, left: float) -> list[Any]:
    from matplotlib.lines import Line2D

    colouring, entries = picture.colourings[0], legend_entries(picture)
    if colouring.kind == "number":
        _add_scale(figure, colouring, left)
    dots = [Line2D([], [], ls="", marker="o", ms=8, mfc=colour, mec="none") for _, colour in entries]
    if picture.new:
        dots.append(Line2D([], [], ls="", marker="o", ms=8, mfc="none", mec=INK, mew=1.2))
    names = [_short(name) for name, _ in entries] + (["new node"] if picture.new else [])
    place = (left, 0.16 if colouring.kind == "number" else 0.45)
    legend = figure.legend(
        dots, names, loc="center left", bbox_to_anchor=place, frameon=False, fontsize=10,
        labelcolor=INK, handletextpad=0.3, labelspacing=0.65 if len(names) < 15 else 0.4,
    )  # fmt: skip
    return list(legend.get_texts())


def _add_scale(figure: Any, colouring: Colouring, left: float) -> None:
    axes = figure.add_axes((left + 0.02, 0.3, 0.018, 0.4))
    shades = import_extra("matplotlib.colors", "plot", "a picture", "matplotlib").to_rgba_array(colouring.light)
    axes.imshow(shades[:, None], aspect="auto", origin="lower", extent=(0, 1, colouring.low, colouring.high))
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.set_title(_short(colouring.title), fontsize=10, color=INK, loc="left")
    axes.spines[:].set_visible(False)


def _name_regions(figure: Any, axes: Any, regions: list[Region]) -> None:
    """Write names where they do not overlap: the broad ones, then as many finer ones as there is room for."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.patheffects import withStroke

    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    frame, halo = axes.get_window_extent(renderer), [withStroke(linewidth=2.4, foreground=PAPER)]
    taken: list[Any] = []
    for region in regions:
        if region.level >= len(_REGION_SIZES):
            continue
        word = axes.text(
            region.x, region.y, region.name, fontsize=_REGION_SIZES[region.level], color=INK, ha="center", va="center",
            fontweight="bold" if region.level == 0 else "normal", path_effects=halo,
        )  # fmt: skip
        word.set_parse_math(False)
        there = word.get_window_extent(renderer).expanded(1.04, 1.25)
        aside = max(0, frame.x0 - there.x0) + min(0, frame.x1 - there.x1)
        boxes = (there.translated(aside, nudge * there.height) for nudge in _NUDGES)
        box = next((box for box in boxes if not any(box.overlaps(other) for other in taken)), None)
        if box is None:
            word.remove()
            continue
        taken.append(box)
        word.set_position(axes.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)))


def _short(name: str) -> str:
    shown = name if len(name) <= 24 else name[:23] + "…"
    return f" {shown}" if shown.startswith("_") else shown  # matplotlib hides names that start with "_"


def check_picture(path: Path, endings: Sequence[str] = PICTURES) -> None:
    """Refuse a file that could not be drawn; call it before any long work."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise InputError(f"cannot draw {path}: unknown ending {path.suffix!r}; use one of {', '.join(endings)}")
    check_target(path)
    if ending in PICTURES:
        matplotlib_figure()


def plot_confusion(counts: npt.ArrayLike, names: Sequence[Any], path: Path) -> None:
    """Draw a confusion matrix (true classes, predicted classes) as shares of each true class, largest first."""
    check_picture(path)
    shares, labels = _shares(np.asarray(counts), [str(name) for name in names])
    size = 2.6 + 0.32 * max(len(labels), 6)
    figure = matplotlib_figure()(figsize=(size + 1.2, size), dpi=160, facecolor=PAPER, layout="constrained")
    axes = figure.add_subplot()
    roots = import_extra("matplotlib.colors", "plot", "a picture", "matplotlib").PowerNorm(0.5, 0, 100)
    picture = axes.imshow(shares, cmap="Blues", norm=roots)  # so that a few percent of mistakes are seen
    axes.set_xticks(range(len(labels)), labels, rotation=90, color=INK, fontsize=8)
    axes.set_yticks(range(len(labels)), labels, color=INK, fontsize=8)
    axes.set_xlabel("predicted class", color=SOFT_INK)
    axes.set_ylabel("true class", color=SOFT_INK)
    if len(labels) <= _WRITTEN:
        for row, column in zip(*np.nonzero(shares >= 0.5), strict=True):
            colour = PAPER if shares[row, column] > 35 else INK
            axes.text(column, row, f"{shares[row, column]:.0f}", ha="center", va="center", color=colour, fontsize=8)
    figure.colorbar(picture, shrink=0.7, label="% of the true class")
    with replaced_file(path) as part:
        figure.savefig(part, format=path.suffix[1:].lower())


def _shares(counts: npt.NDArray[Any], names: list[str]) -> tuple[npt.NDArray[np.float64], list[str]]:
    """Percent of every true class, largest first; if there are many, rare ones are merged as `other`."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    counts, names = counts[order][:, order], [names[k] for k in order]
    if len(names) > _MOST:
        group = np.minimum(np.arange(len(names)), _MOST - 1)[:, None] == np.arange(_MOST)
        counts = group.T.astype(np.int64) @ counts @ group
        names = [*names[: _MOST - 1], f"{len(names) - _MOST + 1} others"]
    return 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), names
