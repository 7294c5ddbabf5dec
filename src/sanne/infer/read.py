"""Nodes into vectors: walks over a graph, their features, and what a fitted model reads of them (Algorithm 2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sanne.device import torch_threads
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.model.artifact import Artifact
from sanne.model.model import WalkModel
from sanne.seeds import derived_seed
from sanne.walks.sample import Walks, WalkSampler

WALKS_AT_ONCE = 4096  # read by the model together

Contribution = tuple[IntArray, npt.NDArray[np.float64]]  # nodes that a vector drew on and their shares, largest first


class GraphReader:
    """Reads nodes of a graph with a fitted model; a node's vector does not depend on which others are read.

    `num_nodes` says how many will be read: for many, the features of all nodes are computed at once.
    """

    def __init__(self, artifact: Artifact, graph: Graph, num_nodes: int) -> None:
        config = artifact.config
        self.num_walks = config.infer.num_inference_walks
        self.nodes_at_once = max(1, WALKS_AT_ONCE // self.num_walks)
        self._threads = config.train.threads
        self._artifact = artifact
        self._graph = graph
        adjacency = graph.adjacency(config.walks.direction)
        self._indptr = adjacency.indptr
        self._sampler = WalkSampler(
            adjacency,
            walk_length=config.walks.walk_length,
            seed=derived_seed(artifact.seed, "inference"),
            p=config.walks.p,
            q=config.walks.q,
        )
        self._device = next(artifact.model.parameters()).device
        self._all: torch.Tensor | None = None
        positions = num_nodes * self.num_walks * config.walks.walk_length
        if positions >= graph.num_nodes and not artifact.feature_map.rows_stay_on_disk(graph):
            self._all = torch.from_numpy(self._rows(None)).to(self._device)

    def read(self, nodes: IntArray, explain: int = 0) -> tuple[FloatArray, FloatArray, list[Contribution]]:
        """Vectors (nodes, dim), spreads (nodes,) and, if `explain`, so many contributing nodes for each."""
        model = self._artifact.model
        walks = self._sampler.walks_of_each(nodes, self.num_walks)
        # torch's modes are set for each batch anew: while the caller waits to be asked for more, others use torch.
        with torch_threads(self._threads, walks.size), torch.inference_mode():
            features = self._features(walks)
            degrees = torch.from_numpy(self._degrees(walks[:, 0])).to(self._device)
            vectors, spread = read_walks(model, features, degrees, self.num_walks)
            if not explain:
                return vectors, spread, []
            shares = model.position_shares(features).cpu().numpy()
            return vectors, spread, list(largest_shares(walks, shares, self.num_walks, explain))

    def _features(self, walks: Walks) -> torch.Tensor:
        """(walks, walk_length, width)."""
        if self._all is not None:
            return self._all[torch.from_numpy(walks).long().to(self._device)]
        visited, where = np.unique(walks, return_inverse=True)
        rows = torch.from_numpy(self._rows(visited.astype(np.int64))).to(self._device)
        return rows[torch.from_numpy(where.reshape(walks.shape)).to(self._device)]

    def _degrees(self, nodes: npt.NDArray[np.integer[Any]]) -> IntArray:
        degrees: IntArray = self._indptr[nodes + 1] - self._indptr[nodes]
        return degrees

    def _rows(self, nodes: IntArray | None) -> FloatArray:
        """Features of some nodes (None: all) as the objective weighs them."""
        rows = self._artifact.feature_map.transform(self._graph, nodes)
        degrees = np.diff(self._indptr) if nodes is None else self._degrees(nodes)
        weighed = self._artifact.model.objective.weigh(rows, degrees)
        return np.require(weighed, requirements="W")  # torch reads no other; a copy if the map keeps the rows


def read_walks(
    model: WalkModel, features: torch.Tensor, degrees: torch.Tensor, num_walks: int
) -> tuple[FloatArray, FloatArray]:
    """The mean vector of each node's walks, (nodes, dim), and its spread, (nodes,).

    `features` (nodes * num_walks, N, width) are weighed, `degrees` are those of the starts. The spread is the length of
    the mean's standard error; not a number for a single walk.
    """
    per_walk = model(features, degrees).cpu().view(len(features) // num_walks, num_walks, -1)  # (nodes, Z, dim)
    vectors: FloatArray = per_walk.mean(dim=1).numpy()
    return vectors, standard_error(per_walk).numpy()


def standard_error(per_walk: torch.Tensor) -> torch.Tensor:
    """Length of the standard error of the mean over walks, (nodes,); not a number for a single walk."""
    num_walks = per_walk.shape[1]
    if num_walks == 1:
        return torch.full((len(per_walk),), float("nan"))
    return (per_walk.var(dim=1).sum(dim=1) / num_walks).sqrt()


def largest_shares(
    walks: npt.NDArray[np.integer[Any]], shares: FloatArray, num_walks: int, count: int
) -> Iterator[Contribution]:
    """For each start node, the indices of the nodes that its vector drew on most, itself included, and their shares."""
    for first in range(0, len(walks), num_walks):
        part = slice(first, first + num_walks)
        visited, where = np.unique(walks[part].ravel(), return_inverse=True)
        total = np.bincount(where, shares[part].ravel()) / num_walks
        largest = np.argsort(-total, kind="stable")[:count]
        yield visited[largest].astype(np.int64), total[largest]
