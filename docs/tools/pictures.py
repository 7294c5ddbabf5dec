"""Draws the pictures of docs/model.md from a real model of Cora. Run: python docs/tools/pictures.py

The model is fitted without the 1,000 test papers of the first split, which then arrive (as in `sanne demo`).
`--model FOLDER` keeps it for the next time; names after that (`walks weights ...`) draw some of the pictures only.
"""

import argparse
import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from sanne import SANNE
from sanne.datasets.catalogue import named_classes
from sanne.demo import Task, make_task
from sanne.draw.plot import INK, NO_LABEL, PALETTE, PAPER, SOFT_INK, map_points
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.infer.read import largest_shares
from sanne.model.artifact import Artifact
from sanne.model.distil import ClusterDistillation, Teacher, restart_weights
from sanne.model.encoder import EncoderLayer
from sanne.model.objective import visit_weights
from sanne.seeds import derived_seed
from sanne.walks.sample import Walks, WalkSampler

OUT = Path(__file__).parents[1] / "pictures"
RECIPE, SEED = "best", 0
WALK_COUNTS = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Scene:
    """A trained model, the graph with its new nodes, and one of them to look at."""

    task: Task
    model: SANNE
    newcomer: int  # index in the graph

    @property
    def graph(self) -> Graph:
        return self.task.graph

    @property
    def artifact(self) -> Artifact:
        return self.model.artifact_

    @property
    def objective(self) -> ClusterDistillation:
        found = self.artifact.model.objective
        assert isinstance(found, ClusterDistillation)
        return found

    @cached_property
    def classes(self) -> Any:
        assert self.graph.labels is not None
        return named_classes("cora", self.graph.labels)

    @cached_property
    def colours(self) -> dict[str, str]:
        return dict(zip(sorted(set(self.classes)), PALETTE, strict=False))

    @cached_property
    def walks(self) -> Walks:
        """The walks that the new node's vector is the mean of."""
        return self.walks_on(self.graph, self.newcomer)

    def walks_on(self, graph: Graph, node: int) -> Walks:
        config = self.artifact.config
        sampler = WalkSampler(
            graph.adjacency(), walk_length=config.walks.walk_length, seed=derived_seed(SEED, "inference")
        )
        return sampler.walks_of_each(np.array([node]), config.infer.num_inference_walks)

    def read(self, graph: Graph, walks: Walks) -> torch.Tensor:
        """Features of visited nodes as the encoder reads them."""
        visited, where = np.unique(walks, return_inverse=True)
        rows = self.artifact.feature_map.transform(graph, visited.astype(np.int64))
        rows = rows * visit_weights(np.diff(graph.indptr)[visited], self.objective.degree_power)[:, None]
        return torch.from_numpy(rows)[torch.from_numpy(where.reshape(walks.shape))]


def main() -> None:
    """Train, or load the model of the last run, and draw."""
    draws = (draw_walks, draw_weights, draw_teacher, draw_student, draw_attention, draw_spread, draw_explanation)
    named = {draw.__name__.removeprefix("draw_"): draw for draw in draws}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path)
    parser.add_argument("names", nargs="*", choices=[*named, []])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    task = make_task("cora")
    if asked.model and asked.model.is_dir():
        model = SANNE.load(asked.model)
    else:
        unfinished = asked.model.with_suffix(".checkpoint") if asked.model else None
        model = SANNE(RECIPE, random_state=SEED).fit(task.before, checkpoint=unfinished, resume=True)
        if asked.model:
            model.save(asked.model)
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


def _neighbourhood(scene: Scene) -> tuple[nx.Graph, dict[int, Any]]:
    """The nodes that the new node's walks visit and the edges among them, with a layout."""
    visited = np.unique(scene.walks)
    network = nx.Graph()
    network.add_nodes_from(visited.tolist())
    indptr, indices = scene.graph.indptr, scene.graph.indices
    for node in visited.tolist():
        row = indices[indptr[node] : indptr[node + 1]]
        network.add_edges_from((node, other) for other in row[np.isin(row, visited)].tolist())
    return network, nx.kamada_kawai_layout(network)


