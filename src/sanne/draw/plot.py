"""A map of vectors: two dimensions by t-SNE or PCA, drawn as a picture or as an interactive page."""

import html
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.draw.reduce import FEWEST, PrincipalAxes, first_two, tsne_package, tsne_points
from sanne.errors import InputError, MissingExtraError, import_extra
from sanne.evaluate.splits import has_label
from sanne.files.atomic import check_target, replaced_file

logger = logging.getLogger(__name__)

Method = Literal["auto", "tsne", "pca"]
Points = npt.NDArray[np.float64]  # (n, 2)

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (*PICTURES, ".html")

# Told apart by people with any common kind of colour blindness, as far as so many colours can be.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00",
    "#B5A400", "#332288", "#AA4466", "#7A5C3E", "#88B04B", "#5E5E5E",
)  # fmt: skip
PLAIN, NO_LABEL, INK, SOFT_INK, PAPER = "#0072B2", "#C9CDD2", "#1F2430", "#5A6270", "#FFFFFF"
_TSNE_AT_MOST = 100_000  # points; above, it takes too long


@dataclass(frozen=True, eq=False)
class _Map:
    points: Points
    names: list[str]  # the label of each point; "" for none
    classes: list[str]  # the labels in order, those without one left out
    colours: npt.NDArray[Any]  # a colour for each point
    class_colours: list[str]
    new: npt.NDArray[np.bool_]
    ids: list[str]
    title: str
    subtitle: str

    @property
    def has_legend(self) -> bool:
        return 0 < len(self.classes) <= len(PALETTE)


def check_picture(path: str | Path) -> Path:
    """Refuse a file that `plot_map` could not write; call it before any long work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot draw {path}: unknown ending {target.suffix!r}; use one of {', '.join(ENDINGS)}")
    check_target(target)
    _plotly() if target.suffix.lower() == ".html" else matplotlib_figure()
    return target


def plot_map(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike | None,
    path: str | Path,
    *,
    method: Method = "auto",
    new: npt.ArrayLike | None = None,
    node_ids: Sequence[Any] | npt.NDArray[Any] | None = None,
    title: str | None = None,
    seed: int = 0,
) -> None:
    """Draw (n, dim) vectors as a map: a .png, .svg or .pdf picture, or an .html page that shows ids.

    `labels` colours the points (None, NaN, "" and -1 stand for no label); `new` marks new nodes, which get
    a dark ring.

    >>> plot_map(model.embedding_, graph.labels, "map.png", title="Cora")
    """
    target = check_picture(path)
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        raise InputError(f"a map needs finite vectors, (nodes, dim), not an array of shape {rows.shape}")
    for name, value in (("labels", labels), ("new", new), ("node_ids", node_ids)):
        if value is not None and len(np.asarray(value)) != len(rows):
            raise InputError(f"{len(rows)} vectors but {len(np.asarray(value))} {name}: give one per vector")
    chosen = _chosen_method(method, len(rows))
    points = map_points(rows, chosen, seed)
    picture = _describe(points, labels, new, node_ids, title, "t-SNE" if chosen == "tsne" else "PCA")
    draw: Callable[[_Map, Path], None] = _draw_page if target.suffix.lower() == ".html" else _draw_picture
    with replaced_file(target) as part:
        draw(picture, part)


def map_points(vectors: Points, method: Literal["tsne", "pca"], seed: int = 0) -> Points:
    """Two coordinates for each vector's direction; the same for the same seed."""
    if method == "pca":
        return first_two(PrincipalAxes.of(vectors, 2)(vectors))
    return tsne_points(PrincipalAxes.of(vectors)(vectors), seed)


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


def _describe(
    points: Points,
    labels: npt.ArrayLike | None,
    new: npt.ArrayLike | None,
    node_ids: Sequence[Any] | npt.NDArray[Any] | None,
    title: str | None,
    method: str,
) -> _Map:
    count = len(points)
    values: Any = [None] * count if labels is None else np.asarray(labels).tolist()
    names = [str(value) if given else "" for value, given in zip(values, has_label(values), strict=True)]
    distinct = {name: value for name, value in zip(names, values, strict=True) if name}
    classes = sorted(distinct, key=lambda name: _sort_key(distinct[name]))
    class_colours = _class_colours(len(classes))
    by_name = dict(zip(classes, class_colours, strict=True)) | {"": NO_LABEL if classes else PLAIN}
    marks = np.zeros(count, bool) if new is None else np.asarray(new, bool)
    facts = [f"{count:,} nodes"]
    if classes:
        facts.append(f"{len(classes):,} labels" if len(classes) > 1 else "1 label")
    if marks.any():
        facts.append(f"{marks.sum():,} new node{'s' if marks.sum() > 1 else ''}, ringed")
    return _Map(
        points=points,
        names=names,
        classes=classes,
        colours=np.array([by_name[name] for name in names]),
        class_colours=class_colours,
        new=marks,
        ids=[str(i) for i in (range(count) if node_ids is None else np.asarray(node_ids).tolist())],
        title=title or "",
        subtitle=" · ".join([*facts, method]),
    )


def _sort_key(value: Any) -> tuple[bool, Any]:
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


