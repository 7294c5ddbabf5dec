"""Figure 2: SANNE's vectors of one split as t-SNE maps, transductive and inductive side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import orthogonal_procrustes

from sanne.datasets.catalogue import named_classes
from sanne.draw.colours import INK, NO_LABEL, PALETTE, PAPER, SOFT_INK
from sanne.draw.image import matplotlib_figure
from sanne.draw.plot import Points, map_points
from sanne.evaluate.splits import Splits
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.split import hide_nodes
from sanne_lab.baselines.interface import Classifier, Snapshot, System
from sanne_lab.evaluate.node_classification import score_split
from sanne_lab.experiments.cells import Cell, Measured
from sanne_lab.experiments.data import SETTINGS, data_of
from sanne_lab.experiments.gone import shown
from sanne_lab.experiments.pictures import save_picture
from sanne_lab.experiments.protocol import split_cell
from sanne_lab.experiments.records import Record, read_records

NAME = "figure2"


@dataclass(frozen=True, eq=False)
class Map:
    """The points of one setting, in node order."""

    cell: Cell
    splits_source: str
    validation: float
    points: Points
    classes: list[str]
    new: npt.NDArray[np.bool_]


def make_cells(
    recipe: str, dataset: str = "cora", split: int = 0, *, seed: int = 0, changes: dict[str, Any] | None = None
) -> list[Cell]:
    """A cell for each setting."""
    name = f"sanne-{recipe}"
    cells = [split_cell(NAME, name, name, dataset, setting, settings=changes, seed=seed) for setting in SETTINGS]
    return [replace(cell, measure=measure_maps, numbers=(split,)) for cell in cells]


def measure_maps(system: System | Classifier, cell: Cell, numbers: Sequence[int]) -> list[Measured]:
    """The points of some splits, for the epoch that validation chooses."""
    graph, splits = data_of(cell.dataset)
    assert graph.labels is not None
    assert not isinstance(system, Classifier)
    classes = [str(name) for name in named_classes(cell.dataset, graph.labels)]
    found = []
    for number in numbers:
        vectors, validation, seconds = embed_split(system, graph, splits, number, cell.setting, cell.seed or 0)
        points = map_points(vectors.astype(np.float64), "tsne", cell.seed or 0).round(2).tolist()
        new = splits.test[number].tolist() if cell.setting == "inductive" else []
        found.append(Measured(seconds, {"map": {"val": validation, "points": points, "classes": classes, "new": new}}))
    return found


def load(cells: Sequence[Cell], out: Path) -> list[Map]:
    """The maps that are stored; none if one is missing."""
    stored = read_records(out, NAME)
    keys = [cell.key(cell.numbers[0]) for cell in cells]
    if any(key not in stored for key in keys):
        return []
    return [_map_of(cell, stored[key]) for cell, key in zip(cells, keys, strict=True)]


def _map_of(cell: Cell, record: Record) -> Map:
    part = record["parts"]["map"]
    new = np.zeros(len(part["points"]), bool)
    new[part["new"]] = True
    points = np.array(part["points"], np.float64)
    return Map(cell, record["splits_source"], part["val"], points, part["classes"], new)


def embed_split(
    system: System, graph: Graph, splits: Splits, number: int, setting: str, seed: int
) -> tuple[FloatArray, float, float]:
    """Vectors of all nodes, their validation accuracy, and the seconds of training.

    In the inductive setting test nodes arrive after the fit.
    """
    test = splits.test[number] if setting == "inductive" else np.empty(0, np.int64)
    present = np.setdiff1d(np.arange(graph.num_nodes), test)
    train, val = splits.train[number], splits.val[number]
    best: list[tuple[float, FloatArray]] = []

    def consider(snapshot: Snapshot) -> None:
        old = snapshot.present()
        vectors = np.zeros((graph.num_nodes, old.shape[1]), np.float32)
        vectors[present] = old
        if len(test):
            vectors[test] = snapshot.new(graph, test)
        score = score_split(vectors, graph.labels, train, val, val).val  # type: ignore[arg-type]
        if not best or score > best[0][0]:
            best[:] = [(score, vectors)]

    seconds = system.fit(hide_nodes(graph, test) if len(test) else graph, seed, None, consider)
    return best[0][1], best[0][0], seconds


def draw(maps: list[Map], out: Path) -> list[Path]:
    """Draw figure2.png and figure2.svg; the second map is turned so that it lies like the first."""
    figure = matplotlib_figure()(figsize=(6.1 * len(maps), 6.9), dpi=140, facecolor=PAPER)
    classes = sorted({name for one in maps for name in one.classes if name})
    colours = dict(zip(classes, PALETTE, strict=False))
    first = _centred(maps[0].points)
    for axes, one in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps, strict=True):
        points = _centred(one.points)
        turn, _ = orthogonal_procrustes(points, first)
        _draw_map(axes, one, points @ turn, colours)
    _add_words(figure, maps, colours)
    return save_picture(figure, out, "figure2")


def _centred(points: Points) -> Points:
    return points - points.mean(axis=0)


def _draw_map(axes: Any, one: Map, points: Points, colours: dict[str, str]) -> None:
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    shades = np.array([colours.get(name, NO_LABEL) for name in one.classes])
    order = np.random.default_rng(0).permutation(len(points))  # no class lies on top of the others
    old, new = order[~one.new[order]], order[one.new[order]]
    size = float(np.clip(25_000 / len(points), 3, 40))
    axes.scatter(*points[old].T, s=size, c=shades[old], alpha=0.8, linewidths=0)
    axes.scatter(*points[new].T, s=1.5 * size, c=shades[new], edgecolors=INK, linewidths=0.6)
    facts = f"{len(new):,} nodes arrived after the fit, ringed" if len(new) else "all nodes there in the fit"
    axes.set_title(f"{one.cell.setting.capitalize()}: {facts}", fontsize=11, color=INK)


def _add_words(figure: Any, maps: list[Map], colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    one = maps[0]
    title = f"{one.cell.dataset.capitalize()}, vectors of {shown(one.cell.label)}"
    figure.text(0.02, 0.955, title, fontsize=15, fontweight="bold", color=INK)
    accuracies = " and ".join(f"{each.validation:.1f}" for each in maps)
    source = {"paper": "of the paper", "seeded": "drawn from a seed"}[one.splits_source]
    facts = f"t-SNE · split {one.cell.numbers[0]} {source} · validation accuracy {accuracies} %"
    figure.text(0.02, 0.92, facts, fontsize=10, color=SOFT_INK)
    dots = [Line2D([], [], ls="", marker="o", ms=7, mfc=colour, mec="none") for colour in colours.values()]
    dots.append(Line2D([], [], ls="", marker="o", ms=7, mfc="none", mec=INK, mew=1.1))
    figure.legend(
        dots, [*colours, "new node"], loc="lower center", ncols=4, frameon=False, fontsize=9.5, labelcolor=INK,
        handletextpad=0.2, columnspacing=1.5,
    )  # fmt: skip
    figure.subplots_adjust(left=0.01, right=0.99, top=0.87, bottom=0.11, wspace=0.02)
