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
from sanne.evaluate.node_classification import score_split
from sanne.evaluate.splits import seeded_splits
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hide_nodes

_DATASET = "cora"


@dataclass(frozen=True, eq=False)
class Task:
    """A graph whose test nodes arrive later; a classifier is trained on `train` and chooses C on `val`."""

    graph: Graph
    before: Graph  # without the new nodes
    train: IntArray
    val: IntArray
    rest: IntArray  # present nodes in neither train nor val
    new: IntArray

    def accuracies(self, vectors: FloatArray) -> list[float]:
        """Accuracy on present and on new nodes."""
        labels = self.graph.labels
        assert labels is not None
        parts = (self.rest, self.new)
        return [round(score_split(vectors, labels, self.train, self.val, part).test, 2) for part in parts]

    @property
    def present(self) -> IntArray:
        return np.setdiff1d(np.arange(self.graph.num_nodes), self.new)


def run_demo(
    *, recipe: str = "fast", seed: int = 0, out: Path = Path("map.png"), say: Callable[[str], None]
) -> dict[str, Any]:
    """Run it all and report progress to `say`; returns what was measured."""
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
    say(f"embedded {len(task.new):,} new papers in {seconds['embed_seconds']:.1f} s, without training again")
    with timed("evaluate"):
        order = np.concatenate([task.present, task.new])
        vectors = np.concatenate([model.embedding_, new.vectors])
        present_accuracy, new_accuracy = task.accuracies(vectors[np.argsort(order)])
        smoothed_present, smoothed_new = task.accuracies(smoothed_features(task.before, task.graph, seed))
    assert task.graph.labels is not None
    classes = named_classes(_DATASET, task.graph.labels)
    with timed("plot"):
        plot_map(
            vectors,
            classes[order],
            out,
            new=np.arange(len(order)) >= task.before.num_nodes,
            node_ids=task.graph.node_ids[order],
            title=f"{_DATASET.capitalize()}: {len(task.new):,} papers that arrived after the fit",
            seed=seed,
        )
    example = new.node_ids[:1].tolist()[0]
    similar = model.similar(example, k=10)
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
        "example_class": str(classes[task.new[0]]),
        "similar": [
            {"id": other, "similarity": round(score, 4), "class": str(classes[node])}
            for (other, score), node in zip(similar, task.graph.nodes_of([i for i, _ in similar]), strict=True)
        ],
        "map": str(out),
    }


def make_task(dataset: str) -> Task:
    """The first split of a dataset, its test nodes as new nodes."""
    graph = load_dataset(dataset)
    assert graph.labels is not None
    splits = seeded_splits(graph.labels, seed=0, count=1)
    train, val, new = splits.train[0], splits.val[0], splits.test[0]
    labelled = np.flatnonzero(graph.labels >= 0)
    rest = np.setdiff1d(labelled, np.concatenate([train, val, new]))
    return Task(graph, hide_nodes(graph, new), train, val, rest, new)