def _class_colours(count: int) -> list[str]:
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    stops = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]])  # viridis
    positions = np.linspace(0, len(stops) - 1, count)
    channels = [np.interp(positions, np.arange(len(stops)), stops[:, i]).round().astype(int) for i in range(3)]
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in zip(*channels, strict=True)]


def matplotlib_figure() -> Any:
    """The class of matplotlib's pictures, if it is installed."""
    return import_extra("matplotlib.figure", "plot", "a picture of the map", "matplotlib").Figure


def _plotly() -> Any:
    return import_extra("plotly.graph_objects", "plot", "an interactive map", "plotly")


def _draw_picture(picture: _Map, path: Path) -> None:
    figure = matplotlib_figure()(figsize=(9.2 if picture.has_legend else 7, 6.6), dpi=160, facecolor=PAPER)
    axes = figure.add_axes((0.03, 0.03, 0.66 if picture.has_legend else 0.94, 0.83))
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    size = float(np.clip(30_000 / len(picture.points), 5, 60))
    order = np.random.default_rng(0).permutation(len(picture.points))  # no class lies on top of the others
    present, arrived = order[~picture.new[order]], order[picture.new[order]]
    style = {"rasterized": len(picture.points) > 20_000}
    axes.scatter(*picture.points[present].T, s=size, c=picture.colours[present], alpha=0.8, linewidths=0, **style)
    ring = {"edgecolors": INK, "linewidths": 0.6}
    axes.scatter(*picture.points[arrived].T, s=1.3 * size, c=picture.colours[arrived], **ring, **style)
    _add_words(figure, picture)
    no_date = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    figure.savefig(path, metadata=no_date)


def _add_words(figure: Any, picture: _Map) -> None:
    from matplotlib.lines import Line2D

    texts = [
        figure.text(0.045, 0.925, picture.title, fontsize=17, fontweight="bold", color=INK),
        figure.text(0.045, 0.885 if picture.title else 0.925, picture.subtitle, fontsize=10.5, color=SOFT_INK),
    ]
    if picture.has_legend:
        entries = list(zip(picture.classes, picture.class_colours, strict=True))
        entries += [("no label", NO_LABEL)] if "" in picture.names else []
        dots = [Line2D([], [], ls="", marker="o", ms=8, mfc=colour, mec="none") for _, colour in entries]
        names = [_short(name) for name, _ in entries]
        if picture.new.any():
            dots.append(Line2D([], [], ls="", marker="o", ms=8, mfc="none", mec=INK, mew=1.2))
            names.append("new node")
        legend = figure.legend(
            dots, names, loc="center left", bbox_to_anchor=(0.70, 0.45), frameon=False, fontsize=10.5,
            labelcolor=INK, handletextpad=0.3, labelspacing=0.75,
        )  # fmt: skip
        texts += legend.get_texts()
    for text in texts:
        text.set_parse_math(False)  # a label may hold a dollar sign


def _short(name: str) -> str:
    shown = name if len(name) <= 24 else name[:23] + "…"
    return f" {shown}" if shown.startswith("_") else shown  # matplotlib hides names that start with "_"


def _draw_page(picture: _Map, path: Path) -> None:
    figure = _plotly().Figure()
    names = np.array(picture.names, dtype=object)
    named: set[str] = set()  # a class has one entry in the legend, for its new nodes as well
    for group in [*picture.classes, ""] if picture.has_legend else [None]:
        for new in (False, True):
            chosen = (picture.new == new) & (True if group is None else names == group)
            if chosen.any():
                name = "nodes" if group is None else group or "no label"
                legend = picture.has_legend and name not in named
                figure.add_trace(_trace(picture, np.flatnonzero(chosen), name, new, legend))
                named.add(name)
    figure.update_layout(
        title={"text": f"<b>{html.escape(picture.title)}</b><br><sup>{picture.subtitle}</sup>", "x": 0.02},
        template="plotly_white",
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        legend={"itemsizing": "constant"},
        font={"color": INK},
        margin={"l": 20, "r": 20, "t": 80, "b": 20},
    )
    figure.write_html(path, include_plotlyjs=True, full_html=True, div_id="map", default_height="100vh")


def _trace(picture: _Map, rows: npt.NDArray[np.intp], name: str, new: bool, legend: bool) -> Any:
    """The points of one class that are new, or those that are not."""
    count = len(picture.points)
    kind = _plotly().Scattergl if count > 5_000 else _plotly().Scatter
    size = float(np.clip(115 / np.sqrt(count), 4, 11))
    state = ["new node"] if new else []
    hover = [
        (html.escape(picture.ids[row]), " · ".join(filter(None, [html.escape(picture.names[row]), *state])))
        for row in rows
    ]
    return kind(
        x=picture.points[rows, 0].astype(np.float32),
        y=picture.points[rows, 1].astype(np.float32),
        mode="markers",
        name=html.escape(name),
        legendgroup=name,
        showlegend=legend,
        marker={
            "size": size * (1.25 if new else 1),
            "color": picture.colours[rows].tolist(),
            "opacity": 1 if new else 0.8,
            "line": {"width": 1.2 if new else 0, "color": INK},
        },
        customdata=hover,
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
    )
