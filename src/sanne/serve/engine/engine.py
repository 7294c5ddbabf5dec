"""The engine behind the server: model, live graph and store joined. No HTTP here."""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from sanne.errors import FieldError, StoreError, UnknownNodeError
from sanne.graph.graph import FloatArray, Graph
from sanne.model.artifact import Artifact
from sanne.seeds import derived_seed
from sanne.serve.engine.answers import Answerer, Found, Result
from sanne.serve.engine.checks import check_attributes, check_links, stored_weight
from sanne.serve.engine.ids import NodeIds, key_of
from sanne.serve.engine.nodes import Answer, NewNode, NodeId, NodeInfo
from sanne.serve.engine.reader import Reader
from sanne.serve.engine.state import Group, LiveState
from sanne.serve.explorer.search import Since
from sanne.serve.live.features import LiveFeatures, reads_of
from sanne.serve.live.graph import LiveGraph
from sanne.serve.store.base_vectors import base_vectors
from sanne.serve.store.index import IndexKeeper
from sanne.serve.store.journal import Change, Entry, Kind
from sanne.serve.store.store import Store, graph_digest, model_digest

logger = logging.getLogger(__name__)

NEIGHBOURS_SHOWN = 50
_REFRESHED_AT_ONCE = 128  # nodes that are read, and committed, together


