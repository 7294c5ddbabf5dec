"""The nodes in memory: graph, ids, features, vectors, and which vectors are out of date."""

import threading
from collections.abc import Callable, Container, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import compress

import numpy as np

from sanne.errors import StoreError
from sanne.graph.graph import FloatArray
from sanne.serve.engine.ids import NodeIds
from sanne.serve.engine.notes import note_on
from sanne.serve.live.features import LiveFeatures, NewNode, NodeId
from sanne.serve.live.graph import Links, LiveGraph
from sanne.serve.store.store import Changes, NodeRow, Store
from sanne.serve.store.vectors import LiveVectors

NEAR_DEGREE = 32  # neighbours of a changed node with more are not marked: few of their walks take the changed edge


@dataclass(eq=False)
class Group:
    """The nodes of one request, ready to be read or added; meanwhile node i has the number `first + i`."""

    nodes: tuple[NewNode, ...]
    first: int
    links: Links
    features: FloatArray = field(init=False)  # (nodes, width)

    def links_from(self, first: int) -> Links:
        """The links, with the group's own nodes numbered from `first`."""
        moved = first - self.first
        return {
            (source + moved * (source >= self.first), target + moved * (target >= self.first)): weight
            for (source, target), weight in self.links.items()
        }


@dataclass(frozen=True)
class TextChanges:
    """How the ids and texts of nodes differ from those of the base graph."""

    written: Sequence[tuple[NodeId, str | None]] = ()  # ids and texts of added and replaced nodes
    hidden: Set[int] = frozenset()  # rows of the base graph whose nodes were replaced or deleted


