"""A map of vectors: two dimensions by t-SNE or PCA, drawn as a picture or as an interactive page."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.draw.colours import INK, NO_COLOUR, NO_LABEL, OTHER, PAPER, SOFT_INK, Colouring, colour_by, plain
from sanne.draw.reduce import FEWEST, PrincipalAxes, first_two, tsne_package, tsne_points
from sanne.draw.regions import Region, find_levels, find_regions, region_names
from sanne.errors import InputError, MissingExtraError, import_extra
from sanne.files.atomic import check_target, replaced_file
from sanne.seeds import numpy_stream

logger = logging.getLogger(__name__)

Method = Literal["auto", "tsne", "pca"]
Points = npt.NDArray[np.float64]  # (n, 2)

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (*PICTURES, ".html")
COMMUNITY = "community"  # colours by broad region
_TSNE_AT_MOST = 100_000  # points; above, it takes too long
_SMALLEST_WORDS = 6.5  # points, the letters of the finest regions
_REGION_SIZES = (10.5, 8.0, _SMALLEST_WORDS)


@dataclass(frozen=True, eq=False)
class MapPicture:
    """What is drawn. New nodes come last."""

    points: Points
    ids: list[Any]
    colourings: list[Colouring]  # the first is shown
    regions: list[Region]
    new: int  # how many of the points are new nodes
    title: str
    subtitle: str
    method: Literal["tsne", "pca"]
    texts: Sequence[Any] | None = None
    links: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None  # CSR of the points


def check_picture(path: str | Path) -> Path:
    """Refuse a file that `plot_map` could not write; call it before any long work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw {path}: unknown ending {target.suffix!r}; use one of {', '.join(ENDINGS)}")
    check_target(target)
    if target.suffix.lower() != ".html":
        matplotlib_figure()
    return target


def plot_map(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike | None,
    path: str | Path,
    *,
    color: str | None = None,
    columns: Mapping[str, npt.ArrayLike] | None = None,
    regions: bool = True,
    method: Method = "auto",
    new: npt.ArrayLike | None = None,
    node_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    texts: Sequence[Any] | npt.NDArray[Any] | None = None,
    links: Any = None,
    title: str | None = None,
    seed: int = 0,
) -> None:
    """Draw (n, dim) vectors as a map: a .png, .svg or .pdf picture, or an .html page that works offline.

    Points are coloured by `color`: "label", "community" or one of the `columns`, where None, NaN, "" and -1 stand for
    no value. Regions are named by words of the `texts`, else by labels or ids. `new` marks new nodes, which get a dark
    ring. The page offers all colourings, shows texts, and links if the (n, n) scipy matrix is given.

    >>> plot_map(model.embedding_, graph.labels, "map.png", texts=graph.texts, title="Cora")
    """
    target = check_picture(path)
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        raise InputError(f"a map needs finite vectors, (nodes, dim), not an array of shape {rows.shape}")
    given = {"label": labels, **(columns or {})}
    for name, value in (*given.items(), ("new", new), ("node_ids", node_ids), ("texts", texts)):
        if value is not None and len(np.asarray(value, object)) != len(rows):
            plural = "labels" if name == "label" else name
            raise InputError(f"{len(rows)} vectors but {len(np.asarray(value, object))} {plural}: give one per vector")
    marks = np.zeros(len(rows), bool) if new is None else np.asarray(new, bool)
    order = numpy_stream(seed, "plot").permutation(len(rows))  # no class lies on top of the others
    order = np.concatenate([order[~marks[order]], order[marks[order]]])
    rows = rows[order]
    chosen = _chosen_method(method, len(rows))
    reduced = PrincipalAxes.of(rows)(rows)
    picked = {name: np.asarray(value, object if name == "label" else None)[order]
              for name, value in given.items() if value is not None}  # fmt: skip
    ids = (np.arange(len(rows)) if node_ids is None else np.asarray(node_ids, object))[order].tolist()
    spoken = None if texts is None else [texts[row] for row in order.tolist()]
    points = np.asarray(_points(rows, reduced, chosen, seed), np.float64)
    levels = find_levels(reduced, seed)
    names = region_names(levels, texts=spoken, labels=picked.get("label"), ids=ids, rows=reduced)
    colourings = [colour_by(name, value, reduced) for name, value in picked.items()]
    if len(names):
        broad = [names[0].get(cluster, "") for cluster in levels[:, 0].tolist()]
        colourings.append(colour_by(COMMUNITY, np.array(broad, object), reduced))
    colourings = _first(colourings, color) or [plain(len(rows))]
    picture = MapPicture(
        points, ids, colourings, find_regions(points, levels, names) if regions else [], int(marks.sum()), title or "",
        _facts(len(rows), colourings[0], int(marks.sum()), chosen), chosen, spoken,
        None if links is None else _reordered(links, order),
    )  # fmt: skip
    with replaced_file(target) as part:
        if target.suffix.lower() == ".html":
            from sanne.draw.page import write_page

            write_page(picture, part)
        else:
            _draw_picture(picture, part)


def map_points(vectors: Points, method: Literal["tsne", "pca"], seed: int = 0) -> Points:
    """Two coordinates for each vector's direction; the same for the same seed."""
    return _points(vectors, PrincipalAxes.of(vectors)(vectors), method, seed)


