"""Reads nodes of the live graph with the model, for many requests together."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from sanne.graph.graph import FloatArray, IntArray
from sanne.model.model import Asked, Model, Reading, Seen
from sanne.serve.engine.state import Group, LiveState
from sanne.walks.diffusion import Surroundings


@dataclass(frozen=True, eq=False)
class ReadRequest:
    """A node to read: its number, the key of its random streams, and its group if it is not in the graph."""

    number: int
    key: int
    group: Group | None = None
    explain: int = 0


def read_nodes(model: Model, state: LiveState, requests: Sequence[ReadRequest]) -> Reading:
    """Vectors, uncertainties and the requested contributions; a vector does not depend on the others."""
    vectors, uncertainties, contributions = [], [], []
    for first in range(0, len(requests), model.nodes_at_once):
        some = requests[first : first + model.nodes_at_once]
        with closing(_LiveNodes(state, some)) as asked:
            reading = model.read(asked, max(request.explain for request in some))
        vectors.append(reading.vectors)
        uncertainties.append(reading.uncertainty)
        found = reading.contributions or [(np.empty(0, np.int64), np.empty(0))] * len(some)
        contributions += [(n[: r.explain], s[: r.explain]) for (n, s), r in zip(found, some, strict=True)]
    return Reading(np.concatenate(vectors), np.concatenate(uncertainties), contributions)


def _numbers(requests: Sequence[ReadRequest]) -> IntArray:
    return np.array([request.number for request in requests])


class _LiveNodes(Asked):
    """Nodes of requests, with what a model needs to read them; one group at a time is in the graph."""

    def __init__(self, state: LiveState, requests: Sequence[ReadRequest]) -> None:
        self._state = state
        self._requests = requests
        self.count = len(requests)
        self._group: Group | None = None
        self._visit = ExitStack()

    def walks(self, num_walks: int) -> IntArray:
        parts = []
        for some in self._by_group():
            keys = np.array([request.key for request in some], np.uint64)
            parts.append(self._state.graph.walks(_numbers(some), keys, num_walks))
        return np.concatenate(parts)

    def along(self, walks: IntArray) -> FloatArray:
        parts, row = [], 0
        for some in self._by_group():
            rows = len(some) * len(walks) // self.count
            parts.append(self._state.features.of(walks[row : row + rows]))
            row += rows
        return np.concatenate(parts)

    def around(self, restarts: tuple[float, ...], steps: int) -> list[Surroundings]:
        return [around for some in self._by_group() for around in self._around(some, restarts, steps)]

    def rows(self, nodes: IntArray) -> FloatArray:
        return self._state.features.of(nodes)

    def see(self, restarts: tuple[float, ...], steps: int, columns: int) -> Seen:
        seen = np.zeros((self.count, len(restarts) + 1, columns), np.float32)
        found: list[Surroundings] = []
        own = []
        for some in self._by_group():
            for around in self._around(some, restarts, steps):
                self._state.features.add_seen(around, seen[len(found)])
                found.append(around)
            own.append(self.rows(_numbers(some)))
        return found, seen, np.concatenate(own)

    def _around(self, some: list[ReadRequest], restarts: tuple[float, ...], steps: int) -> list[Surroundings]:
        """Of requests of the group whose nodes are in the graph."""
        return self._state.graph.around(_numbers(some), restarts, steps)

    def close(self) -> None:
        self._see(None)

    def _by_group(self) -> Iterator[list[ReadRequest]]:
        """The requests of one group after another, while its nodes are in the graph."""
        for group, some in groupby(self._requests, key=lambda request: request.group):
            self._see(group)
            yield list(some)

    def _see(self, group: Group | None) -> None:
        """Put the nodes of this group into the graph, and no others."""
        if group is not self._group:
            with self._state.lock:
                self._visit.close()
                if group is not None:
                    self._visit.enter_context(self._state.graph.visited(len(group.nodes), group.links))
                    self._visit.enter_context(self._state.features.visited(group.features))
            self._group = group
