"""Draws the pictures of docs/model.md from a real model of Cora. Run: python docs/tools/pictures.py

The model is fitted without the 1,000 test papers of the first split, which then arrive (as in `sanne demo`). Names
(`walks smoothed ...`) draw some of the pictures only.
"""

import argparse
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from sanne import SANNE
from sanne.datasets.catalogue import named_classes
from sanne.demo import Task, make_task
from sanne.draw.plot import INK, NO_LABEL, PALETTE, PAPER, SOFT_INK, map_points
from sanne.features.choose import fit_features
from sanne.graph.graph import FloatArray, Graph
from sanne.walks.diffusion import Diffusion

OUT = Path(__file__).parents[1] / "pictures"
RECIPE, SEED = "best", 0
NEAR, FAR = 0.5, 0.05  # restarts that are drawn
SHOWN_NODES = 60
COLUMNS = (8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Scene:
    """A fitted model, the graph with its new nodes, and one of them to look at."""

    task: Task
    model: SANNE
    newcomer: int  # index in the graph

    @property
    def graph(self) -> Graph:
        return self.task.graph

    @cached_property
    def classes(self) -> Any:
        assert self.graph.labels is not None
        return named_classes("cora", self.graph.labels)

    @cached_property
    def colours(self) -> dict[str, str]:
        return dict(zip(sorted(set(self.classes)), PALETTE, strict=False))

    @cached_property
    def new_vectors(self) -> FloatArray:
        return self.model.transform(self.graph, self.graph.node_ids[self.task.new])

    def correct(self, columns: int) -> Any:
        """Which new nodes a classifier of the first columns gets right; it is trained on 20 labels of each class."""
        assert self.graph.labels is not None
        rows = {node: row for row, node in enumerate(self.model.node_ids_.tolist())}
        train = [rows[node] for node in self.graph.node_ids[self.task.train].tolist()]
        vectors = self.model.embedding_[train, :columns]
        probe = LogisticRegression(C=100, max_iter=2000).fit(vectors, self.graph.labels[self.task.train])
        return probe.predict(self.new_vectors[:, :columns]) == self.graph.labels[self.task.new]


def main() -> None:
    """Fit and draw."""
    draws = (draw_walks, draw_smoothed, draw_hidden, draw_columns, draw_uncertainty, draw_explanation)
    named = {draw.__name__.removeprefix("draw_"): draw for draw in draws}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*named, []])
    asked = parser.parse_args()
    task = make_task("cora")
    model = SANNE(RECIPE, random_state=SEED).fit(task.before)
    scene = Scene(task, model, _good_example(task))
    OUT.mkdir(exist_ok=True)
    for name in asked.names or named:
        named[name](scene).savefig(OUT / f"{name}.png", dpi=130, facecolor=PAPER)
        print(f"wrote {name}.png")


def _good_example(task: Task) -> int:
    """The first new node with four to six neighbours of several classes."""
    graph = task.graph
    assert graph.labels is not None
    for node in task.new.tolist():
        around = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        if 4 <= len(around) <= 6 and len(set(graph.labels[around].tolist())) > 1:
            return int(node)
    raise AssertionError("no newcomer of this kind")


def _panels(width: float, height: float, *ratios: float) -> tuple[Figure, list[Any]]:
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    panels = figure.subplots(1, len(ratios), squeeze=False, width_ratios=ratios)[0]
    for axes in panels:
        axes.tick_params(colors=SOFT_INK, labelsize=8)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(NO_LABEL)
    return figure, list(panels)


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, fontsize=10, color=INK, loc="left")