def _points(vectors: Points, reduced: Points, method: str, seed: int) -> Points:
    return first_two(reduced) if method == "pca" else tsne_points(reduced, seed)


def _first(colourings: list[Colouring], wanted: str | None) -> list[Colouring]:
    titles = [colouring.title for colouring in colourings]
    if wanted is not None and wanted not in titles:
        raise InputError(f"no column {wanted!r} to colour by; choose one of {', '.join(titles) or 'none'}")
    return sorted(colourings, key=lambda colouring: colouring.title != wanted)


def _reordered(links: Any, order: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    matrix = links.tocsr()[order][:, order]
    return matrix.indptr, matrix.indices


def _chosen_method(method: str, count: int) -> Literal["tsne", "pca"]:
    if method not in ("auto", "tsne", "pca"):
        raise InputError(f"unknown method {method!r}: choose auto, tsne or pca")
    if method == "pca" or count < FEWEST:
        return "pca"
    if method == "auto" and count > _TSNE_AT_MOST:
        logger.info("PCA, since t-SNE of %d points takes long; ask for method 'tsne' to have it", count)
        return "pca"
    try:
        tsne_package()
    except MissingExtraError:
        if method == "tsne":
            raise
        logger.info("PCA, since openTSNE is not installed")
        return "pca"
    return "tsne"


def _facts(count: int, colouring: Colouring, new: int, method: str) -> str:
    facts = [f"{count:,} nodes"]
    if colouring.classes and colouring.title == "label":
        facts.append(f"{len(colouring.classes):,} labels" if len(colouring.classes) > 1 else "1 label")
    elif colouring.title:
        facts.append(f"coloured by {colouring.title}")
    if new:
        facts.append(f"{new:,} new node{'s' if new > 1 else ''}, ringed")
    return " · ".join([*facts, "t-SNE" if method == "tsne" else "PCA"])


def matplotlib_figure() -> Any:
    """The class of matplotlib's pictures, if it is installed."""
    return import_extra("matplotlib.figure", "plot", "a picture of the map", "matplotlib").Figure


def _draw_picture(picture: MapPicture, path: Path) -> None:
    colouring, count = picture.colourings[0], len(picture.points)
    beside = bool(colouring.title) or picture.new > 0
    figure = matplotlib_figure()(figsize=(10.4 if beside else 8.2, 7.2), dpi=160, facecolor=PAPER)
    axes = figure.add_axes((0.02, 0.02, 0.74 if beside else 0.96, 0.86))
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    size = float(np.clip(30_000 / count, 1.6, 60))
    shades, fitted = colouring.hexes(), count - picture.new
    dense = {"rasterized": count > 20_000}
    axes.scatter(*picture.points[:fitted].T, s=size, c=shades[:fitted], alpha=0.75, linewidths=0, **dense)
    ring = {"edgecolors": INK, "linewidths": 0.6}
    axes.scatter(*picture.points[fitted:].T, s=max(1.3 * size, 9), c=shades[fitted:], **ring, **dense)
    height = 0.905 if picture.title else 0.945
    words = [
        figure.text(0.035, 0.945, picture.title, fontsize=17, fontweight="bold", color=INK),
        figure.text(0.035, height, picture.subtitle, fontsize=10.5, color=SOFT_INK),
    ]
    words += _add_legend(figure, picture) if beside else []
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


def _add_legend(figure: Any, picture: MapPicture) -> list[Any]:
    from matplotlib.lines import Line2D

    colouring, entries = picture.colourings[0], legend_entries(picture)
    if colouring.kind == "number":
        _add_scale(figure, colouring)
    dots = [Line2D([], [], ls="", marker="o", ms=8, mfc=colour, mec="none") for _, colour in entries]
    if picture.new:
        dots.append(Line2D([], [], ls="", marker="o", ms=8, mfc="none", mec=INK, mew=1.2))
    names = [_short(name) for name, _ in entries] + (["new node"] if picture.new else [])
    place = (0.77, 0.16 if colouring.kind == "number" else 0.45)
    legend = figure.legend(
        dots, names, loc="center left", bbox_to_anchor=place, frameon=False, fontsize=10,
        labelcolor=INK, handletextpad=0.3, labelspacing=0.65 if len(names) < 15 else 0.4,
    )  # fmt: skip
    return list(legend.get_texts())


def _add_scale(figure: Any, colouring: Colouring) -> None:
    axes = figure.add_axes((0.79, 0.3, 0.018, 0.4))
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

    renderer = FigureCanvasAgg(figure).get_renderer()
    frame, taken, halo = axes.get_window_extent(renderer), [], [withStroke(linewidth=2.4, foreground=PAPER)]
    for region in regions:
        word = axes.text(
            region.x, region.y, region.name, fontsize=_REGION_SIZES[region.level], color=INK, ha="center", va="center",
            fontweight="bold" if region.level == 0 else "normal", path_effects=halo,
        )  # fmt: skip
        word.set_parse_math(False)
        box = word.get_window_extent(renderer).expanded(1.04, 1.25)
        inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1
        if inside and not any(box.overlaps(other) for other in taken):
            taken.append(box)
        else:
            word.remove()


def _short(name: str) -> str:
    shown = name if len(name) <= 24 else name[:23] + "…"
    return f" {shown}" if shown.startswith("_") else shown  # matplotlib hides names that start with "_"