def draw_walks(scene: Scene) -> Figure:
    """The new node, all nodes that its walks visit, and two of these walks."""
    figure, panels = _panels(9, 4.8, 1, 1)
    network, places = _neighbourhood(scene)
    longest = np.argsort([-len(set(walk)) for walk in scene.walks.tolist()], kind="stable")[:2]
    for axes, number in zip(panels, longest.tolist(), strict=True):
        axes.set_axis_off()
        nx.draw_networkx_edges(network, places, ax=axes, edge_color=NO_LABEL, width=0.8)
        nodes = list(network)
        nx.draw_networkx_nodes(
            network, places, nodes, ax=axes, node_size=45, node_color=[scene.colours[scene.classes[n]] for n in nodes]
        )
        walk = scene.walks[number].tolist()
        nx.draw_networkx_edges(
            nx.DiGraph(list(itertools.pairwise(walk))), places, ax=axes, edge_color=INK, width=1.6,
            arrowsize=11, node_size=70, connectionstyle="arc3,rad=0.12",
        )  # fmt: skip
        nx.draw_networkx_nodes(
            network, places, [scene.newcomer], ax=axes, node_size=150, edgecolors=INK, linewidths=1.8,
            node_color=scene.colours[scene.classes[scene.newcomer]],
        )  # fmt: skip
        order = " → ".join(str(scene.graph.node_ids[node]) for node in walk)
        _title(axes, f"walk {number + 1} of {len(scene.walks)}\n{order}")
    _legend(figure, {name: scene.colours[name] for name in sorted({scene.classes[n] for n in network})})
    return figure


def draw_weights(scene: Scene) -> Figure:
    """The weight of a position and of a degree."""
    figure, (left, right) = _panels(8, 2.8, 1, 1)
    config = scene.artifact.config
    weights = restart_weights(config.walks.walk_length, config.objective.restart).numpy()
    left.bar(np.arange(1, len(weights) + 1), weights, color=PALETTE[0])
    left.set_xticks(np.arange(1, len(weights) + 1))
    left.set_xlabel("position in the walk; the last includes all later ones", fontsize=8, color=INK)
    _title(left, "weight of a position")
    degrees = np.arange(1, 41)
    right.plot(degrees, visit_weights(degrees, config.objective.degree_power), color=PALETTE[5], lw=2)
    right.set_ylim(0, 1.05)
    right.set_xlabel("number of neighbours of the visited node", fontsize=8, color=INK)
    _title(right, "weight of a visit")
    return figure


def _teacher(scene: Scene) -> Teacher:
    """The teacher again: the same seed gives the same centres."""
    before = scene.task.before
    features = scene.artifact.feature_map.transform(before)
    return Teacher(before.adjacency(), features, scene.artifact.config.objective, SEED)


def draw_teacher(scene: Scene) -> Figure:
    """Raw features, and smoothed over the graph."""
    figure, panels = _panels(9, 4.9, 1, 1)
    before = scene.task.before
    raw = scene.artifact.feature_map.transform(before)
    smoothed = _teacher(scene)._scales[0][0].numpy()
    assert before.labels is not None
    colours = [scene.colours[name] for name in named_classes("cora", before.labels)]
    for axes, (name, rows) in zip(panels, (("words alone", raw), ("smoothed over the graph", smoothed)), strict=True):
        axes.set_axis_off()
        axes.scatter(*map_points(rows.astype(np.float64), "tsne", SEED).T, s=5, c=colours, alpha=0.8, linewidths=0)
        _title(axes, name)
    _legend(figure, scene.colours)
    return figure


