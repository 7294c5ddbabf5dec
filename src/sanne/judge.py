"""Judge a fitted model on its own graph, or draw it: classification, link prediction, communities, a map."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.datasets.catalogue import named_classes
from sanne.draw.plot import plot_map
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.evaluate.clustering import score_communities
from sanne.evaluate.link_prediction import score_links
from sanne.evaluate.node_classification import score_split
from sanne.evaluate.splits import seeded_splits
from sanne.graph.graph import Graph
from sanne.graph.readers.tables import read_label_table
from sanne.graph.split import hold_out_edges
from sanne.source import ModelSource
from sanne.vectors.formats import read_vectors

Task = Literal["classify", "links", "communities"]


def judge(
    model: SANNE,
    origin: ModelSource,
    task: Task,
    labels: Path | None,
    *,
    fraction: float = 0.1,
    communities: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Scores of a model on one task, ready for JSON."""
    graph = None if labels and task == "classify" else origin.load()
    if task == "links" and graph is not None:
        return judge_links(model, graph, fraction, seed)
    classes = labels_of(model, graph, labels)
    if task == "communities" and graph is not None:
        return judge_communities(model, graph, classes, communities, seed)
    if classes is None:
        raise InputError("the graph has no labels: give a table with the columns id and label by --labels")
    return judge_classes(model, classes, seed)


def labels_of(model: SANNE, graph: Graph | None, labels: Path | None) -> npt.NDArray[Any] | None:
    """One label per fitted node, from a table or from the graph itself."""
    if labels is not None:
        return read_label_table(labels, model.node_ids_)
    if graph is None or graph.labels is None:
        return None
    return graph.labels[graph.nodes_of(model.node_ids_)]


def judge_classes(model: SANNE, labels: npt.NDArray[Any], seed: int) -> dict[str, Any]:
    """Logistic regression on the fitted vectors over ten splits."""
    splits = seeded_splits(labels, seed)
    parts = zip(splits.train, splits.val, splits.test, strict=True)
    scores = [score_split(model.embedding_, labels, *split) for split in parts]
    tests = [score.test for score in scores]
    return {
        "task": "classify",
        "mean": round(float(np.mean(tests)), 2),
        "std": round(float(np.std(tests)), 2),
        "validation": round(float(np.mean([score.val for score in scores])), 2),
        "splits": [asdict(score) for score in scores],
        "train": splits.train.shape[1],
        "val": splits.val.shape[1],
        "test": splits.test.shape[1],
    }


def judge_links(model: SANNE, graph: Graph, fraction: float, seed: int) -> dict[str, Any]:
    """Hide a share of the edges, fit again with the same settings, and rank hidden edges above non-edges."""
    train_graph, positives, negatives = hold_out_edges(graph, fraction, seed)
    again = SANNE(**model.get_params()).fit(train_graph)
    scores = score_links(again.embedding_, positives, negatives)
    return {"task": "links", "held_out": len(positives), "fraction": fraction, **scores.to_dict()}


def judge_communities(
    model: SANNE, graph: Graph, labels: npt.NDArray[Any] | None, count: int | None, seed: int
) -> dict[str, Any]:
    """k-means on the fitted vectors against the classes, and its modularity on the graph."""
    rows = graph.nodes_of(model.node_ids_)
    adjacency = graph.adjacency("both").to_scipy()[rows][:, rows]
    scores = score_communities(model.embedding_, labels, adjacency=adjacency, num_communities=count, seed=seed)
    return {"task": "communities", **scores.to_dict()}


def draw_model(
    model: SANNE,
    origin: ModelSource,
    out: Path,
    *,
    labels: Path | None = None,
    new: Path | None = None,
    method: Literal["auto", "tsne", "pca"] = "auto",
    seed: int = 0,
) -> int:
    """Draw the fitted vectors, with new nodes from a vectors file; returns how many points there are."""
    classes = labels_of(model, origin.load() if labels is None and origin.source else None, labels)
    if classes is not None and classes.ndim != 1:
        classes = None
    if classes is not None and labels is None and origin.dataset:
        classes = named_classes(origin.dataset, classes)
    vectors, ids = model.embedding_, model.node_ids_
    if new is None:
        plot_map(vectors, classes, out, method=method, node_ids=ids, seed=seed)
        return len(ids)
    arrived = read_vectors(new)
    if arrived.dim != vectors.shape[1]:
        raise InputError(f"{new}: {arrived.dim} columns, but the model's vectors have {vectors.shape[1]}")
    fresh = ~np.isin(arrived.node_ids.astype(str), ids.astype(str))
    count = int(fresh.sum())
    plot_map(
        np.concatenate([vectors, arrived.vectors[fresh]]),
        None if classes is None else np.concatenate([classes.astype(object), [None] * count]),
        out,
        method=method,
        new=np.arange(len(ids) + count) >= len(ids),
        node_ids=np.concatenate([ids.astype(object), arrived.node_ids[fresh].astype(object)]),
        seed=seed,
    )
    return len(ids) + count
