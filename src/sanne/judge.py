"""Judge a fitted model on its own graph, compare systems on a graph, draw a model's map."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from sanne.datasets.catalogue import named_classes
from sanne.draw.plot import plot_map
from sanne.errors import InputError, MissingExtraError
from sanne.estimator import SANNE
from sanne.evaluate.baselines import deepwalk, own_features, smoothed_features
from sanne.evaluate.clustering import score_communities
from sanne.evaluate.link_prediction import score_links
from sanne.evaluate.node_classification import ClassTask
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.ids import match_ids
from sanne.graph.readers.tables import read_columns, read_label_table
from sanne.graph.split import hold_out_edges
from sanne.predict import label_column, warn_if_read
from sanne.seeds import numpy_stream
from sanne.source import ModelSource
from sanne.vectors.formats import read_vectors
from sanne.vectors.search import column_weights

Task = Literal["classify", "links", "communities"]
logger = logging.getLogger(__name__)
_LINKED = 0.25  # the detail (`similar`) by which links are ranked: of the suite's graphs BlogCatalog alone prefers 0
NO_LABELS = "the graph has no labels: give a table with the columns id and label by --labels (--label names another)"


def judge(
    model: SANNE,
    origin: ModelSource,
    task: Task,
    labels: Path | None,
    *,
    label: str | None = None,
    id: str | None = None,
    fraction: float = 0.1,
    communities: int | None = None,
    label_share: float | None = None,
    newcomers: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """Scores of a model on one task, ready for JSON."""
    graph = origin.load() if origin.source or labels is None or newcomers or task != "classify" else None
    if task == "links" and graph is not None:
        return judge_links(model, graph, fraction, seed)
    classes = labels_of(model, graph, labels, origin, label, id)
    if task == "communities" and graph is not None:
        return judge_communities(model, graph, classes, communities, seed)
    if classes is None:
        raise InputError(NO_LABELS)
    return judge_classes(model, graph, classes, label_share=label_share, newcomers=newcomers, seed=seed)


def labels_of(
    model: SANNE,
    graph: Graph | None,
    labels: Path | None,
    origin: ModelSource,
    label: str | None = None,
    id: str | None = None,
) -> npt.NDArray[Any] | None:
    """One label per fitted node, from a table or from the graph itself."""
    if labels is not None:
        column = warn_if_read(model, label_column(model, labels, label))
        return read_label_table(labels, model.node_ids_, column, id)
    if graph is None or graph.labels is None:
        return None
    found = graph.labels[graph.nodes_of(model.node_ids_)]
    return named_classes(origin.dataset, found) if origin.dataset else found


def judge_classes(
    model: SANNE,
    graph: Graph | None,
    labels: npt.NDArray[Any],
    *,
    label_share: float | None = None,
    newcomers: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """Logistic regression on vectors over ten splits, beside baselines (those of features need the graph).

    `newcomers`: a tenth of the nodes is hidden, a model with the same settings is fitted without them, and the test
    nodes are what it makes of them, new in the graph; nothing that is fitted has seen them. `labels` are of the model's
    nodes. Precision, recall and the confusion matrix (rows: true classes) are of all splits together.
    """
    vectors = {"sanne": model.embedding_}
    new = None
    if graph is not None:
        if not np.array_equal(graph.node_ids, model.node_ids_):
            graph = graph.subgraph(graph.nodes_of(model.node_ids_))
        before = graph
        if newcomers:
            new = numpy_stream(seed, "newcomers").permutation(graph.num_nodes) < -(-graph.num_nodes // 10)
            before = graph.subgraph(~new)
    task = ClassTask.of(labels, share=label_share, new=new, seed=seed)
    if graph is not None:
        if new is not None:
            logger.info("fitting again without %s nodes", f"{new.sum():,}")
            again = SANNE(**model.get_params()).fit(before)
            rows = np.empty((len(new), again.embedding_.shape[1]), np.float32)
            rows[~new], rows[new] = again.embedding_, again.embed(graph, graph.node_ids[new]).vectors
            vectors["sanne"] = rows
        logger.info("computing baselines")
        vectors["smoothed features"] = smoothed_features(before, graph, seed)
        vectors["own features"] = own_features(before, graph, seed)
    scores = {}
    for name, rows in vectors.items():
        logger.info("scoring %s", name)
        scores[name] = task.score(rows, progress=None)
    own = scores.pop("sanne")
    baselines = {name: {key: score[key] for key in ("mean", "std")} for name, score in scores.items()}
    return {
        "task": "classify",
        "metric": "accuracy, %",
        "nodes": "fitted nodes" if new is None else "newcomers",
        **{key: own[key] for key in ("mean", "std", "validation")},
        "baselines": baselines | {"commonest class": task.commonest()},
        **task.described(),
        "classes": task.by_class(own["confusion"]),
        "confusion": {"labels": task.names, "counts": own["confusion"].tolist()},
        "splits": own["splits"],
    }


def compare(
    graph: Graph,
    labels: npt.NDArray[Any],
    *,
    label_share: float | None = None,
    seed: int = 0,
    say: Callable[[str], None] = lambda note: None,
) -> dict[str, Any]:
    """Accuracy and seconds of several systems on the same splits of a graph's labelled nodes, ready for JSON."""
    task = ClassTask.of(labels, share=label_share, seed=seed)
    systems: dict[str, Callable[[], FloatArray]] = {
        "own features": lambda: own_features(graph, graph, seed),
        "smoothed features": lambda: smoothed_features(graph, graph, seed),
        "DeepWalk": lambda: deepwalk(graph, seed),
        "sanne fast": lambda: SANNE("fast", random_state=seed).fit(graph).embedding_,
        "sanne best": lambda: SANNE("best", random_state=seed).fit(graph).embedding_,
    }
    rows: list[dict[str, Any]] = [{"system": "commonest class", **task.commonest(), "seconds": 0.0}]
    for name, make in systems.items():
        say(f"{name} ...")
        started = time.perf_counter()
        try:
            vectors = make()
        except MissingExtraError as error:
            say(f"{name} is left out: {error}")
            rows.append({"system": name, "missing": str(error)})
            continue
        seconds = round(time.perf_counter() - started, 2)
        score = task.score(vectors, progress=None)
        rows.append({"system": name, "mean": score["mean"], "std": score["std"], "seconds": seconds})
    return {"metric": "accuracy, %", **task.described(), "systems": rows}


