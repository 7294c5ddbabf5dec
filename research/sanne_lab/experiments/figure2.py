"""Figure 2: SANNE's vectors of one split as t-SNE maps, transductive and inductive side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import orthogonal_procrustes

from sanne.datasets import Splits, named_classes
from sanne.evaluate.node_classification import score_split
from sanne.graph.csr import FloatArray, Graph
from sanne.graph.split import hide_nodes
from sanne.model.artifact import versions
from sanne.plot import INK, NO_LABEL, PALETTE, PAPER, SOFT_INK, Points, map_points, matplotlib_figure
from sanne_lab.baselines.interface import Snapshot, System
from sanne_lab.experiments.pictures import save_picture
from sanne_lab.experiments.protocol import Setting
from sanne_lab.experiments.result_files import SETTINGS, Cell, finished, plain, read_result, write_result
from sanne_lab.experiments.runs import data_of
from sanne_lab.experiments.systems import make_grid


@dataclass(frozen=True, eq=False)
class Map:
    """The points of one setting, in node order."""

    cell: Cell
    split: int
    splits_source: str
    validation: float
    points: Points
    classes: list[str]
    new: npt.NDArray[np.bool_]


def make_cells(
    recipe: str, dataset: str = "cora", *, seed: int = 0, changes: dict[str, Any] | None = None
) -> list[Cell]:
    """A cell for each setting."""
    name = f"sanne-{recipe}"
    return [Cell("figure2", name, name, dataset, setting, changes or {}, seed) for setting in SETTINGS]


def make_map(cell: Cell, out: Path, split: int = 0) -> Map:
    """The map of a split: from its file, or made now, with the epoch that validation chooses."""
    graph, splits = data_of(cell.dataset)
    system: Any = make_grid(cell.system, cell.settings, progress=None)[0]
    path = cell.folder(out) / f"{split}.json"
    if finished(path, cell, splits.source, [plain(system.settings())]) is None:
        vectors, validation = embed_split(system, graph, splits, split, cell.setting, cell.seed)
        assert graph.labels is not None
        result = {
            "system": cell.label,
            "dataset": cell.dataset,
            "setting": cell.setting,
            "split": split,
            "splits_source": splits.source,
            "features_from": cell.features_used,
            "val": validation,
            "seed": cell.seed,
            "settings": system.settings(),
            "versions": versions(),
            "points": map_points(vectors.astype(np.float64), "tsne", cell.seed).round(2).tolist(),
            "classes": [str(name) for name in named_classes(cell.dataset, graph.labels)],
            "new": splits.test[split].tolist() if cell.setting == "inductive" else [],
        }
        write_result(path, result, indent=None)
    return stored_map(cell, out, split)


def stored_map(cell: Cell, out: Path, split: int = 0) -> Map:
    """The map in a file."""
    kept = read_result(cell.folder(out) / f"{split}.json")
    new = np.zeros(len(kept["points"]), bool)
    new[kept["new"]] = True
    points = np.array(kept["points"], np.float64)
    return Map(cell, split, kept["splits_source"], kept["val"], points, kept["classes"], new)


def embed_split(
    system: System, graph: Graph, splits: Splits, number: int, setting: Setting, seed: int
) -> tuple[FloatArray, float]:
    """Vectors of all nodes, and their validation accuracy; in the inductive setting test nodes arrive after the fit."""
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

    system.fit(hide_nodes(graph, test) if len(test) else graph, seed, None, consider)
    return best[0][1], best[0][0]


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
    title = f"{one.cell.dataset.capitalize()}, vectors of {one.cell.label}"
    figure.text(0.02, 0.955, title, fontsize=15, fontweight="bold", color=INK)
    accuracies = " and ".join(f"{each.validation:.1f}" for each in maps)
    source = {"paper": "of the paper", "seeded": "drawn from a seed"}[one.splits_source]
    facts = f"t-SNE · split {one.split} {source} · validation accuracy {accuracies} %"
    figure.text(0.02, 0.92, facts, fontsize=10, color=SOFT_INK)
    dots = [Line2D([], [], ls="", marker="o", ms=7, mfc=colour, mec="none") for colour in colours.values()]
    dots.append(Line2D([], [], ls="", marker="o", ms=7, mfc="none", mec=INK, mew=1.1))
    figure.legend(
        dots, [*colours, "new node"], loc="lower center", ncols=4, frameon=False, fontsize=9.5, labelcolor=INK,
        handletextpad=0.2, columnspacing=1.5,
    )  # fmt: skip
    figure.subplots_adjust(left=0.01, right=0.99, top=0.87, bottom=0.11, wspace=0.02)