def draw_student(scene: Scene) -> Figure:
    """One clustering: assignments by the teacher, the first estimate and the model; mean divergence of both."""
    teacher, some = _teacher(scene), _papers(scene)
    size = scene.objective.group_sizes[0]
    wanted = teacher.logits(torch.from_numpy(some))[:, :size].softmax(1)
    guesses, learned = zip(*(_shares(scene, teacher, node) for node in some.tolist()), strict=True)
    off = [
        float((wanted * (wanted / torch.stack(shares)).log()).sum(1).mean()) for shares in (guesses, learned)
    ]  # Kullback-Leibler divergence
    one = int(wanted.max(1).values.argsort()[len(some) // 2])  # as sure a case as half of them
    figure, panels = _panels(10.5, 2.9, 1, 1, 1, 0.6)
    rows = (wanted[one], guesses[one], learned[one])
    names = ("the teacher: the whole graph", "mean of 32 walks, untrained", "the model, same walks")
    colours = (INK, NO_LABEL, PALETTE[0])
    for axes, share, name, colour in zip(panels, rows, names, colours, strict=False):
        axes.bar(np.arange(1, size + 1), share.numpy(), color=colour)
        axes.set_ylim(0, 1.08 * max(float(row.max()) for row in rows))
        axes.set_xlabel(f"cluster, of {size}", fontsize=8, color=INK)
        _title(axes, name)
    panels[0].set_ylabel("probability", fontsize=8, color=INK)
    panels[-1].bar(("untrained", "model"), off, color=colours[1:], width=0.6)
    _title(panels[-1], "divergence")
    panels[-1].set_xlabel(f"mean of {len(some)} papers", fontsize=8, color=INK)
    return figure


def _papers(scene: Scene) -> Any:
    """Some training papers with three or more neighbours."""
    some = np.flatnonzero(np.diff(scene.task.before.indptr) >= 3)
    return np.sort(np.random.default_rng(SEED).choice(some, 200, replace=False))


def _shares(scene: Scene, teacher: Teacher, node: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Assignments of the first clustering by the untrained mean and by the model, mean over the same walks."""
    objective, graph = scene.objective, scene.task.before
    size = objective.group_sizes[0]
    read = scene.read(graph, scene.walks_on(graph, node))
    with torch.inference_mode():
        mean = objective._mean(read)
        untrained = objective.config.sharpness * torch.nn.functional.normalize(mean, dim=1) @ teacher.centres[:size].T
        corrected = objective._logits(scene.artifact.model.encoder, read, mean)[:, :size]
    return untrained.softmax(1).mean(0), corrected.softmax(1).mean(0)


def draw_attention(scene: Scene) -> Figure:
    """Attention within one walk of the new node, by layer, and the resulting shares."""
    encoder = scene.artifact.model.encoder
    read = scene.read(scene.graph, scene.walks)
    number = int(np.argmax([len(set(walk)) for walk in scene.walks.tolist()]))
    maps = []
    with torch.inference_mode():
        hidden = encoder.embed(read)
        for layer in encoder.layers:
            assert isinstance(layer, EncoderLayer)
            assert layer.attention is not None
            maps.append(layer.attention.weights(layer.attention_input(hidden)).mean(dim=1)[number].numpy())
            hidden = layer(hidden)
        shares = scene.artifact.model.position_shares(read)[number].numpy()
    figure, panels = _panels(3 * len(maps) + 3.6, 3.3, *([1] * len(maps)), 1.1)
    length = len(shares)
    ids = [str(scene.graph.node_ids[node]) for node in scene.walks[number]]
    for index, (axes, weights) in enumerate(zip(panels, maps, strict=False)):
        axes.imshow(weights, cmap="Blues", vmin=0, vmax=max(float(one.max()) for one in maps))
        axes.set_xticks(range(length), ids, rotation=90, fontsize=7)
        axes.set_yticks(range(length), ids, fontsize=7)
        _title(axes, f"layer {index + 1}: row attends to column")
    colours = [scene.colours[scene.classes[node]] for node in scene.walks[number]]
    panels[-1].bar(range(length), shares, color=colours)
    panels[-1].set_xticks(range(length), ids, rotation=90, fontsize=7)
    _title(panels[-1], "share of each position in the vector")
    return figure


def draw_spread(scene: Scene) -> Figure:
    """The spread shrinks with more walks; uncertainty partly separates errors from correct predictions."""
    figure, (left, right) = _panels(8.6, 3.1, 1, 1.2)
    some = scene.graph.node_ids[scene.task.new[:200]]
    means = []
    for count in WALK_COUNTS:
        artifact = Artifact(
            scene.artifact.config.replace(num_inference_walks=count),
            *(SEED, scene.artifact.feature_map, scene.artifact.model, scene.artifact.num_nodes),
        )
        means.append(float(embed(artifact, scene.graph, some).spread.mean()))
    left.plot(WALK_COUNTS, means, color=PALETTE[0], marker="o", lw=2)
    left.set_xscale("log", base=2)
    left.set_xticks(WALK_COUNTS, [str(count) for count in WALK_COUNTS])
    left.set_ylim(0)
    left.set_xlabel("walks per node", fontsize=8, color=INK)
    _title(left, "spread, mean of 200 new nodes")
    task, labels = scene.task, scene.graph.labels
    assert labels is not None
    rows = {node: row for row, node in enumerate(scene.model.node_ids_.tolist())}
    train = [rows[node] for node in scene.graph.node_ids[task.train].tolist()]
    probe = LogisticRegression(C=100, max_iter=2000).fit(scene.model.embedding_[train], labels[task.train])
    vectors = scene.model.transform(scene.graph, scene.graph.node_ids[task.new])
    correct, uncertainty = probe.predict(vectors) == labels[task.new], scene.model.uncertainty(vectors)
    bins = np.linspace(uncertainty.min(), uncertainty.max(), 25)
    right.hist(uncertainty[correct], bins, color=PALETTE[2], alpha=0.75, density=True, label="correctly classified")
    right.hist(uncertainty[~correct], bins, color=PALETTE[5], alpha=0.65, density=True, label="misclassified")
    right.legend(frameon=False, fontsize=8, labelcolor=INK)
    right.set_yticks([])
    right.set_xlabel("uncertainty", fontsize=8, color=INK)
    _title(right, "uncertainty of the 1,000 new nodes, density per group")
    return figure


def draw_explanation(scene: Scene) -> Figure:
    """The nodes that the new node's vector is based on, sized by their shares."""
    figure, (left, right) = _panels(9, 4.6, 1.2, 1)
    network, places = _neighbourhood(scene)
    read = scene.read(scene.graph, scene.walks)
    with torch.inference_mode():
        by_position = scene.artifact.model.position_shares(read).numpy()
    ((nodes, shares),) = largest_shares(scene.walks, by_position, len(scene.walks), len(network))
    share = dict(zip(nodes.tolist(), shares.tolist(), strict=True))
    left.set_axis_off()
    nx.draw_networkx_edges(network, places, ax=left, edge_color=NO_LABEL, width=0.8)
    nx.draw_networkx_nodes(
        network, places, list(network), ax=left, node_size=[25 + 2600 * share[node] for node in network],
        node_color=[scene.colours[scene.classes[node]] for node in network], alpha=0.9,
        edgecolors=[INK if node == scene.newcomer else PAPER for node in network],
    )  # fmt: skip
    _title(left, f"paper {scene.graph.node_ids[scene.newcomer]}, a new node, and what its vector is based on")
    top = nodes[:10].tolist()
    right.barh(range(10), shares[:10], color=[scene.colours[scene.classes[node]] for node in top])
    names = [f"{scene.graph.node_ids[n]}{' (itself)' if n == scene.newcomer else ''}" for n in top]
    right.set_yticks(range(10), names)
    right.invert_yaxis()
    _title(right, "the ten largest shares")
    _legend(figure, {name: scene.colours[name] for name in sorted({scene.classes[n] for n in network})})
    return figure


if __name__ == "__main__":
    main()
