"""The demonstration: fit Cora without 1000 of its papers, embed them as new nodes, evaluate, draw the map."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne.datasets.catalogue import load_dataset, named_classes
from sanne.draw.plot import plot_map
from sanne.estimator import SANNE
from sanne.evaluate.baselines import smoothed_features
from sanne.evaluate.node_classification import classify_split
from sanne.evaluate.splits import seeded_splits
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hide_nodes

_DATASET = "cora"


@dataclass(frozen=True, eq=False)
class Task:
    """A graph whose test nodes arrive later; a classifier is trained on `train` and chooses C on `val`."""

    graph: Graph
    labels: IntArray
    before: Graph  # without the new nodes
    train: IntArray
    val: IntArray
    rest: IntArray  # present nodes in neither train nor val
    new: IntArray

    def accuracies(self, vectors: FloatArray) -> list[float]:
        """Accuracy on present and on new nodes."""
        parts = (self.rest, self.new)
        return [round(classify_split(vectors, self.labels, self.train, self.val, part)[0].test, 2) for part in parts]


def make_task(dataset: str) -> Task:
    """The first split of a dataset, its test nodes as new nodes."""
    graph = load_dataset(dataset)
    assert graph.labels is not None
    splits = seeded_splits(graph.labels, seed=0, count=1)
    train, val, new = splits.train[0], splits.val[0], splits.test[0]
    rest = np.setdiff1d(np.flatnonzero(graph.labels >= 0), np.concatenate([train, val, new]))
    return Task(graph, graph.labels, hide_nodes(graph, new), train, val, rest, new)


def run_demo(
    *, recipe: str = "fast", seed: int = 0, out: Path = Path("map.png"), say: Callable[[str], None]
) -> dict[str, Any]:
    """Run the demonstration and report progress to `say`; returns the measurements."""
    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def timed(step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds[f"{step}_seconds"] = round(time.perf_counter() - started, 2)

    with timed("load"):
        task = make_task(_DATASET)
    say(f"{_DATASET}: {task.graph.num_nodes:,} papers, {task.graph.num_edges:,} links; hiding {len(task.new):,} papers")
    with timed("fit"):
        model = SANNE(recipe, random_state=seed).fit(task.before)
    say(f"fitted the other {task.before.num_nodes:,} in {seconds['fit_seconds']:.1f} s")
    with timed("embed"):
        new = model.embed(task.graph, task.graph.node_ids[task.new])
    say(f"embedded {len(task.new):,} new papers in {seconds['embed_seconds']:.1f} s, without fitting again")
    order = np.concatenate([task.graph.nodes_of(task.before.node_ids), task.new])
    vectors = np.concatenate([model.embedding_, new.vectors])
    with timed("evaluate"):
        present_accuracy, new_accuracy = task.accuracies(vectors[np.argsort(order)])
        smoothed_present, smoothed_new = task.accuracies(smoothed_features(task.before, task.graph, seed))
    classes = named_classes(_DATASET, task.labels)
    with timed("plot"):
        title = f"{_DATASET.capitalize()}: {len(task.new):,} papers that arrived after the fit"
        marks = np.arange(len(order)) >= task.before.num_nodes
        plot_map(vectors, classes[order], out, new=marks, node_ids=task.graph.node_ids[order], title=title, seed=seed)
    example = new.node_ids[:1].tolist()[0]
    similar = model.similar(example, k=10)
    class_of = dict(zip(task.graph.node_ids.tolist(), classes.tolist(), strict=True))
    return {
        "dataset": _DATASET,
        "recipe": recipe,
        "seed": seed,
        "present_nodes": task.before.num_nodes,
        "new_nodes": len(task.new),
        "present_accuracy": present_accuracy,
        "new_accuracy": new_accuracy,
        "smoothed_accuracy": smoothed_new,
        "smoothed_present_accuracy": smoothed_present,
        **seconds,
        "example": example,
        "example_class": class_of[example],
        "similar": [{"id": id, "similarity": round(score, 4), "class": class_of[id]} for id, score in similar],
        "map": str(out),
    }
