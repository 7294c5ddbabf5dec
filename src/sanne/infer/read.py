"""Nodes to vectors: reading a graph with a fitted model."""

import logging
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.model.artifact import Artifact
from sanne.model.model import Asked, Reading, Seen
from sanne.seeds import derived_seed
from sanne.walks.diffusion import Diffusion, Surroundings, add_rows
from sanne.walks.sample import WalkSampler, read_only

logger = logging.getLogger(__name__)

_DIFFUSIONS: WeakKeyDictionary[Graph, dict[str, Diffusion]] = WeakKeyDictionary()  # of graphs in use, by direction
_HELD_AT_ONCE = 4096  # nodes
_MANY = 16  # a graph is read as a whole if at least one in so many of its nodes is wanted


class GraphReader:
    """Reads nodes of a graph with a fitted model.

    `num_nodes` says how many will be read: for many, features and perhaps vectors of all nodes are computed at once.
    """

    def __init__(self, artifact: Artifact, graph: Graph, num_nodes: int) -> None:
        self.artifact = artifact
        self.graph = graph = artifact.as_fitted(graph)
        self._adjacency = graph.adjacency(artifact.config.walks.direction)
        self._rows: FloatArray | None = None
        self._vectors: FloatArray | None = None
        whole = reads_whole(num_nodes, graph)
        if whole and (artifact.model.reads_whole or not artifact.feature_map.rows_stay_on_disk(graph)):
            self._rows = artifact.rows(graph)
            if artifact.model.reads_whole:
                logger.info("walking over the whole graph, %s nodes", f"{graph.num_nodes:,}")
                self._vectors = artifact.model.read_whole(self.diffusion, self._rows)

    def nodes_at_once(self, explain: int = 0) -> int:
        """How many nodes to read at a time: more if their vectors are already computed."""
        return self.artifact.model.nodes_at_once if explain or self._vectors is None else _HELD_AT_ONCE

    def read(self, nodes: IntArray, explain: int = 0) -> Reading:
        """Vectors of some nodes; with `explain`, that many contributing nodes each."""
        model = self.artifact.model
        if self._vectors is None:
            return model.read(AskedNodes(self, nodes), explain)
        vectors = self._vectors[nodes]
        contributions = model.read(AskedNodes(self, nodes), explain).contributions if explain else []
        return Reading(vectors, model.uncertainty(vectors), contributions)

    def table(self, nodes: IntArray) -> tuple[FloatArray, IntArray]:
        """An array with the features of nodes, and where they are in it."""
        return self.artifact.table(self.graph, nodes) if self._rows is None else (self._rows, nodes)

    def rows(self, nodes: IntArray) -> FloatArray:
        table, places = self.table(nodes)
        return table[places]

    @cached_property
    def sampler(self) -> WalkSampler:
        seed = derived_seed(self.artifact.seed, "inference")
        return WalkSampler(self._adjacency, walk_length=self.artifact.config.walks.walk_length, seed=seed)

    @property
    def diffusion(self) -> Diffusion:
        kept = _DIFFUSIONS.setdefault(self.graph, {})
        direction = self.artifact.config.walks.direction
        if direction not in kept:
            kept[direction] = Diffusion(self._adjacency)
        return kept[direction]


def reads_whole(num_nodes: int, graph: Graph) -> bool:
    """Whether this many nodes are better read in one pass over the whole graph than one by one."""
    return num_nodes * _MANY >= graph.num_nodes


class AskedNodes(Asked):
    """Some nodes of a graph, with what a model needs to read them."""

    def __init__(self, reader: GraphReader, nodes: IntArray) -> None:
        self._reader = reader
        self._nodes = nodes
        self.count = len(nodes)

    def walks(self, num_walks: int) -> npt.NDArray[Any]:
        return self._reader.sampler.walks_of_each(self._nodes, num_walks)

    def along(self, walks: npt.NDArray[Any]) -> FloatArray:
        visited, where = np.unique(walks, return_inverse=True)
        return self._reader.rows(visited.astype(np.int64))[where.reshape(walks.shape)]

    def around(self, restarts: tuple[float, ...], steps: int) -> list[Surroundings]:
        return self._reader.diffusion.around(self._nodes, restarts, steps)

    def rows(self, nodes: IntArray) -> FloatArray:
        return self._reader.rows(nodes)

    def see(self, restarts: tuple[float, ...], steps: int, columns: int) -> Seen:
        found = self.around(restarts, steps)
        seen = np.zeros((self.count, len(restarts) + 1, columns), np.float32)
        table, places = self._reader.table(np.concatenate([around.nodes for around in found]))
        table, first = read_only(table), 0
        for around, total in zip(found, seen, strict=True):
            last = first + len(around.nodes)
            add_rows(table, places[first:last], around.shares, total)
            first = last
        return found, seen, self.rows(self._nodes)
