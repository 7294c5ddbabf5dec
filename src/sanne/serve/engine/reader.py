"""Walks over the live graph, read by the model: the nodes of many requests together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from sanne.device import torch_threads
from sanne.graph.graph import FloatArray, IntArray
from sanne.infer.read import WALKS_AT_ONCE, largest_shares, read_walks
from sanne.model.artifact import Artifact
from sanne.serve.live.features import LiveFeatures
from sanne.serve.live.graph import LiveGraph, guest_arcs
from sanne.serve.live.kernels import GuestArcs

Contribution = tuple[IntArray, npt.NDArray[np.float64]]  # node numbers and shares, largest first


@dataclass(frozen=True, eq=False)
class Guests:
    """Nodes that only the walks of their own group see."""

    arcs: GuestArcs
    features: FloatArray  # (guests, width), group by group
    firsts: IntArray  # where each group's rows begin


@dataclass(frozen=True, eq=False)
class ReadRequest:
    """A node to read: its number, its group (-1: it sees no guests), the key of its random streams."""

    number: int
    group: int
    key: int
    explain: int = 0


@dataclass(frozen=True, eq=False)
class Reading:
    """Results, one row per request."""

    vectors: FloatArray
    spread: FloatArray
    contributions: list[Contribution | None]


class Reader:
    """Reads nodes with a fitted model; a node's walks do not depend on what else is read."""

    def __init__(self, artifact: Artifact, graph: LiveGraph, features: LiveFeatures) -> None:
        self._model = artifact.model
        self._num_walks = artifact.config.infer.num_inference_walks
        self._walk_length = artifact.config.walks.walk_length
        self._threads = artifact.config.train.threads
        self._graph = graph
        self._features = features
        no_features = np.empty((0, artifact.feature_map.width), np.float32)
        self._no_guests = Guests(guest_arcs([]), no_features, np.zeros(1, np.int64))

    def read(self, requests: Sequence[ReadRequest], guests: Guests | None = None) -> Reading:
        """Vectors, spreads and, where requested, contributions."""
        guests = guests or self._no_guests
        vectors = np.empty((len(requests), self._model.vector_dim), np.float32)
        spread = np.empty(len(requests), np.float32)
        contributions: list[Contribution | None] = []
        size = max(1, WALKS_AT_ONCE // self._num_walks)
        for first in range(0, len(requests), size):
            rows = slice(first, first + size)
            vectors[rows], spread[rows], part = self._read_part(requests[rows], guests)
            contributions += part
        return Reading(vectors, spread, contributions)

    def _rows(self, walks: IntArray, groups: IntArray, guests: Guests) -> tuple[FloatArray, IntArray]:
        """As the model reads them: features along walks, (walks, walk_length, width), and degrees of the starts."""
        rows = self._features.of(walks, groups, guests.features, guests.firsts)
        degrees = self._graph.visited_degrees(walks, groups, guests.arcs)
        return self._model.objective.weigh(rows, degrees), degrees[:, 0]

    def _read_part(
        self, requests: Sequence[ReadRequest], guests: Guests
    ) -> tuple[FloatArray, FloatArray, list[Contribution | None]]:
        count, num_walks = len(requests), self._num_walks
        starts = np.array([request.number for request in requests], np.int64)
        groups = np.array([request.group for request in requests], np.int64)
        keys = np.array([request.key for request in requests], np.uint64)
        walks = self._graph.walks(starts, groups, keys, num_walks, guests.arcs)
        read, degrees = map(torch.from_numpy, self._rows(walks, np.repeat(groups, num_walks), guests))
        with torch_threads(self._threads, len(walks) * self._walk_length), torch.inference_mode():
            vectors, spread = read_walks(self._model, read, degrees, num_walks)
            explained = np.flatnonzero([request.explain > 0 for request in requests])
            contributions: list[Contribution | None] = [None] * count
            if len(explained):
                lines = (explained[:, None] * num_walks + np.arange(num_walks)).ravel()
                shares = self._model.position_shares(read[torch.from_numpy(lines)]).numpy()
                most = max(request.explain for request in requests)
                for row, (nodes, parts) in zip(
                    explained.tolist(), largest_shares(walks[lines], shares, num_walks, most), strict=True
                ):
                    wanted = requests[row].explain
                    contributions[row] = (nodes[:wanted], parts[:wanted])
        return vectors, spread, contributions