class Engine:
    """Embeds, keeps and finds nodes. One thread computes or changes at a time; reads may come from any thread.

    `UnknownNodeError`: no such node (404). `NodeExistsError`: the id is taken (409). `FieldError`: something in the
    request is wrong, its `field` says where (422). `StoreError`: the store cannot be used.

    >>> engine = Engine.open("model", load_graph("cora"), "store")
    """

    def __init__(self, artifact: Artifact, state: LiveState, store: Store) -> None:
        self._state = state
        self._store = store
        self._reader = Reader(artifact, state.graph, state.features)
        self._working = threading.RLock()  # held while something is computed or changed
        self._lock = threading.RLock()  # held for the moment in which the state changes or is looked at
        self._answers = Answerer(state, self._reader, self._lock)
        self._keeper = IndexKeeper(store.folder, state.vectors, self._lock)
        self.dim = state.vectors.dim
        self.reads = state.features.reads.attribute  # what the model reads of a node besides its links
        self.feature_width = state.features.reads.width  # numbers in a row of features, if it reads features

    @classmethod
    def open(
        cls, model_folder: str | Path, graph: Graph, store_folder: str | Path, artifact: Artifact | None = None
    ) -> Self:
        """Load the model, unless `artifact` is what was read of it, and what the store kept or a new store."""
        artifact = artifact or Artifact.read(model_folder)
        reads = reads_of(artifact.feature_map, graph)
        store = Store.open(
            store_folder,
            model=model_digest(artifact),
            graph=graph_digest(graph),
            dim=artifact.model.vector_dim,
            width=reads.width,
            make_vectors=lambda: base_vectors(model_folder, artifact, graph),
        )
        try:
            live = LiveGraph(graph, artifact.config.walks, derived_seed(artifact.seed, "inference"))
            state = LiveState(NodeIds(graph), live, LiveFeatures(artifact.feature_map, graph), store.vectors)
            engine = cls(artifact, state, store)
            engine._replay()
        except BaseException:
            store.close()
            raise
        return engine

    def embed(
        self, groups: Sequence[Sequence[NewNode]], *, explain: Sequence[int], similar: Sequence[int]
    ) -> list[Result]:
        """Answers for several requests, computed together; nothing is kept, and groups do not see each other.

        `explain[i]` and `similar[i]` say how many nodes to name for each node of group i (0: none). A group that is
        wrong gives its error in its place.
        """
        with self._working:
            return self._answers.answer(self._answers.check(groups, distinct=False), explain, similar)

    def add(
        self,
        requests: Sequence[Sequence[NewNode]],
        *,
        explain: Sequence[int],
        similar: Sequence[int],
        check: Callable[[list[Result]], list[Result]] = list,
    ) -> list[Result]:
        """Like `embed`, and the nodes stay: they are durable when this returns, all groups in one commit.

        `check` gets the answers before anything is committed; a group whose answer it turns into an error is not kept.
        """
        with self._working:
            checked = self._answers.check(requests, distinct=True)
            results = check(self._answers.answer(checked, explain, similar))
            groups, changes = [], []
            for group, result in zip(checked, results, strict=True):
                if isinstance(group, Group) and isinstance(result, list):
                    groups.append(group)
                    answered = zip(group.nodes, result, strict=True)
                    changes.append([_entry("add", node, answer.vector, answer.spread) for node, answer in answered])
            self._store.journal.append(changes)
            with self._lock:
                self._state.add(groups, changes)
            self._tidy()
            return results

    def replace(self, node: NewNode) -> Answer:
        """Give a node that is there other attributes and links (in a directed graph, links from it)."""
        with self._working:
            number = self._number(node.id)
            check_attributes(node, self._state.features.reads, "")
            check_links(node, number, self._state.ids, {}, "")
            # The vector is read from the graph as it will be: the change is made first, and undone if it fails.
            with self._lock:
                undo = self._state.remember(number)
                self._state.apply([[_entry("replace", node)]])
            try:
                reading = self._reader.read([self._answers.asked(number)])
                if not np.isfinite(reading.vectors).all():
                    raise FieldError("features", "these numbers are too large for the model")
                vector, spread = reading.vectors[0], float(reading.spread[0])
                self._store.journal.append([[_entry("replace", node, vector, spread)]])
            except BaseException:
                with self._lock:
                    undo()
                raise
            with self._lock:
                self._state.set_vector(number, vector, spread)
            self._tidy()
            with self._lock:
                return Answer(self._state.ids.name(number), vector, spread)

    def delete(self, id: NodeId) -> None:
        """Remove a node and its edges."""
        with self._working:
            self._number(id)
            self._commit([[Entry("delete", key_of(id))]])

    def add_edges(self, edges: Sequence[tuple[NodeId, NodeId, float]]) -> None:
        """Add edges between nodes that are there, in one commit; an edge that is there already gets the new weight."""
        with self._working:
            links: dict[str, list[tuple[str, float]]] = {}
            for i, (source, target, weight) in enumerate(edges):
                for name, end in (("src", source), ("dst", target)):
                    if self._state.ids.find(end) < 0:
                        raise FieldError(f"edges[{i}].{name}", f"no node has the id {end!r}: add that node first")
                links.setdefault(key_of(source), []).append((key_of(target), stored_weight(weight)))
            if links:
                self._commit([[Entry("edges", source, links=tuple(ends)) for source, ends in links.items()]])

    def node(self, id: NodeId) -> NodeInfo:
        """What is known of a node."""
        with self._lock:
            number = self._number(id)
            state = self._state
            vector, spread = state.vectors.get(number)
            ends, weights = state.graph.neighbours(number, NEIGHBOURS_SHOWN)
            return NodeInfo(
                id=state.ids.name(number),
                vector=vector,
                spread=spread,
                neighbours=self._answers.named(zip(ends.tolist(), weights.tolist(), strict=True)),
                degree=state.graph.degree(number),
                label=state.label(number),
                text=state.text(number),
                added=state.is_added(number),
                stale=state.is_stale(number),
            )

    @property
    def num_gone(self) -> int:
        """How many nodes were deleted."""
        alive = self._state.graph.alive
        return len(alive) - int(np.count_nonzero(alive))

    def gone(self) -> list[NodeId]:
        """The ids of deleted nodes that nobody has taken since."""
        with self._lock:
            ids = self._state.ids
            names = [ids.name(number) for number in np.flatnonzero(~self._state.graph.alive).tolist()]
            return [name for name in dict.fromkeys(names) if ids.find(name) < 0]

    def texts_since(self) -> Since:
        """What a search for ids and texts has to know besides the base graph."""
        with self._lock:
            texts = list(self._state.texts.items())
            base = self._state.graph.base.num_nodes
            hidden = np.flatnonzero(~self._state.graph.alive[:base]).tolist()
            name = self._state.ids.name
            return Since([(name(node), text) for node, text in texts], {*hidden, *(n for n, _ in texts if n < base)})

    @property
    def num_arrived(self) -> int:
        """How many nodes were added since the fit, those that are gone again included."""
        return self._state.graph.num_slots - self._state.graph.base.num_nodes

    def arrived(self, first: int, count: int) -> list[NodeId | None]:
        """At most `count` of them, in order, from the `first`-th on; None for one that is gone again."""
        with self._lock:
            graph, name = self._state.graph, self._state.ids.name
            numbers = range(graph.base.num_nodes + first, graph.num_slots)[:count]
            return [name(number) if graph.alive[number] else None for number in numbers]

    def similar_to(self, id: NodeId, k: int) -> Found:
        """The `k` nodes nearest to a node, itself left out, as (id, cosine)."""
        assert k >= 1
        with self._lock:
            number = self._number(id)
            vector, _ = self._state.vectors.get(number)
            return self._answers.nearest(vector[None], k, leave_out=number)[0]

    def similar_to_vector(self, vector: FloatArray, k: int) -> Found:
        """The `k` nodes nearest to a vector, as (id, cosine)."""
        assert k >= 1
        assert vector.shape == (self.dim,)
        with self._lock:
            return self._answers.nearest(vector[None], k)[0]

    def refresh(self, limit: int | None = None) -> int:
        """Read nodes near changes again, at most `limit`; returns how many. Their vectors are durable afterwards.

        Near are the nodes whose own edges changed, which come first, and their neighbours (see `LiveState`).
        """
        with self._working:
            waiting = self._state.stale[:limit]
            for first in range(0, len(waiting), _REFRESHED_AT_ONCE):
                nodes = waiting[first : first + _REFRESHED_AT_ONCE]
                reading = self._reader.read([self._answers.asked(node) for node in nodes])
                rows = zip(nodes, reading.vectors, reading.spread.tolist(), strict=True)
                name = self._state.ids.name
                self._commit([[Entry("vector", key_of(name(node)), vector=v, spread=s)] for node, v, s in rows])
            return len(waiting)

    def statistics(self) -> dict[str, Any]:
        """Counts: nodes, edges, added, deleted, stale, dim, reads, journal_rows."""
        with self._lock:
            return {
                "nodes": self._state.num_nodes,
                "edges": self._state.graph.num_edges,
                "added": self._state.num_added,
                "deleted": self._state.deleted,
                "stale": self._state.num_stale,
                "dim": self.dim,
                "reads": self.reads,
                "journal_rows": self._store.journal.rows,
            }

    def close(self) -> None:
        """Let go of the store."""
        with self._working:
            self._keeper.close()
            self._store.close()

    def _replay(self) -> None:
        """Bring the state to where the journal ends."""
        journal, indexed = self._store.journal, self._keeper.journal_end
        done = journal.first
        if indexed is not None and indexed < done:  # compaction may have changed the numbers that the index knows
            indexed = None
        for changes in journal.read():
            for change in changes if indexed is not None else ():
                if done == indexed:
                    self._keeper.restore()
                done += len(change)
                self._state.apply([change])
            if indexed is None:
                self._state.apply(changes)
        if indexed is not None and done == indexed:
            self._keeper.restore()
        self._tidy()

    def _commit(self, changes: Sequence[Change]) -> None:
        """Make changes durable, then visible."""
        self._store.journal.append(changes)
        with self._lock:
            self._state.apply(changes)
        self._tidy()

    def _tidy(self) -> None:
        """Compact the journal and make a new search index, if they are due."""
        journal = self._store.journal
        try:
            if journal.is_half_dead():
                journal.rewrite(self._state.as_entries(journal.features_finder()))
        except StoreError as error:  # the journal is as it was
            logger.warning("the journal was not compacted: %s", error)
        self._keeper.look(journal.end)

    def _number(self, id: NodeId) -> int:
        number = self._state.ids.find(id)
        if number < 0:
            raise UnknownNodeError(f"no node has the id {id!r}")
        return number


def _entry(kind: Kind, node: NewNode, vector: FloatArray | None = None, spread: float = float("nan")) -> Entry:
    links = tuple((key_of(end), stored_weight(weight)) for end, weight in node.links)
    return Entry(kind, key_of(node.id), node.text, node.features, links, vector, spread)