def _legend(figure: Figure, colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    dots = [Line2D([], [], marker="o", ls="", color=colour, label=name) for name, colour in colours.items()]
    figure.legend(handles=dots, loc="outside lower center", ncols=4, frameon=False, fontsize=8, labelcolor=INK)


def _network(graph: Graph, nodes: Any) -> tuple[nx.Graph, dict[int, Any]]:
    """Some nodes and the edges among them, with a layout."""
    network = nx.Graph()
    network.add_nodes_from(nodes.tolist())
    for node in nodes.tolist():
        row = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
        network.add_edges_from((node, other) for other in row[np.isin(row, nodes)].tolist())
    return network, nx.kamada_kawai_layout(network)


def _draw_network(axes: Any, scene: Scene, network: nx.Graph, places: dict[int, Any], share: dict[int, float]) -> None:
    """Nodes by their shares, the new node ringed."""
    axes.set_axis_off()
    nx.draw_networkx_edges(network, places, ax=axes, edge_color=NO_LABEL, width=0.8)
    nx.draw_networkx_nodes(
        network, places, list(network), ax=axes, node_size=[12 + 2600 * share.get(node, 0.0) for node in network],
        node_color=[scene.colours[scene.classes[node]] for node in network], alpha=0.9,
        edgecolors=[INK if node == scene.newcomer else PAPER for node in network],
    )  # fmt: skip


def draw_walks(scene: Scene) -> Figure:
    """Where the walks of the new node are, with frequent restarts and with rare ones."""
    figure, panels = _panels(9, 4.8, 1, 1)
    config = scene.model.artifact_.config.objective
    around = Diffusion(scene.graph.adjacency()).around(scene.newcomer, (NEAR, FAR), config.restart_steps)
    shown = np.unique(np.append(around.nodes[np.argsort(-around.shares[:, 1])[:SHOWN_NODES]], scene.newcomer))
    network, places = _network(scene.graph, shown)
    for axes, restart, shares in zip(panels, (NEAR, FAR), around.shares.T, strict=True):
        share = dict(zip(around.nodes.tolist(), (shares / shares.sum()).tolist(), strict=True))
        _draw_network(axes, scene, network, places, share)
        _title(axes, f"restart {restart}")
    _legend(figure, {name: scene.colours[name] for name in sorted({scene.classes[n] for n in network})})
    return figure


def draw_smoothed(scene: Scene) -> Figure:
    """Words alone, and as walks see them."""
    figure, panels = _panels(9, 4.9, 1, 1)
    before, config = scene.task.before, scene.model.artifact_.config
    words = fit_features(before, config.features, SEED).transform(before)
    smoothed = Diffusion(before.adjacency()).spread(words, (FAR,), config.objective.restart_steps)[0]
    assert before.labels is not None
    colours = [scene.colours[name] for name in named_classes("cora", before.labels)]
    for axes, (name, rows) in zip(panels, (("words alone", words), ("as walks see them", smoothed)), strict=True):
        axes.set_axis_off()
        axes.scatter(*map_points(rows.astype(np.float64), "tsne", SEED).T, s=5, c=colours, alpha=0.8, linewidths=0)
        _title(axes, name)
    _legend(figure, scene.colours)
    return figure


def draw_hidden(scene: Scene) -> Figure:
    """How well each token alone predicts the hidden half, and what the smoothed words are a mixture of."""
    figure, (left, right) = _panels(8.6, 3, 1.5, 1)
    config, chosen = scene.model.artifact_.config.objective, scene.model.artifact_.record["chosen"]
    restarts = [str(restart) for restart in config.restarts]
    names = [*restarts, *(str(restart) for restart in config.link_restarts)]
    scores, count = chosen["hidden_r2"], len(restarts)
    left.bar(range(len(names)), scores, color=[PALETTE[0]] * count + [PALETTE[5]] * (len(names) - count))
    left.set_xticks(range(len(names)), names)
    left.set_xlabel("restart of the other half of the words (blue) and of the links", fontsize=8, color=INK)
    _title(left, "R² of the hidden half")
    right.bar(range(count), chosen["mixture"], color=PALETTE[0])
    right.set_xticks(range(count), restarts)
    right.set_xlabel("restart", fontsize=8, color=INK)
    _title(right, "mixture of the smoothed words")
    return figure


def draw_columns(scene: Scene) -> Figure:
    """Accuracy on new nodes by the number of leading columns."""
    figure, (axes,) = _panels(5.2, 3, 1)
    counts = [count for count in COLUMNS if count <= scene.new_vectors.shape[1]]
    axes.plot(counts, [100 * scene.correct(count).mean() for count in counts], color=PALETTE[0], marker="o", lw=2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_xlabel("leading columns of the vectors", fontsize=8, color=INK)
    _title(axes, "accuracy on the 1,000 new nodes, %")
    return figure


def draw_uncertainty(scene: Scene) -> Figure:
    """Uncertainty partly separates errors from correct predictions."""
    figure, (axes,) = _panels(5.6, 3.1, 1)
    correct, uncertainty = scene.correct(scene.new_vectors.shape[1]), scene.model.uncertainty(scene.new_vectors)
    bins = np.linspace(uncertainty.min(), uncertainty.max(), 25)
    axes.hist(uncertainty[correct], bins, color=PALETTE[2], alpha=0.75, density=True, label="correctly classified")
    axes.hist(uncertainty[~correct], bins, color=PALETTE[5], alpha=0.65, density=True, label="misclassified")
    axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    axes.set_yticks([])
    axes.set_xlabel("uncertainty", fontsize=8, color=INK)
    _title(axes, "the 1,000 new nodes, density per group")
    return figure


def draw_explanation(scene: Scene) -> Figure:
    """The nodes that the new node's vector is based on, sized by their shares."""
    figure, (left, right) = _panels(9, 4.6, 1.2, 1)
    ids = scene.graph.node_ids
    found = scene.model.embed(scene.graph, [ids[scene.newcomer]], explain=SHOWN_NODES).explanation
    assert found is not None
    nodes = scene.graph.nodes_of([node for node, _ in found[0]])
    shares = [share for _, share in found[0]]
    network, places = _network(scene.graph, nodes)
    _draw_network(left, scene, network, places, dict(zip(nodes.tolist(), shares, strict=True)))
    _title(left, f"paper {ids[scene.newcomer]}, a new node, and what its vector is based on")
    top = nodes[:10].tolist()
    right.barh(range(len(top)), shares[:10], color=[scene.colours[scene.classes[node]] for node in top])
    names = [f"{ids[node]}{' (itself)' if node == scene.newcomer else ''}" for node in top]
    right.set_yticks(range(len(top)), names)
    right.invert_yaxis()
    _title(right, "the ten largest shares")
    _legend(figure, {name: scene.colours[name] for name in sorted({scene.classes[n] for n in network})})
    return figure


if __name__ == "__main__":
    main()
