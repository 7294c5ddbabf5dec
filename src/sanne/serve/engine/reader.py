"""Nodes of the live graph, read by the model: those of many requests together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sanne.graph.graph import FloatArray, IntArray
from sanne.model.artifact import Artifact
from sanne.model.model import Reading
from sanne.serve.live.features import LiveFeatures
from sanne.serve.live.graph import LiveGraph, guest_arcs
from sanne.serve.live.kernels import GuestArcs
from sanne.walks.diffusion import Surroundings


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


class Reader:
    """Reads nodes with a fitted model; a node's vector does not depend on what else is read."""

    def __init__(self, artifact: Artifact, graph: LiveGraph, features: LiveFeatures) -> None:
        self._model = artifact.model
        self._graph = graph
        self._features = features
        no_features = np.empty((0, artifact.feature_map.width), np.float32)
        self._no_guests = Guests(guest_arcs([]), no_features, np.zeros(1, np.int64))

    def read(self, requests: Sequence[ReadRequest], guests: Guests | None = None) -> Reading:
        """Vectors, uncertainties and contributions: as many as a request wants, none where it wants none."""
        parts = []
        for first in range(0, len(requests), self._model.nodes_at_once):
            some = requests[first : first + self._model.nodes_at_once]
            asked = _LiveNodes(self._graph, self._features, guests or self._no_guests, some)
            reading = self._model.read(asked, max(request.explain for request in some))
            found = reading.contributions or [(np.empty(0, np.int64), np.empty(0))] * len(some)
            cut = [(n[: r.explain], s[: r.explain]) for (n, s), r in zip(found, some, strict=True)]
            parts.append(Reading(reading.vectors, reading.uncertainty, cut))
        return Reading(
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.uncertainty for part in parts]),
            [contribution for part in parts for contribution in part.contributions],
        )


class _LiveNodes:
    """Nodes of requests, as a model asks about them."""

    def __init__(
        self, graph: LiveGraph, features: LiveFeatures, guests: Guests, requests: Sequence[ReadRequest]
    ) -> None:
        self._graph, self._features, self._guests = graph, features, guests
        self.count = len(requests)
        self._starts = np.array([request.number for request in requests], np.int64)
        self._groups = np.array([request.group for request in requests], np.int64)
        self._keys = np.array([request.key for request in requests], np.uint64)

    def walks(self, num_walks: int) -> IntArray:
        return self._graph.walks(self._starts, self._groups, self._keys, num_walks, self._guests.arcs)

    def along(self, walks: IntArray) -> FloatArray:
        return self._rows(walks, np.repeat(self._groups, len(walks) // self.count))

    def around(self, place: int, restarts: tuple[float, ...], steps: int) -> tuple[Surroundings, FloatArray]:
        start, group = int(self._starts[place]), int(self._groups[place])
        found = self._graph.around(start, group, self._guests.arcs, restarts, steps)
        return found, self._rows(found.nodes[None], self._groups[place : place + 1])[0]

    def _rows(self, nodes: IntArray, groups: IntArray) -> FloatArray:
        return self._features.of(nodes, groups, self._guests.features, self._guests.firsts)
