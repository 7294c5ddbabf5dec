"""Node ids to numbers and back: those of the base graph, and those added since.

A JSON client may write the id 7 as 7 or as "7": both mean the same node, so an id is looked up by its text. Where the
base has integer ids, ids written as plain 64-bit integers are returned as integers.
"""

import contextlib
import hashlib

import numpy as np

from sanne.graph.graph import Graph
from sanne.serve.live.features import NodeId


def stream_key(node_id: NodeId) -> int:
    """The 64-bit key of an added node's walks; it depends on the id alone, not on what else was added."""
    return int.from_bytes(hashlib.blake2b(str(node_id).encode(), digest_size=8).digest(), "little")


class NodeIds:
    """Finds the number of an id and the id of a number; numbers of removed nodes are not reused."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._base_count = graph.num_nodes
        self._integers = graph.has_integer_ids
        self._names: list[NodeId] = []  # of added nodes
        self._changed: dict[NodeId, int] = {}  # numbers of ids that were added, and -1 for those that were removed
        if not graph.ids_count_up:
            # Sorted hashes of the base's ids: 12 bytes a node, where a dictionary takes a hundred.
            hashes = np.fromiter((hash(item) for item in graph.node_ids.tolist()), np.int64, graph.num_nodes)
            self._order = np.argsort(hashes, kind="stable").astype(np.int32)
            self._hashes = hashes[self._order]

    def find(self, node_id: NodeId) -> int:
        """The number of an id, or -1."""
        name = self.external_id(node_id)
        found = self._changed.get(name)
        return self._find_in_base(name) if found is None else found

    def name(self, number: int) -> NodeId:
        """The id of a number."""
        if number >= self._base_count:
            return self._names[number - self._base_count]
        name: NodeId = self._graph.node_ids[number]
        return int(name) if self._integers else str(name)

    def external_id(self, node_id: NodeId) -> NodeId:
        """An id as in responses."""
        text = str(node_id)
        if self._integers:
            with contextlib.suppress(ValueError):
                number = int(text)
                if str(number) == text and -(2**63) <= number < 2**63:
                    return number
        return text

    def add(self, node_id: NodeId) -> int:
        """Give a new id its number."""
        name, number = self.external_id(node_id), self._base_count + len(self._names)
        self._changed[name] = number
        self._names.append(name)
        return number

    def drop_last(self) -> None:
        """Undo the last addition."""
        self._changed[self._names.pop()] = -1

    def put_alive(self, number: int, alive: bool) -> None:
        """Remove an id, which may then be added again, or undo the removal."""
        self._changed[self.name(number)] = number if alive else -1

    def _find_in_base(self, name: NodeId) -> int:
        if isinstance(name, int) != self._integers:
            return -1
        if self._graph.ids_count_up:
            return int(name) if 0 <= int(name) < self._base_count else -1
        hashed = hash(name)
        place = int(np.searchsorted(self._hashes, hashed))
        while place < len(self._hashes) and self._hashes[place] == hashed:
            row = int(self._order[place])
            if self._graph.node_ids[row] == name:
                return row
            place += 1
        return -1
