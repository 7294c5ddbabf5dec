"""Draws the pictures of docs/how-it-works.md. Run: python docs/tools/pictures.py [idea] [restarts] [explanation]"""

import argparse
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch

from sanne import SANNE
from sanne.config import DEFAULT_RECIPE, recipe_config
from sanne.datasets.catalogue import named_classes
from sanne.demo import Task, make_task
from sanne.draw.colours import INK, NO_LABEL, PALETTE, PAPER, SOFT_INK

OUT = Path(__file__).parents[1] / "pictures"
SEEN, HIDDEN, LINKS, FAINT = PALETTE[0], PALETTE[5], PALETTE[2], "#EEF1F4"
WORDS = ["rye", "oven", "yeast", "crust", "flour", "loaf"]
PARTS = [
    ("predictions from\neverything at once", HIDDEN, 2.7),
    ("predictions from\neach part, added up", HIDDEN, 2.7),
    ("own words", SEEN, 1.5),
    ("own words, rare\nones too", SEEN, 2),
    ("neighbours' words", SEEN, 1.5),
    ("words smoothed\nover the graph", SEEN, 3),
    ("degree", LINKS, 1),
]
SHOWN = 40  # nodes in the picture of an explanation


def draw_idea() -> Figure:
    """Half of a node's words are hidden and predicted; predictions and words side by side are the vector."""
    figure = Figure(figsize=(10, 5), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 100), ylim=(0, 50))
    axes.set_axis_off()
    for x, heading in ((3.0, "1. Hide half of its words"), (37, "2. Predict them"), (73, "3. Put side by side")):
        axes.text(x, 46.5, heading, fontsize=13, color=INK, weight="bold")
    _draw_graph(axes, 3, 20.5, 25, 22, 1.0, 4)
    for row, word in enumerate(WORDS):
        seen = row < len(WORDS) // 2
        _box(
            axes, 3 + 13 * (not seen), 12.2 - 4.8 * (row % 3), 12, 3.9, word if seen else "?", SEEN if seen else HIDDEN
        )
    axes.text(9, 17.2, "seen", ha="center", fontsize=11, color=SEEN)
    axes.text(22, 17.2, "hidden", ha="center", fontsize=11, color=HIDDEN)
    axes.text(37, 43, "from the seen half, near and far:", fontsize=11, color=SEEN)
    for place, restart in enumerate(recipe_config(DEFAULT_RECIPE).objective.restarts):
        x, y = 37 + 9.6 * (place % 3), 31.8 - 12.5 * (place // 3)
        _draw_graph(axes, x, y, 8.2, 7, restart)
        axes.text(x + 4.1, y + 8.1, f"restart {restart:g}", ha="center", fontsize=9.5, color=SOFT_INK)
    _box(axes, 37, 10.6, 27.4, 4.4, "and from its links", LINKS)
    axes.text(37, 4.8, "Two ridge regressions. Then the other half,\nand another split of the words.",
              fontsize=11, color=INK, va="center", linespacing=1.4)  # fmt: skip
    top = 44.5
    for name, colour, height in PARTS:
        tall = 2.25 * height
        top -= tall + 0.5
        _box(axes, 73, top, 5, tall, "", colour)
        axes.text(79.5, top + tall / 2, name, fontsize=11, color=INK, va="center")
    axes.text(
        73, 4.8, "Turned to principal axes,\nthat is the vector.", fontsize=11, color=INK, va="center", linespacing=1.4
    )
    for x in (31.0, 67.0):
        axes.annotate("", (x + 4, 27), (x, 27), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.8})
    return figure


def _draw_graph(axes: Any, x: float, y: float, width: float, height: float, restart: float, scale: float = 1) -> None:
    """A small graph; a node is the darker, the more often walks that restart at the first one are there."""
    places = np.array([[0.45, 0.45], [0.1, 0.8], [0.75, 0.9], [0, 0.25], [0.85, 0.2], [0.4, 1], [1, 0.6], [0.35, 0]])
    places = places * (width, height) + (x, y)
    arcs = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 5), (2, 5), (2, 6), (4, 6), (3, 7), (1, 3)]
    walk = np.eye(len(places))
    for a, b in arcs:
        axes.plot(*places[[a, b]].T, color=NO_LABEL, lw=1 + 0.2 * scale, zorder=1)
        walk[a, b] = walk[b, a] = 1
    walk /= walk.sum(axis=1, keepdims=True)
    seen = restart * np.linalg.inv(np.eye(len(places)) - (1 - restart) * walk)[0]
    mixed = to_rgb(FAINT) + (seen / seen.max())[:, None] * (np.array(to_rgb(SEEN)) - to_rgb(FAINT))
    sizes = np.where(np.arange(len(places)) == 0, 110, 60) * scale**0.8
    axes.scatter(*places.T, s=sizes, color=mixed, edgecolor=SOFT_INK, lw=0.8, zorder=2)