class LiveState:
    """Changes nodes and edges, and records what a store has to write (`changes`) and how to undo it.

    A change marks as stale the nodes whose own edges changed, and the neighbours of those with at most NEAR_DEGREE.
    Further away, few walks meet the change.
    """

    def __init__(self, ids: NodeIds, graph: LiveGraph, features: LiveFeatures, vectors: LiveVectors) -> None:
        self.lock = threading.RLock()  # held while anything here changes or is read from another thread
        self.ids = ids
        self.graph = graph
        self.features = features
        self.vectors = vectors
        self.texts: dict[int, str | None] = {}  # of added and replaced nodes
        self.changes = Changes()  # since the last commit
        self.deleted = 0
        self._undo: list[Callable[[], object]] = []
        self._base_count = graph.num_slots
        self._stale: dict[int, bool] = {}  # whether a node's own edges changed, or only those of a neighbour
        self._reread: set[int] = set()  # nodes with other neighbours than before
        self._reads_links = features.link_columns.stop > features.link_columns.start

    def statistics(self) -> dict[str, int]:
        """Counts; `added` excludes nodes that were deleted again."""
        return {
            "nodes": self.graph.num_slots - self.deleted,
            "edges": self.graph.num_edges,
            "arrived": self.graph.num_slots - self._base_count,
            "added": int(self.graph.alive[self._base_count :].sum()),
            "deleted": self.deleted,
            "stale": len(self._stale),
        }

    @property
    def stale(self) -> list[int]:
        """Nodes whose vectors are out of date, those whose own edges changed first."""
        return sorted(self._stale, key=lambda node: (not self._stale[node], node))

    def is_stale(self, node: int) -> bool:
        return node in self._stale

    def is_added(self, node: int) -> bool:
        return node >= self._base_count

    def label(self, node: int) -> str | int | None:
        """The label of a base node, if the graph has labels."""
        labels = self.graph.base.labels
        if labels is None or self.is_added(node):
            return None
        label = labels[node]
        return label.item() if isinstance(label, np.generic) else label

    def text(self, node: int) -> str | None:
        """The text of a node, if it has one."""
        if node in self.texts or self.is_added(node):
            return self.texts[node]
        return None if self.graph.base.texts is None else str(self.graph.base.texts[node])

    def note(self, node: int) -> str | None:
        """A remark on the vector of a node. What the fit knew of a node is more than its text and features."""
        linked, known = len(self.graph.neighbours(node)[0]) > 0, True
        if node in self.texts:
            known = bool(self.features.known(self.features.get(node)[None])[0])
        return note_on(linked=linked, known=known, text=self.text(node))

    def text_changes(self) -> TextChanges:
        """How ids and texts differ from those of the base graph."""
        deleted = np.flatnonzero(~self.graph.alive[: self._base_count]).tolist()
        replaced = [node for node in self.texts if not self.is_added(node)]
        written = [(self.ids.name(node), text) for node, text in self.texts.items() if self.graph.alive[node]]
        return TextChanges(written, {*deleted, *replaced})

    def read_features(self, nodes: Sequence[NewNode]) -> FloatArray:
        """Feature vectors of described nodes, by their attributes and their links."""
        rows = self.features.read(nodes)
        if self._reads_links:
            external_id = self.ids.external_id
            rows[:, self.features.link_columns] = self.features.read_links(
                [(external_id(node.id), [external_id(end) for end, _ in node.links]) for node in nodes]
            )
        return rows

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo the changes made inside if anything fails there."""
        done, changes = len(self._undo), self.changes.copy()
        try:
            yield
        except BaseException:
            with self.lock:
                while len(self._undo) > done:
                    self._undo.pop()()
                self._reread.clear()
            self.changes = changes
            raise

    def commit(self) -> None:
        """Keep all changes, which have been written."""
        self.changes = Changes()
        self._undo.clear()

    def load(self, contents: Store) -> None:
        """Apply the content of a store to the base graph that it was made for."""
        for key in contents.deleted():
            self.delete(self._find(key))
        for some in filter(None, contents.nodes()):
            nodes = [NewNode(row.id, row.text, row.features) for row in some]
            features, vectors = self.features.read(nodes), np.array([row.vector for row in some])
            uncertainty, added = np.array([row.uncertainty for row in some]), [row.kind == "added" for row in some]
            self._append(list(compress(nodes, added)), features[added], vectors[added], uncertainty[added])
            for row, vector in zip(some, features, strict=True):
                if row.kind != "added":
                    number = self._find(row.id)
                    self.vectors.put(number, row.vector, row.uncertainty)
                    if row.kind == "replaced":
                        self.features.put(number, vector)
                        self.texts[number] = row.text
                        self._reread.add(number)
        for source, target, weight in contents.edges():
            self._put_edge(self._find(source), self._find(target), weight)
        self._stale = {self._find(key): own for key, own in contents.stale()}
        self._reread_links()
        self.commit()

    def add(self, group: Group, vectors: FloatArray, uncertainty: FloatArray) -> None:
        """Add the nodes of a request with the results computed for it."""
        first = self._append(group.nodes, group.features, vectors, uncertainty)
        self._connect(group.links_from(first), fresh=range(first, self.graph.num_slots))
        if self._reads_links:
            self._reread -= {node for node, new in enumerate(group.nodes, first) if self._lists_all(node, new)}
        self._reread_links()
        for node, vector, doubt in zip(group.nodes, vectors, uncertainty.tolist(), strict=True):
            row = NodeRow(str(node.id), "added", vector, doubt, node.text, node.features)
            self.changes.nodes[row.id] = row

    def connect(self, links: Links) -> None:
        """Set edges, new or not; a weight of zero removes one."""
        self._connect(links)
        self._reread_links()

    def replace(self, number: int, node: NewNode, links: Links) -> None:
        """Change the attributes and links of a node (directed: links from it); `set_vector` has to follow."""
        self._do(self.features.put, (number, self.features.get(number)), (number, self.features.read([node])[0]))
        texts = self.texts
        was_replaced = number in texts
        self._undo.append(
            partial(texts.update, {number: texts[number]}) if was_replaced else partial(texts.pop, number)
        )
        texts[number] = node.text
        self._reread.add(number)
        self.connect({**dict.fromkeys(reversed(self.graph.links(number)), 0.0), **links})

    def delete(self, number: int) -> None:
        """Remove a node and its edges."""
        links = self.graph.links(number, incoming=True)
        for source, target in reversed(links):  # from the end of the row: nothing has to move up
            self._do(self._put_edge, (source, target, links[source, target]), (source, target, 0.0))
        self._set_stale(number, None)
        self._do(self._put_alive, (number, True), (number, False))
        self._mark({end for pair in links for end in pair} - {number})
        self._reread_links()
        self.changes.deleted[self._key(number)] = not self.is_added(number)

    def set_vector(self, number: int, vector: FloatArray, uncertainty: float, replaced: NewNode | None = None) -> None:
        """Set a vector that was computed from the current graph, and the new content of the node if there is any."""
        self._do(self.vectors.put, (number, *self.vectors.get(number)), (number, vector, uncertainty))
        self._set_stale(number, None)
        row = NodeRow(self._key(number), "refreshed", vector, uncertainty)
        if replaced is not None:
            row = NodeRow(row.id, "replaced", vector, uncertainty, replaced.text, replaced.features)
        self.changes.nodes[row.id] = row

    def _do(self, function: Callable[..., object], before: tuple[object, ...], now: tuple[object, ...]) -> None:
        """Call a function that sets something, and remember how to restore the old value."""
        self._undo.append(partial(function, *before))
        function(*now)

    def _append(self, nodes: Sequence[NewNode], rows: FloatArray, vectors: FloatArray, uncertainty: FloatArray) -> int:
        """Add nodes without links; returns the number of the first."""
        first = self.graph.num_slots
        self._undo.append(partial(self._drop, first))
        self.graph.resize(first + len(nodes))
        self.features.add(rows)
        self.vectors.add(vectors, uncertainty)
        for node in nodes:
            self.texts[self.ids.add(node.id)] = node.text
        self._reread |= set(range(first, first + len(nodes)))
        return first

    def _drop(self, first: int) -> None:
        """Remove the nodes from a number on, which have no links."""
        for node in range(first, self.graph.num_slots):
            self.ids.drop_last()
            del self.texts[node]
        self.graph.resize(first)
        self.features.drop(first)
        self.vectors.drop(first)

    def _connect(self, links: Links, fresh: Container[int] = ()) -> None:
        """Set edges and mark the vectors that are then out of date; those of `fresh` nodes are not."""
        for (source, target), weight in links.items():
            before = self.graph.weight(source, target)
            self._do(self._put_edge, (source, target, before), (source, target, weight))
            pair = self._key(source), self._key(target)
            self.changes.edges[pair if self.graph.directed else (min(pair), max(pair))] = weight
        self._mark({node for pair in links for node in pair}, fresh)

    def _put_edge(self, source: int, target: int, weight: float) -> None:
        self.graph.put(source, target, weight)
        self._reread |= {source, target}

    def _put_alive(self, node: int, alive: bool) -> None:
        self.graph.alive[node] = alive
        self.deleted += -1 if alive else 1
        self.ids.put_alive(node, alive)

    def _mark(self, changed: Set[int], fresh: Container[int] = ()) -> None:
        for node in sorted(changed):
            if node not in fresh:
                self._set_stale(node, True)
        for node in sorted(changed):
            near = self.graph.neighbours(node)[0]
            if len(near) <= NEAR_DEGREE:
                for other in near.tolist():
                    if other not in fresh and other not in self._stale:
                        self._set_stale(other, False)

    def _set_stale(self, node: int, own: bool | None) -> None:
        """Mark a node; None: it is up to date."""
        if (before := self._stale.get(node)) is not own:
            self._do(self._put_stale, (node, before), (node, own))
            self.changes.stale[self._key(node)] = own

    def _put_stale(self, node: int, own: bool | None) -> None:
        if own is None:
            del self._stale[node]
        else:
            self._stale[node] = own

    def _lists_all(self, node: int, new: NewNode) -> bool:
        """Whether a new node still has the neighbours that its features were read from."""
        return {self._find(end) for end, _ in new.links} == set(self.graph.neighbours(node)[0].tolist())

    def _reread_links(self) -> None:
        """For a model whose features depend on links: recompute those of nodes with new neighbours."""
        nodes = [node for node in sorted(self._reread) if self.graph.alive[node]]
        self._reread.clear()
        if not self._reads_links or not nodes:
            return
        name = self.ids.name
        rows = [(name(node), [name(end) for end in self.graph.neighbours(node)[0].tolist()]) for node in nodes]
        for node, part in zip(nodes, self.features.read_links(rows), strict=True):
            vector = self.features.get(node)
            now = vector.copy()
            now[self.features.link_columns] = part
            self._do(self.features.put, (node, vector), (node, now))

    def _key(self, node: int) -> str:
        return str(self.ids.name(node))

    def _find(self, key: NodeId) -> int:
        node = self.ids.find(key)
        if node < 0:
            raise StoreError(f"the store is damaged: it names a node {key!r} that does not exist")
        return node
