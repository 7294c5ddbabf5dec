"""A map of vectors: two dimensions by t-SNE or PCA, drawn as a picture or as an interactive page."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.device import calm_threads
from sanne.draw.colours import Colouring
from sanne.draw.image import MAPS, check_picture, draw_picture
from sanne.draw.page import write_page
from sanne.draw.picture import COMMUNITY, MapPicture, Nodes
from sanne.draw.reduce import FEWEST, FITTED_AT_MOST, PrincipalAxes, first_two, lay_out, tsne_package
from sanne.errors import InputError, MissingExtraError
from sanne.files.atomic import replaced_file
from sanne.progress import steps
from sanne.seeds import numpy_stream

logger = logging.getLogger(__name__)

Method = Literal["auto", "tsne", "pca"]
Points = npt.NDArray[np.float64]  # (n, 2)


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

    Points are coloured by `color`: "label", "community" or one of the `columns`, where None, NaN, "" and -1 mean
    no value. Regions are named by words from the `texts`, else by labels or ids. `new` marks new nodes, which get a
    dark ring. The page offers all colourings, shows texts, and links if the (n, n) scipy matrix is given.

    >>> plot_map(model.embedding_, graph.labels, "map.png", texts=graph.texts, title="Cora")
    """
    target = Path(path)
    check_picture(target, MAPS)
    rows = np.asarray(vectors)
    if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
        raise InputError(f"a map needs finite vectors, (nodes, dim), not an array of shape {rows.shape}")
    given = {"label": labels, **(columns or {})}
    for name, value in (*given.items(), ("new", new), ("node_ids", node_ids), ("texts", texts)):
        if value is not None and len(np.asarray(value, object)) != len(rows):
            plural = "labels" if name == "label" else name
            raise InputError(f"{len(rows)} vectors but {len(np.asarray(value, object))} {plural}: give one per vector")
    titles = [name for name, value in given.items() if value is not None] + [COMMUNITY]
    if color not in (None, *titles):
        raise InputError(f"no column {color!r} to colour by; choose one of {', '.join(titles)}")
    marks = np.zeros(len(rows), bool) if new is None else np.asarray(new, bool)
    order = numpy_stream(seed, "plot").permutation(len(rows))  # no class lies on top of the others
    order = np.concatenate([order[~marks[order]], order[marks[order]]])
    chosen = _chosen_method(method, len(rows))
    with calm_threads(rows):
        reduced = PrincipalAxes(rows[order[:FITTED_AT_MOST]].astype(np.float32))(rows)[order]
    picked = {name: np.asarray(value, object if name == "label" else None)[order]
              for name, value in given.items() if value is not None}  # fmt: skip
    ids = (np.arange(len(rows)) if node_ids is None else np.asarray(node_ids, object))[order].tolist()
    spoken = None if texts is None else [texts[row] for row in order.tolist()]
    nodes = Nodes(reduced, picked, spoken, ids, seed)
    if color not in (None, COMMUNITY, *(colouring.title for colouring in nodes.given)):
        raise InputError(f"no node has a value in the column {color!r}: colour by another, or leave --color out")
    points = _points(reduced, chosen, seed)
    logger.info("naming regions")
    colourings, named = nodes.contents(points)
    if color == COMMUNITY and color not in [colouring.title for colouring in colourings]:
        raise InputError("no communities were found among so few nodes: colour by a column, or leave --color out")
    colourings.sort(key=lambda colouring: colouring.title != color)
    if links is not None:
        matrix = links.tocsr()[order][:, order]
        links = matrix.indptr, matrix.indices
    picture = MapPicture(
        points, ids, colourings, named if regions else [], int(marks.sum()), title or "",
        _facts(len(rows), colourings[0], int(marks.sum()), chosen), chosen, picked.get("uncertainty"), spoken,
        links,
    )  # fmt: skip
    logger.info("writing %s", target)
    with replaced_file(target) as part:
        if target.suffix.lower() == ".html":
            write_page(picture, part)
        else:
            draw_picture(picture, part)


def map_points(vectors: Points, method: Literal["tsne", "pca"], seed: int = 0) -> Points:
    """Two coordinates for each vector's direction; the same for the same seed."""
    return _points(PrincipalAxes(vectors)(vectors), method, seed)


def _points(reduced: Points, method: str, seed: int) -> Points:
    if method == "pca":
        return np.asarray(first_two(reduced), np.float64)
    with steps(of="t-SNE", unit="%", total=100) as bar:
        points = lay_out(reduced, seed, lambda share: bar.update(round(100 * share) - bar.n))
    return np.asarray(points, np.float64)


def _chosen_method(method: str, count: int) -> Literal["tsne", "pca"]:
    if method not in ("auto", "tsne", "pca"):
        raise InputError(f"unknown method {method!r}: choose auto, tsne or pca")
    if method == "pca" or count < FEWEST:
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
