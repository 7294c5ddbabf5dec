"""The demonstration: fit Cora without 1000 of its papers, let them arrive, judge the vectors, draw the map."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import Config
from sanne.datasets import load_dataset, load_splits, named_classes
from sanne.draw.plot import plot_map
from sanne.estimator import SANNE
from sanne.evaluate.node_classification import score_split
from sanne.features.choose import fit_features
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hide_nodes
from sanne.seeds import derived_seed
from sanne.walks.mean_walk import mean_along_walks
from sanne.walks.sample import WalkSampler

_MEAN_WALKS = 128  # a node, for the vectors that need no training


@dataclass(frozen=True, eq=False)
class Task:
    """A graph whose test nodes arrive later; a classifier learns from `train`, chooses C on `val`."""

    graph: Graph
    before: Graph  # without the newcomers
    train: IntArray
    val: IntArray
    rest: IntArray  # present nodes that neither train nor val holds
    new: IntArray

    def accuracies(self, present: FloatArray, new: FloatArray) -> tuple[float, float]:
        """Accuracy on present nodes and on newcomers; `present` has a row for each node of `before`."""
        labels = self.graph.labels
        assert labels is not None
        vectors = np.zeros((self.graph.num_nodes, present.shape[1]), np.float32)
        vectors[np.setdiff1d(np.arange(self.graph.num_nodes), self.new)] = present
        vectors[self.new] = new

        def accuracy(part: IntArray) -> float:
            return score_split(vectors, labels, self.train, self.val, part).test

        return accuracy(self.rest), accuracy(self.new)


def run_demo(
    *,
    dataset: str = "cora",
    recipe: str = "fast",
    seed: int = 0,
    out: Path = Path("map.png"),
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Run it all; `say` is told what happens. The dictionary holds what was measured."""
    started = time.perf_counter()
    task = make_task(dataset)
    load_seconds = time.perf_counter() - started
    say(f"{dataset}: {task.graph.num_nodes:,} papers, {task.graph.num_edges:,} links; hiding {len(task.new):,} papers")

    started = time.perf_counter()
    model = SANNE(recipe, random_state=seed).fit(task.before)
    fit_seconds = time.perf_counter() - started
    say(f"fitted on the {task.before.num_nodes:,} others in {fit_seconds:.1f} s")

    started = time.perf_counter()
    newcomers = model.embed(task.graph, task.graph.node_ids[task.new])
    embed_seconds = time.perf_counter() - started
    say(f"{len(task.new):,} newcomers arrived and were embedded in {embed_seconds:.1f} s, without training again")

    started = time.perf_counter()
    present_accuracy, new_accuracy = task.accuracies(model.embedding_, newcomers.vectors)
    mean_present, mean_new = task.accuracies(*walk_means(task, seed))
    evaluate_seconds = time.perf_counter() - started

    started = time.perf_counter()
    present = np.setdiff1d(np.arange(task.graph.num_nodes), task.new)
    order = np.concatenate([present, task.new])
    assert task.graph.labels is not None
    classes = named_classes(dataset, task.graph.labels)
    plot_map(
        np.concatenate([model.embedding_, newcomers.vectors]),
        classes[order],
        out,
        new=np.arange(len(order)) >= len(present),
        node_ids=task.graph.node_ids[order],
        title=f"{dataset.capitalize()}: {len(task.new):,} papers that arrived after the fit",
        seed=seed,
    )
    plot_seconds = time.perf_counter() - started
    example = newcomers.node_ids[:1].tolist()[0]
    similar = model.similar(example, k=10)
    return {
        "dataset": dataset,
        "recipe": recipe,
        "seed": seed,
        "present_nodes": len(present),
        "new_nodes": len(task.new),
        "present_accuracy": round(present_accuracy, 2),
        "new_accuracy": round(new_accuracy, 2),
        "walk_mean_accuracy": round(mean_new, 2),
        "walk_mean_present_accuracy": round(mean_present, 2),
        "load_seconds": round(load_seconds, 2),
        "fit_seconds": round(fit_seconds, 2),
        "embed_seconds": round(embed_seconds, 2),
        "evaluate_seconds": round(evaluate_seconds, 2),
        "plot_seconds": round(plot_seconds, 2),
        "example": example,
        "example_class": str(classes[task.new[0]]),
        "similar": [
            {"id": other, "similarity": round(score, 4), "class": str(classes[node])}
            for (other, score), node in zip(similar, task.graph.nodes_of([i for i, _ in similar]), strict=True)
        ],
        "map": str(out),
    }


def make_task(dataset: str) -> Task:
    """The first split of a dataset, as a story of arrival."""
    graph, splits = load_dataset(dataset), load_splits(dataset)
    train, val, new = splits.train[0], splits.val[0], splits.test[0]
    assert graph.labels is not None
    labelled = np.flatnonzero(graph.labels >= 0)
    rest = np.setdiff1d(labelled, np.concatenate([train, val, new]))
    return Task(graph, hide_nodes(graph, new), train, val, rest, new)


def walk_means(task: Task, seed: int) -> tuple[FloatArray, FloatArray]:
    """Vectors without any training, the mean features along walks: those of present nodes and of newcomers."""
    config = Config()
    feature_map = fit_features(task.before, config.features, seed)

    def means(graph: Graph, nodes: IntArray) -> FloatArray:
        walk_seed = derived_seed(seed, "inference")
        sampler = WalkSampler(graph.adjacency("both"), walk_length=config.walks.walk_length, seed=walk_seed)
        return mean_along_walks(sampler, feature_map.transform(graph), nodes, _MEAN_WALKS)

    return means(task.before, np.arange(task.before.num_nodes)), means(task.graph, task.new)