def judge_links(model: SANNE, graph: Graph, fraction: float, seed: int) -> dict[str, Any]:
    """Hide a share of the edges, fit again with the same settings, and rank hidden edges above non-edges."""
    train_graph, positives, negatives = hold_out_edges(graph, fraction, seed)
    logger.info("fitting again without %s edges", f"{len(positives):,}")
    again = SANNE(**model.get_params()).fit(train_graph)
    own = again.embedding_ * column_weights(again.embedding_, _LINKED)
    systems = {"sanne": own, **_baselines(train_graph, seed)}
    logger.info("scoring %s edges", f"{len(positives):,}")
    scores = {name: score_links(rows, positives, negatives) for name, rows in systems.items()}
    found = scores.pop("sanne")
    return {"task": "links", "held_out": len(positives), "fraction": fraction, **found, "baselines": scores}


def _baselines(graph: Graph, seed: int) -> dict[str, FloatArray]:
    logger.info("computing baselines")
    return {
        "smoothed features": smoothed_features(graph, graph, seed),
        "own features": own_features(graph, graph, seed),
    }


def judge_communities(
    model: SANNE, graph: Graph, labels: npt.NDArray[Any] | None, count: int | None, seed: int
) -> dict[str, Any]:
    """k-means on the fitted vectors against the classes, and its modularity on the graph."""
    rows = graph.nodes_of(model.node_ids_)
    graph = graph if np.array_equal(rows, np.arange(graph.num_nodes)) else graph.subgraph(rows)
    links = graph.adjacency("both").to_scipy()
    scores = {}
    for name, vectors in {"sanne": model.embedding_, **_baselines(graph, seed)}.items():
        logger.info("clustering %s", name)
        scores[name] = score_communities(
            vectors, labels, adjacency=links, num_communities=count, seed=seed, progress=None
        )
    own = scores.pop("sanne")
    return {"task": "communities", **own, "baselines": scores}


def draw_model(
    model: SANNE,
    origin: ModelSource,
    out: Path,
    *,
    labels: Path | None = None,
    label: str | None = None,
    id: str | None = None,
    new: Path | None = None,
    color: str | None = None,
    regions: bool = True,
    method: Literal["auto", "tsne", "pca"] = "auto",
    seed: int = 0,
) -> int:
    """Draw the fitted vectors, with new nodes from a vectors file; returns how many points there are."""
    graph = origin.load() if origin.source else None
    label = label if labels is None else label_column(model, labels, label)
    classes = labels_of(model, graph, labels, origin, label, id)
    if color == (label if labels is not None else origin.label):
        color = color and "label"  # what the map calls that column
    vectors, uncertainty, ids, count = model.embedding_, model.uncertainty_, model.node_ids_.astype(object), 0
    if new is not None:
        arrived = read_vectors(new)
        if arrived.dim != vectors.shape[1]:
            raise InputError(f"{new}: {arrived.dim} columns, but the model's vectors have {vectors.shape[1]}")
        fresh = ~np.isin(arrived.node_ids.astype(str), ids.astype(str))
        count = int(fresh.sum())
        vectors = np.concatenate([vectors, arrived.vectors[fresh]])
        uncertainty = np.concatenate([uncertainty, arrived.uncertainty[fresh]])
        ids = np.concatenate([ids, arrived.node_ids[fresh].astype(object)])
    columns = origin.columns(ids) | ({} if labels is None else read_columns(labels, ids, [label or "label"], id))
    columns |= {"uncertainty": uncertainty}
    texts = links = None
    if graph is not None:
        rows = match_ids(pa.array(ids), pa.array(graph.node_ids))
        known = np.flatnonzero(rows >= 0)
        if graph.texts is not None:
            texts = np.full(len(ids), None, object)
            texts[known] = graph.texts[rows[known]]
        chosen = sp.csr_matrix((np.ones(len(known)), (known, rows[known])), (len(ids), graph.num_nodes))
        links = chosen @ graph.adjacency("both").to_scipy() @ chosen.T
    logger.info("drawing %s nodes", f"{len(ids):,}")
    plot_map(
        vectors,
        None if classes is None or classes.ndim != 1 else np.concatenate([classes.astype(object), [None] * count]),
        out,
        color=color,
        columns=columns,
        regions=regions,
        method=method,
        new=np.arange(len(ids)) >= len(ids) - count,
        node_ids=ids,
        texts=texts,
        links=links,
        seed=seed,
    )
    return len(ids)
