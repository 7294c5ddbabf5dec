"""The nodes in memory: graph, ids, features, vectors, and which vectors are out of date."""

from collections.abc import Callable, Container, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sanne.errors import StoreError
from sanne.graph.graph import FloatArray
from sanne.serve.engine.ids import NodeIds, key_of
from sanne.serve.live.features import LiveFeatures, NewNode, NodeId
from sanne.serve.live.graph import Links, LiveGraph
from sanne.serve.store.journal import Change, Entry, FeaturesOf
from sanne.serve.store.vectors import LiveVectors

NEAR_DEGREE = 32  # neighbours of a changed node with more are not marked: few of their walks take the changed edge


@dataclass(frozen=True, eq=False)
class Group:
    """The nodes of one request, ready to be read or added: while it is read, node i has the number `first + i`."""

    nodes: tuple[NewNode, ...]
    first: int
    features: FloatArray  # (nodes, width)
    links: Links

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
    """Applies changes: those of requests, and at the start those of the journal.

    A change marks as stale the nodes whose own edges changed, and the neighbours of those with at most NEAR_DEGREE.
    Further away few walks see the change.
    """

    def __init__(self, ids: NodeIds, graph: LiveGraph, features: LiveFeatures, vectors: LiveVectors) -> None:
        self.ids = ids
        self.graph = graph
        self.features = features
        self.vectors = vectors
        self.texts: dict[int, str | None] = {}  # of added and replaced nodes
        self.deleted = 0
        self._base_count = graph.num_slots
        self._stale: dict[int, bool] = {}  # whether a node's own edges changed, or only those of a neighbour
        self._reread: set[int] = set()  # nodes with other neighbours than before
        self._refreshed: set[int] = set()  # base nodes with other vectors than the store began with

    @property
    def _reads_links(self) -> bool:
        columns = self.features.link_columns
        return bool(columns.stop > columns.start)

    @property
    def num_nodes(self) -> int:
        return self.graph.num_slots - self.deleted

    @property
    def num_arrived(self) -> int:
        return self.graph.num_slots - self._base_count

    @property
    def num_added(self) -> int:
        return int(self.graph.alive[self._base_count :].sum())

    @property
    def stale(self) -> list[int]:
        """Nodes whose vectors are out of date, those whose own edges changed first."""
        return sorted(self._stale, key=lambda node: not self._stale[node])

    @property
    def num_stale(self) -> int:
        return len(self._stale)

    def is_stale(self, node: int) -> bool:
        return node in self._stale

    def is_added(self, node: int) -> bool:
        return node >= self._base_count

    def read_features(self, nodes: Sequence[NewNode]) -> FloatArray:
        """Feature vectors of described nodes, by their attributes and their links."""
        rows = self.features.read(nodes)
        if self._reads_links:
            external_id = self.ids.external_id
            rows[:, self.features.link_columns] = self.features.read_links(
                [(external_id(node.id), [external_id(end) for end, _ in node.links]) for node in nodes]
            )
        return rows

    def apply(self, changes: Sequence[Change]) -> None:
        """Apply changes in order: those of the journal, and of requests other than additions."""
        described = [entry for change in changes for entry in change if entry.kind in ("add", "replace")]
        nodes = [NewNode(entry.id, entry.text, entry.features) for entry in described]
        rows = dict(zip(map(id, described), self.features.read(nodes), strict=True))
        for change in changes:
            new = [entry for entry in change if entry.kind == "add"]
            if new:  # they may link to one another: add all nodes before any link
                first = self._add(new, np.array([rows[id(entry)] for entry in new]))
                links = self._links(list(enumerate(new, first)))
                self._mark(self.graph.connect(links), fresh=range(first, first + len(new)))
            if edges := [(self._find(entry.id), entry) for entry in change if entry.kind == "edges"]:
                self._mark(self.graph.connect(self._links(edges)))
            for entry in change:
                if entry.kind not in ("add", "edges"):
                    self._apply_one(entry, rows.get(id(entry)))
        self._reread_links()

    def add(self, groups: Sequence[Group], changes: Sequence[Change]) -> None:
        """Add the nodes of requests, reusing what was computed to answer them."""
        for group, change in zip(groups, changes, strict=True):
            first = self._add(change, group.features)
            self._mark(self.graph.connect(group.links_from(first)), fresh=range(first, first + len(change)))
            if self._reads_links:
                self._reread -= {node for node, entry in enumerate(change, first) if self._lists_all(node, entry)}
        self._reread_links()

    def _lists_all(self, node: int, entry: Entry) -> bool:
        """Whether the neighbours of a new node are those that its features were read from."""
        return {self._find(key) for key, _ in entry.links} - {node} == set(self.graph.neighbours(node)[0].tolist())

    def remember(self, node: int) -> Callable[[], None]:
        """A function that undoes the replacement of a node, after later changes have been undone."""
        links, vector, was_refreshed = self.graph.links(node), self.vectors.get(node), node in self._refreshed
        features, text, was_replaced = self.features.get(node), self.texts.get(node), node in self.texts
        stale = dict(self._stale)

        def undo() -> None:
            with self.vectors.lock:
                self._reread |= self.graph.remove_links(node) | self.graph.connect(links)
                self.features.put(node, features)
                self.texts[node] = text
                if not was_replaced:
                    del self.texts[node]
                self.vectors.put(node, *vector)
                if not was_refreshed:
                    self._refreshed.discard(node)
                self._stale = stale
                self._reread_links()

        return undo

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

    def text_changes(self) -> TextChanges:
        """How ids and texts differ from those of the base graph."""
        deleted = np.flatnonzero(~self.graph.alive[: self._base_count]).tolist()
        replaced = [node for node in self.texts if not self.is_added(node)]
        written = [(self.ids.name(node), text) for node, text in self.texts.items()]
        return TextChanges(written, {*deleted, *replaced})

    def set_vector(self, node: int, vector: FloatArray, uncertainty: float) -> None:
        """Set a vector that was computed from the graph as it is."""
        self.vectors.put(node, vector, uncertainty)
        if not self.is_added(node):
            self._refreshed.add(node)
        self._stale.pop(node, None)

    def as_entries(self, features_of: FeaturesOf) -> Iterator[Entry]:
        """The shortest history that leads to this state; `features_of` gives the features sent with a node.

        Applied to the base, it gives the same graph, vectors, texts and stale nodes. Added nodes that were deleted
        since leave no trace, so that nodes added after them get lower numbers.
        """
        graph, later = self.graph, []
        for node in np.flatnonzero(~graph.alive[: self._base_count]).tolist():
            yield Entry("delete", self._key(node))
        for node in range(self._base_count, graph.num_slots):
            if graph.alive[node]:
                links = [(end, weight) for (_, end), weight in graph.links(node).items()]
                yield self._described("add", node, [link for link in links if link[0] < node], features_of)
                if self.graph.directed and (ahead := [link for link in links if link[0] > node]):
                    later.append(Entry("edges", self._key(node), links=self._keyed(ahead)))
        yield from later
        replaced = [node for node in sorted(self.texts) if not self.is_added(node)]
        for node in replaced:
            links = [(end, weight) for (_, end), weight in graph.links(node).items()]
            yield self._described("replace", node, links, features_of)
        for node, changes in graph.changed_links():
            links = list(changes.items())
            if not graph.directed:  # an edge is listed once; those of added nodes came with them
                links = [(end, weight) for end, weight in links if node < end < self._base_count]
            if links and node not in self.texts:
                yield Entry("edges", self._key(node), links=self._keyed(links))
        for node in sorted(self._refreshed.difference(replaced)):
            vector, uncertainty = self.vectors.get(node)
            yield Entry("vector", self._key(node), vector=vector, uncertainty=uncertainty)
        yield Entry("stale", "", links=self._keyed([(node, float(own)) for node, own in self._stale.items()]))

    def _described(
        self,
        kind: Literal["add", "replace"],
        node: int,
        links: Sequence[tuple[int, float]],
        features_of: FeaturesOf,
    ) -> Entry:
        key, (vector, uncertainty) = self._key(node), self.vectors.get(node)
        return Entry(kind, key, self.texts[node], features_of(key), self._keyed(links), vector, uncertainty)

    def _key(self, node: int) -> str:
        return key_of(self.ids.name(node))

    def _keyed(self, links: Sequence[tuple[int, float]]) -> tuple[tuple[str, float], ...]:
        return tuple((self._key(end), weight) for end, weight in links)

    def _add(self, entries: Sequence[Entry], rows: FloatArray) -> int:
        """Add nodes without links; returns the number of the first."""
        first = self.graph.add_nodes(len(entries))
        self.features.add(rows)
        self.vectors.add(
            np.array([entry.vector for entry in entries]), np.array([entry.uncertainty for entry in entries])
        )
        for entry in entries:
            self.texts[self.ids.add(entry.id)] = entry.text
        self._reread |= set(range(first, first + len(entries)))
        return first

    def _apply_one(self, entry: Entry, features: FloatArray | None) -> None:
        if entry.kind == "stale":
            self._stale = {self._find(key): bool(own) for key, own in entry.links}
            return
        node = self._find(entry.id)
        if entry.kind == "vector":
            assert entry.vector is not None
            self.set_vector(node, entry.vector, entry.uncertainty)
        elif entry.kind == "delete":
            self._mark(self.graph.remove_node(node))
            self.ids.remove(node)
            self.deleted += 1
            self.texts.pop(node, None)
            self._refreshed.discard(node)
            self._stale.pop(node, None)
        else:
            assert features is not None
            self.features.put(node, features)
            self.texts[node] = entry.text
            self._mark(self.graph.remove_links(node) | self.graph.connect(self._links([(node, entry)])))
            if entry.vector is not None:
                self.set_vector(node, entry.vector, entry.uncertainty)

    def _links(self, entries: Sequence[tuple[int, Entry]]) -> Links:
        links = [(node, self._find(end), weight) for node, entry in entries for end, weight in entry.links]
        return self.graph.merged(links)

    def _find(self, key: str) -> int:
        node = self.ids.find(key)
        if node < 0:
            raise StoreError(f"the journal of the store is damaged: it names a node {key!r} that does not exist")
        return node

    def _mark(self, changed: set[int], fresh: Container[int] = ()) -> None:
        self._reread |= changed
        for node in sorted(changed):
            if node not in fresh and not self._stale.get(node):
                self._stale.pop(node, None)  # a neighbour's place in the order is lost
                self._stale[node] = True
        for node in sorted(changed):
            if self.graph.degree(node) <= NEAR_DEGREE:
                for near in self.graph.neighbours(node)[0].tolist():
                    if near not in fresh:
                        self._stale.setdefault(near, False)

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
            vector[self.features.link_columns] = part
            self.features.put(node, vector)
