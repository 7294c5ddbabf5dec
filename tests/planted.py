"""Small graphs with known groups, and settings that fit them in a second."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from sanne.config import Config
from sanne.graph.graph import Graph

torch.set_num_threads(1)  # models this small only wait for a second thread

TINY: dict[str, Any] = {
    "encoder_dim": 16,
    "num_layers": 1,
    "num_heads": 2,
    "ff_dim": 32,
    "feature_dim": 16,
    "walk_length": 5,
    "num_walks": 2,
    "batch_size": 64,
    "epochs": 3,
    "num_negatives": 32,
    "num_targets": 2,
    "hidden_splits": 1,
    "half_dim": 8,
    "link_dim": 8,
    "fine_dim": 0,
    "restart_steps": 8,
    "num_inference_walks": 8,
    "threads": 1,
    "device": "cpu",
}
TRAINED: dict[str, Any] = TINY | {"objective": "neighbours"}  # on walks, with epochs and checkpoints


def tiny_config(**changes: Any) -> Config:
    return Config().replace(**(TINY | changes))


def trained_config(**changes: Any) -> Config:
    return Config().replace(**(TRAINED | changes))


def planted_graph(
    groups: int = 3,
    size: int = 40,
    *,
    inside: float = 0.15,
    outside: float = 0.01,
    signal: float = 0.6,
    width: int = 12,
    seed: int = 0,
    ids: str = "p",
) -> Graph:
    """Groups of nodes that link among themselves; each node's features hint at its group, under much noise."""
    stream = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), size)
    n = len(labels)
    same = labels[:, None] == labels[None, :]
    linked = np.triu(stream.random((n, n)) < np.where(same, inside, outside), 1)
    sources, targets = np.nonzero(linked)
    centres = stream.normal(size=(groups, width))
    features = signal * centres[labels] + stream.normal(size=(n, width))
    return Graph.from_edges(
        sources,
        targets,
        node_ids=np.array([f"{ids}{i}" for i in range(n)], object),
        features=features.astype(np.float32),
        labels=labels,
    )


def document_graph(groups: int = 3, size: int = 30, *, own: int = 5, common: int = 4, seed: int = 0) -> Graph:
    """A planted graph with texts instead of features: `own` words of a node's group among `common` ones of all."""
    graph = planted_graph(groups, size, seed=seed)
    stream = np.random.default_rng(seed)
    topics = [[f"topic{group}x{i}" for i in range(12)] for group in range(groups)]
    everywhere = [f"common{i}" for i in range(20)]
    texts = [
        " ".join([*stream.choice(topics[label], own), *stream.choice(everywhere, common)])
        for label in np.asarray(graph.labels).tolist()
    ]
    return dataclasses.replace(graph, features=None, texts=np.array(texts, object))


def assert_same_graph(found: Graph, graph: Graph) -> None:
    """Every array of two graphs is the same, whether mapped or in memory."""
    assert found.directed == graph.directed
    assert found.has_integer_ids == graph.has_integer_ids
    for name in ("indptr", "indices", "weights", "node_ids", "texts", "features", "labels"):
        one, other = getattr(found, name), getattr(graph, name)
        assert (one is None) == (other is None), name
        if other is not None:
            one, other = (value.toarray() if sp.issparse(value) else np.asarray(value) for value in (one, other))
            assert one.dtype == other.dtype, name
            np.testing.assert_array_equal(one, other, err_msg=name)


def accuracy(vectors: npt.NDArray[Any], labels: npt.NDArray[Any], train: Any, test: Any) -> float:
    """Share of test rows whose nearest class mean of the train rows is their own."""
    classes = np.unique(labels)
    centres = np.stack([vectors[train][labels[train] == c].mean(axis=0) for c in classes])
    distance = ((vectors[test][:, None] - centres[None]) ** 2).sum(axis=2)
    return float((classes[distance.argmin(axis=1)] == labels[test]).mean())


def write_archive(graph: Graph, path: Path) -> None:
    """A graph in the layout of the archives in SANNE_DATA."""
    words = graph.features.tocsr()
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    np.savez_compressed(
        path,
        edges=np.stack([sources, graph.indices], axis=1).astype(np.int32),
        labels=graph.labels,
        words_indptr=words.indptr,
        words_indices=words.indices,
        words_values=words.data,
        num_words=words.shape[1],
    )
