"""The engine behind the server: model, live graph and store joined. No HTTP here."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any, Self

import numpy as np

from sanne.errors import FieldError, SanneError, UnknownNodeError
from sanne.graph.graph import FloatArray, Graph
from sanne.model.artifact import Artifact
from sanne.model.model import Reading
from sanne.seeds import derived_seed
from sanne.serve.engine.checks import check_attributes, check_links, check_requests, stored_weight
from sanne.serve.engine.ids import NodeIds, key_of, stream_key
from sanne.serve.engine.reader import Guests, Reader, ReadRequest
from sanne.serve.engine.state import Group, LiveState, TextChanges
from sanne.serve.live.features import LiveFeatures, NewNode, NodeId, reads_of
from sanne.serve.live.graph import LiveGraph, guest_arcs
from sanne.serve.store.journal import Change, Entry, Kind
from sanne.serve.store.store import FolderStore, OpenStore, Store, base_vectors, graph_digest, model_digest

logger = logging.getLogger(__name__)

NEIGHBOURS_SHOWN = 50
_REFRESHED_AT_ONCE = 128  # nodes that are read, and committed, together
_TOO_LARGE = "these numbers are too large for the model"

Found = list[tuple[NodeId, float]]  # ids with shares, weights or cosines


@dataclass(frozen=True, eq=False)
class Answer:
    """The vector of a new node, how certain it is and, if asked for, an explanation and the nearest nodes."""

    id: NodeId
    vector: FloatArray  # (dim,)
    uncertainty: float  # how undecided the vector is, from 0 to below 1; NaN if the model cannot tell
    explanation: Found | None = None  # (node, share of the vector), largest first
    similar: Found | None = None  # (node, cosine), nearest first


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """What is known about an existing node."""

    id: NodeId
    vector: FloatArray
    uncertainty: float
    neighbours: Found  # (node, weight), the first `NEIGHBOURS_SHOWN`
    degree: int  # number of neighbours; in a directed graph, in the direction that walks take
    label: str | int | None
    text: str | None
    added: bool  # after the fit
    stale: bool  # something nearby changed since its vector was computed: `refresh` brings it up to date


Result = list[Answer] | Exception


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
        self._lock = state.vectors.lock  # held only while the state is changed or looked at
        self.dim = state.vectors.dim
        self.reads = state.features.reads.attribute  # what the model reads of a node besides its links
        self.feature_width = state.features.reads.width  # numbers in a row of features, if it reads features
        store.replay(state.apply)
        self._tidy()

    @classmethod
    def open(
        cls,
        model_folder: str | Path,
        graph: Graph,
        store_folder: str | Path,
        artifact: Artifact | None = None,
        open_store: OpenStore = FolderStore.open,
    ) -> Self:
        """Load the model, unless it was read before (`artifact`), and open its store or create one."""
        artifact = artifact or Artifact.read(model_folder)
        reads_of(artifact.feature_map, graph)  # an error if the graph lacks what the model reads
        store = open_store(
            store_folder,
            model=model_digest(artifact),
            graph=graph_digest(graph),
            dim=artifact.model.vector_dim,
            make_vectors=lambda: base_vectors(model_folder, artifact, graph),
        )
        try:
            live = LiveGraph(graph, artifact.config.walks, derived_seed(artifact.seed, "inference"))
            state = LiveState(NodeIds(graph), live, LiveFeatures(artifact.feature_map, graph), store.vectors)
            return cls(artifact, state, store)
        except BaseException:
            store.close()
            raise

    def embed(
        self,
        requests: Sequence[Sequence[NewNode]],
        *,
        explain: Sequence[int],
        similar: Sequence[int],
        keep: bool = False,
        before_commit: Callable[[list[Result]], object] = len,
    ) -> list[Result]:
        """Answers for several requests, computed together; requests do not see each other.

        `explain[i]` and `similar[i]` are the numbers of nodes to list for each node of request i (0: none). The result
        of an invalid request is its error. With `keep` the nodes are added: they are durable when this returns, all
        requests in one commit. `before_commit` gets all results; if it fails, nothing is kept.
        """
        with self._working:
            checked = check_requests(requests, self._state, distinct=keep)
            results = self._answer(checked, explain, similar)
            before_commit(results)
            if keep:
                self._keep(checked, results)
            return results

    add = partialmethod(embed, keep=True)

    def _keep(self, checked: Sequence[Group | SanneError], results: Sequence[Result]) -> None:
        groups, changes = [], []
        for group, result in zip(checked, results, strict=True):
            if isinstance(group, Group) and isinstance(result, list):
                groups.append(group)
                answered = zip(group.nodes, result, strict=True)
                changes.append([_entry("add", node, answer.vector, answer.uncertainty) for node, answer in answered])
        self._store.append(changes)
        with self._lock:
            self._state.add(groups, changes)
        self._tidy()

    def replace(self, nodes: Sequence[NewNode]) -> list[Answer | Exception]:
        """Change the attributes and links of existing nodes (directed: links from them), all in one commit.

        A vector is read from the changed graph, so a change is applied first and undone if anything fails.
        """
        results: list[Answer | Exception] = []
        changes: list[Change] = []
        with self._working:
            with contextlib.ExitStack() as undo:
                for node in nodes:
                    try:
                        answer = self._replace_one(node, undo)
                    except Exception as error:
                        results.append(error)
                    else:
                        results.append(answer)
                        changes.append([_entry("replace", node, answer.vector, answer.uncertainty)])
                self._store.append(changes)
                undo.pop_all()
            self._tidy()
        return results

    def _replace_one(self, node: NewNode, undo: contextlib.ExitStack) -> Answer:
        number = self._number(node.id)
        check_attributes(node, self._state.features.reads, "")
        check_links(node, number, self._state.ids, {}, "")
        with contextlib.ExitStack() as own:
            with self._lock:
                own.callback(self._state.remember(number))
                self._state.apply([[_entry("replace", node)]])
            reading = self._reader.read([self._read_request(number)])
            vector, uncertainty = reading.vectors[0], float(reading.uncertainty[0])
            if not np.isfinite(vector).all():
                raise FieldError("features", _TOO_LARGE)
            with self._lock:
                self._state.set_vector(number, vector, uncertainty)
                name = self._state.ids.name(number)
            undo.callback(own.pop_all().close)
        return Answer(name, vector, uncertainty)

    def delete(self, ids: Sequence[NodeId]) -> list[NodeId | Exception]:
        """Remove nodes and their edges in one commit; gives their ids as answers show them."""
        with self._working:
            results: list[NodeId | Exception] = []
            found: dict[int, Change] = {}
            for id in ids:
                number = self._state.ids.find(id)
                if number < 0 or number in found:
                    results.append(_unknown(id))
                else:
                    found[number] = [Entry("delete", key_of(id))]
                    results.append(self._state.ids.name(number))
            self._commit(list(found.values()))
            return results

    def add_edges(self, requests: Sequence[Sequence[tuple[NodeId, NodeId, float]]]) -> list[int | Exception]:
        """Add edges (from, to, weight) between existing nodes, in one commit; existing edges get the new weight."""
        with self._working:
            results: list[int | Exception] = []
            changes: list[Change] = []
            for edges in requests:
                try:
                    changes.append(self._edge_entries(edges))
                    results.append(len(edges))
                except FieldError as error:
                    results.append(error)
            self._commit(changes)
            return results

    def _edge_entries(self, edges: Sequence[tuple[NodeId, NodeId, float]]) -> Change:
        links: dict[str, list[tuple[str, float]]] = {}
        for i, (source, target, weight) in enumerate(edges):
            for name, end in (("src", source), ("dst", target)):
                if self._state.ids.find(end) < 0:
                    raise FieldError(f"edges[{i}].{name}", f"no node has the id {end!r}: add that node first")
            links.setdefault(key_of(source), []).append((key_of(target), stored_weight(weight)))
        return [Entry("edges", source, links=tuple(ends)) for source, ends in links.items()]

    def refresh(self, limit: int | None = None) -> int:
        """Recompute the vectors of stale nodes, at most `limit`; returns how many. They are durable afterwards.

        Stale are the nodes whose own edges changed, which come first, and their neighbours (see `LiveState`).
        """
        with self._working:
            waiting = self._state.stale[:limit]
            for first in range(0, len(waiting), _REFRESHED_AT_ONCE):
                nodes = waiting[first : first + _REFRESHED_AT_ONCE]
                reading = self._reader.read([self._read_request(node) for node in nodes])
                rows = zip(nodes, reading.vectors, reading.uncertainty.tolist(), strict=True)
                name = self._state.ids.name
                self._commit([[Entry("vector", key_of(name(node)), vector=v, uncertainty=s)] for node, v, s in rows])
            return len(waiting)

    def node(self, id: NodeId) -> NodeInfo:
        """What is known about a node."""
        with self._lock:
            number = self._number(id)
            state = self._state
            vector, uncertainty = state.vectors.get(number)
            ends, weights = state.graph.neighbours(number, NEIGHBOURS_SHOWN)
            return NodeInfo(
                id=state.ids.name(number),
                vector=vector,
                uncertainty=uncertainty,
                neighbours=self._named(zip(ends.tolist(), weights.tolist(), strict=True)),
                degree=state.graph.degree(number),
                label=state.label(number),
                text=state.text(number),
                added=state.is_added(number),
                stale=state.is_stale(number),
            )

    def some_ids(self, count: int) -> list[NodeId]:
        """The ids of some nodes, the first ones."""
        with self._lock:
            numbers = np.flatnonzero(self._state.graph.alive)[:count]
            return [self._state.ids.name(number) for number in numbers.tolist()]

    def similar_to(self, id: NodeId, k: int) -> Found:
        """The `k` nodes nearest to a node, without itself, as (id, cosine)."""
        with self._lock:
            number = self._number(id)
            vector, _ = self._state.vectors.get(number)
            return self._nearest(vector[None], k, leave_out=number)[0]

    def similar_to_vector(self, vector: FloatArray, k: int) -> Found:
        """The `k` nodes nearest to a vector, as (id, cosine)."""
        assert vector.shape == (self.dim,)
        return self._nearest(vector[None], k)[0]

    def deleted(self) -> list[NodeId]:
        """The ids of deleted nodes, without those that were added again."""
        with self._lock:
            ids = self._state.ids
            names = [ids.name(number) for number in np.flatnonzero(~self._state.graph.alive).tolist()]
            return [name for name in dict.fromkeys(names) if ids.find(name) < 0]

    def arrived(self, first: int, count: int) -> list[tuple[NodeId, FloatArray] | None]:
        """Ids and vectors of at most `count` added nodes in order, from position `first`; None for a deleted one."""
        with self._lock:
            graph, name, vector = self._state.graph, self._state.ids.name, self._state.vectors.get
            numbers = range(graph.base.num_nodes + first, graph.num_slots)[:count]
            return [(name(number), vector(number)[0]) if graph.alive[number] else None for number in numbers]

    def text_changes(self) -> TextChanges:
        """How ids and texts differ from those of the base graph."""
        with self._lock:
            return self._state.text_changes()

    def statistics(self) -> dict[str, int]:
        """Counts. Of the nodes that arrived since the fit, `added` leaves out those that were deleted again."""
        with self._lock:
            return {
                "nodes": self._state.num_nodes,
                "edges": self._state.graph.num_edges,
                "arrived": self._state.num_arrived,
                "added": self._state.num_added,
                "deleted": self._state.deleted,
                "stale": self._state.num_stale,
                "journal_rows": self._store.rows,
            }

    def close(self) -> None:
        """Close the store."""
        with self._working:
            self._store.close()

    def _answer(
        self, checked: Sequence[Group | SanneError], explain: Sequence[int], similar: Sequence[int]
    ) -> list[Result]:
        """Answers for checked requests; errors stay in their places."""
        results: list[Any] = list(checked)
        groups = [(i, group) for i, group in enumerate(checked) if isinstance(group, Group)]
        if not groups:
            return results
        reading = self._read([group for _, group in groups], [explain[i] for i, _ in groups])
        most = max(similar[i] for i, _ in groups)
        near = self._nearest(reading.vectors, most) if most > 0 else []
        row = 0
        for i, group in groups:
            rows = range(row, row + len(group.nodes))
            row = rows.stop
            found = [near[number][: similar[i]] if similar[i] > 0 else None for number in rows]
            results[i] = self._group_answers(group, reading, rows, found)
        return results

    def _read(self, groups: Sequence[Group], explain: Sequence[int]) -> Reading:
        graph = self._state.graph
        guests = Guests(
            guest_arcs([graph.guest_rows(group.links) for group in groups]),
            np.concatenate([group.features for group in groups]),
            np.cumsum([0, *(len(group.nodes) for group in groups)]),
        )
        wanted = [
            ReadRequest(group.first + i, number, stream_key(node.id), explain[number])
            for number, group in enumerate(groups)
            for i, node in enumerate(group.nodes)
        ]
        return self._reader.read(wanted, guests)

    def _group_answers(self, group: Group, reading: Reading, rows: range, similar: Sequence[Found | None]) -> Result:
        answers = []
        for i, (node, row) in enumerate(zip(group.nodes, rows, strict=True)):
            vector, contribution = reading.vectors[row], reading.contributions[row]
            if not np.isfinite(vector).all():
                return FieldError(f"nodes[{i}].features", _TOO_LARGE)
            explanation = None
            if len(contribution[0]):
                explanation = self._named(zip(*(part.tolist() for part in contribution), strict=True), group)
            name = self._state.ids.external_id(node.id)
            answers.append(Answer(name, vector, float(reading.uncertainty[row]), explanation, similar[i]))
        return answers

    def _nearest(self, queries: FloatArray, k: int, leave_out: int = -1) -> list[Found]:
        """The `k` nodes nearest to each query, (queries, dim), as (id, cosine)."""
        with self._lock:
            found = self._state.vectors.search(queries, k, self._state.graph.alive, leave_out)
            return [self._named(row) for row in found]

    def _named(self, numbers: Iterable[tuple[int, float]], group: Group | None = None) -> Found:
        """Numbers as ids; those above all nodes are guests of `group`."""
        ids, first = self._state.ids, self._state.graph.num_slots
        return [
            (ids.external_id(group.nodes[number - first].id) if group and number >= first else ids.name(number), value)
            for number, value in numbers
        ]

    def _read_request(self, number: int) -> ReadRequest:
        """A request to read an existing node again."""
        state = self._state
        return ReadRequest(number, -1, stream_key(state.ids.name(number)) if state.is_added(number) else number)

    def _commit(self, changes: Sequence[Change]) -> None:
        """Make changes durable, then visible."""
        self._store.append(changes)
        with self._lock:
            self._state.apply(changes)
        self._tidy()

    def _tidy(self) -> None:
        self._store.tidy(self._state.as_entries)

    def _number(self, id: NodeId) -> int:
        number = self._state.ids.find(id)
        if number < 0:
            raise _unknown(id)
        return number


def _unknown(id: NodeId) -> UnknownNodeError:
    return UnknownNodeError(f"no node has the id {id!r}")


def _entry(kind: Kind, node: NewNode, vector: FloatArray | None = None, uncertainty: float = float("nan")) -> Entry:
    links = tuple((key_of(end), stored_weight(weight)) for end, weight in node.links)
    return Entry(kind, key_of(node.id), node.text, node.features, links, vector, uncertainty)