def _box(axes: Any, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    style, light = "round,pad=0,rounding_size=0.6", (*to_rgb(colour), 0.15)
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=light, edgecolor=colour, lw=1.6))
    axes.text(x + width / 2, y + height / 2 - 0.1, text, ha="center", va="center", fontsize=11, color=INK)


def draw_restarts() -> Figure:
    """How well the hidden half of Cora's words is predicted, and what the smoothed words are mixed of."""
    figure = Figure(figsize=(9, 3.2), layout="constrained", facecolor=PAPER)
    left, right = figure.subplots(1, 2)
    artifact = SANNE().fit("cora").artifact_
    restarts, chosen = artifact.config.objective.restarts, artifact.record["chosen"]
    steps = np.arange(len(restarts))
    left.plot(steps, chosen["hidden_r2"][: len(restarts)], color=SEEN, marker="o", lw=2)
    right.bar(steps, chosen["mixture"], 0.6, color=SEEN)
    titles = ("R² of the hidden half, predicted at one restart", "share of each restart in the smoothed words")
    for axes, title in zip((left, right), titles, strict=True):
        axes.set_xticks(steps, [f"{restart:g}" for restart in restarts])
        axes.set_xlabel("restart (1: the node alone; small: far around it)", fontsize=10, color=INK)
        axes.set_title(title, fontsize=11, color=INK, loc="left")
        axes.tick_params(colors=SOFT_INK, labelsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(NO_LABEL)
    return figure


def draw_explanation() -> Figure:
    """The nodes that the vector of a new node of Cora is made of, sized by their shares."""
    task = make_task("cora")
    graph, labels = task.graph, task.graph.labels
    assert labels is not None
    new = _good_example(task)
    name = graph.node_ids[new]
    found = SANNE().fit(task.before).embed(graph, [name], explain=SHOWN)
    assert found.explanation is not None
    shares = dict(found.explanation[0])
    classes = dict(zip(graph.node_ids.tolist(), named_classes("cora", labels).tolist(), strict=True))
    colours = dict(zip(sorted({classes[node] for node in shares}), PALETTE, strict=False))
    network = nx.Graph(nx.from_scipy_sparse_array(graph.adjacency().to_scipy()))
    network = nx.relabel_nodes(network, dict(enumerate(graph.node_ids.tolist()))).subgraph(shares)
    figure = Figure(figsize=(9, 4.4), layout="constrained", facecolor=PAPER)
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    left.set_axis_off()
    places = nx.kamada_kawai_layout(network)
    nx.draw_networkx_edges(network, places, ax=left, edge_color=NO_LABEL)
    nx.draw_networkx_nodes(
        network, places, ax=left, node_size=[30 + 3000 * shares[node] for node in network],
        node_color=[colours[classes[node]] for node in network],
        edgecolors=[INK if node == name else PAPER for node in network], linewidths=1.5,
    )  # fmt: skip
    left.set_title(f"Paper {name} (dark ring), a new node", fontsize=11, color=INK, loc="left")
    top = list(shares)[:8]
    right.barh(range(len(top)), [shares[node] for node in top], color=[colours[classes[node]] for node in top])
    right.set_yticks(range(len(top)), [f"{node}{' (itself)' if node == name else ''}" for node in top])
    right.invert_yaxis()
    right.set_title("The largest shares in its vector", fontsize=11, color=INK, loc="left")
    right.tick_params(colors=SOFT_INK, labelsize=9)
    right.spines[["top", "right", "left", "bottom"]].set_visible(False)
    dots = [Line2D([], [], marker="o", ls="", color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=dots, loc="outside lower center", ncols=4, frameon=False, fontsize=10, labelcolor=INK)
    return figure


def _good_example(task: Task) -> int:
    """The first new node with four to six neighbours of several classes."""
    graph = task.graph
    assert graph.labels is not None
    for node in task.new.tolist():
        around = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        if 4 <= len(around) <= 6 and len(set(graph.labels[around].tolist())) > 1:
            return int(node)
    raise AssertionError("no new node of this kind")


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    draws = {"idea": draw_idea, "restarts": draw_restarts, "explanation": draw_explanation}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(draws)}")
    for name in parser.parse_args().names or draws:
        draws[name]().savefig(OUT / f"{name}.png", dpi=130, facecolor=PAPER)
        print(f"wrote {name}.png")


if __name__ == "__main__":
    main()
