"""The engine behind the server: model, live graph and store together. No HTTP here."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partialmethod
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from sanne.errors import FieldError, SanneError, UnknownNodeError
from sanne.graph.graph import FloatArray, Graph
from sanne.model.artifact import Artifact
from sanne.model.classifier import Classifier
from sanne.seeds import derived_seed
from sanne.serve.engine.checks import check_attributes, check_ends, check_links, check_requests, find_end
from sanne.serve.engine.ids import NodeIds, stream_key
from sanne.serve.engine.notes import note_on
from sanne.serve.engine.reader import ReadRequest, read_nodes
from sanne.serve.engine.state import Group, LiveState, TextChanges
from sanne.serve.live.features import LiveFeatures, NewNode, NodeId
from sanne.serve.live.graph import LiveGraph
from sanne.serve.store.store import FolderStore, OpenStore, Store, base_vectors, graph_digest, model_digest

NEIGHBOURS_SHOWN = 50
_REFRESHED_AT_ONCE = 128  # nodes that are read, and committed, together
_TOO_LARGE = "these numbers are too large for the model"

Found = list[tuple[NodeId, float]]  # ids with shares, weights or cosines


@dataclass(frozen=True, eq=False)
class Answer:
    """The vector of a new node, its uncertainty and, if requested, an explanation and the nearest nodes."""

    id: NodeId
    vector: FloatArray  # (dim,)
    uncertainty: float  # from 0 to below 1; NaN if the model has none
    explanation: Found | None = None  # (node, share of the vector), largest first
    similar: Found | None = None  # (node, cosine), nearest first
    note: str | None = None  # a remark on the vector, such as that the node has no links


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
    note: str | None  # as in `Answer`
    added: bool  # after the fit
    stale: bool  # something nearby changed since its vector was computed: `refresh` brings it up to date


Result = list[Answer] | Exception
Value = TypeVar("Value")


class Engine:
    """Embeds, keeps and finds nodes. Only one thread may embed, change or refresh nodes; look-ups may come from any.

    `UnknownNodeError`: no such node (404). `NodeExistsError`: the id is taken (409). `FieldError`: something in the
    request is wrong; its `field` says where (422). `StoreError`: the store cannot be used.

    >>> engine = Engine.open("model", load_graph("cora"), "store")
    """

    def __init__(self, artifact: Artifact, state: LiveState, store: Store) -> None:
        self._state = state
        self._store = store
        self._model = artifact.model
        self._lock = state.lock  # held only while the state is changed or read
        self.dim = state.vectors.dim
        self.reads = state.features.reads.attribute  # what the model reads about a node besides its links
        self.feature_width = state.features.reads.width  # numbers in a row of features, if it reads features
        self.uncertainty_of = artifact.model.uncertainty
        self._classifier = artifact.classifier
        self.predicts = artifact.classifier is not None
        state.load(store)

    @classmethod
    def open(
        cls,
        model_folder: str | Path,
        graph: Graph,
        store_folder: str | Path,
        artifact: Artifact | None = None,
        open_store: OpenStore = FolderStore,
    ) -> Self:
        """Load the model, unless it is already loaded (`artifact`), and open or create its store."""
        artifact = artifact or Artifact.read(model_folder)
        graph = artifact.as_fitted(graph)
        artifact.feature_map.transform(graph, np.arange(1))  # an error if the graph lacks what the model reads
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
    ) -> list[Result]:
        """Results for several requests, computed together; requests do not see each other.

        `explain[i]` and `similar[i]` are the numbers of nodes to list for each node of request i (0: none). The result
        of an invalid request is its error. With `keep` the nodes are added, and durable when this returns: all
        requests in one commit.
        """
        checked = check_requests(requests, self._state, distinct=keep)
        results = self._answer(checked, explain, similar)
        if keep:
            with self._transaction(), self._lock:
                for group, answers in zip(checked, results, strict=True):
                    if isinstance(group, Group) and isinstance(answers, list):
                        vectors = np.array([answer.vector for answer in answers])
                        uncertainty = np.array([answer.uncertainty for answer in answers], np.float32)
                        self._state.add(group, vectors, uncertainty)
        return results

    add = partialmethod(embed, keep=True)

    def replace(self, nodes: Sequence[NewNode]) -> list[Answer | Exception]:
        """Change the attributes and links of existing nodes (directed: links from them), all in one commit."""
        return self._change_each(nodes, self._replace)

    def _replace(self, node: NewNode) -> Answer:
        state, number = self._state, self._number(node.id)
        check_attributes(node, state.features.reads, "")
        links = state.graph.merged(check_links(node, number, state.ids, {}, ""))
        with self._lock:
            state.replace(number, node, links)
        reading = read_nodes(self._model, state, [self._read_request(number)])
        vector, uncertainty = reading.vectors[0], float(reading.uncertainty[0])
        if not np.isfinite(vector).all():
            raise FieldError("features", _TOO_LARGE)
        with self._lock:
            state.set_vector(number, vector, uncertainty, node)
        return Answer(state.ids.name(number), vector, uncertainty, note=state.note(number))

    def delete(self, ids: Sequence[NodeId]) -> list[NodeId | Exception]:
        """Remove nodes and their edges in one commit; returns their ids as in responses."""
        return self._change_each(ids, self._delete)

    def _delete(self, id: NodeId) -> NodeId:
        number = self._number(id)
        with self._lock:
            self._state.delete(number)
        return self._state.ids.name(number)

    def add_edges(self, requests: Sequence[Sequence[tuple[NodeId, NodeId, float]]]) -> list[int | Exception]:
        """Add edges (from, to, weight) between existing nodes, in one commit; returns how many distinct ones.

        Existing edges get the new weight, repeated ones the last.
        """
        return self._change_each(requests, self._connect)

    def _connect(self, edges: Sequence[tuple[NodeId, NodeId, float]]) -> int:
        state, links = self._state, {}
        for i, (src, dst, weight) in enumerate(edges):
            source, target = find_end(src, state.ids, f"edges[{i}].src"), find_end(dst, state.ids, f"edges[{i}].dst")
            check_ends(source, target, f"edges[{i}].dst")
            pair = (source, target) if state.graph.directed else (min(source, target), max(source, target))
            links[pair] = float(np.float32(weight))  # in the precision of rows
        with self._lock:
            state.connect(links)
        return len(links)

    def _change_each(self, requests: Iterable[Any], change: Callable[[Any], Value]) -> list[Value | Exception]:
        """The result of every request, all in one commit; a failing one changes nothing and returns its error."""
        results: list[Value | Exception] = []
        with self._transaction():
            for request in requests:
                try:
                    with self._state.all_or_nothing():
                        results.append(change(request))
                except Exception as error:
                    results.append(error)
        return results

    def refresh(self, limit: int | None = None) -> int:
        """Recompute the vectors of stale nodes, at most `limit`; returns how many. They are durable afterwards.

        Stale are the nodes whose own edges changed, which come first, and their neighbours (see `LiveState`).
        """
        waiting = self._state.stale[:limit]
        for first in range(0, len(waiting), _REFRESHED_AT_ONCE):
            nodes = waiting[first : first + _REFRESHED_AT_ONCE]
            reading = read_nodes(self._model, self._state, [self._read_request(node) for node in nodes])
            with self._transaction(), self._lock:
                for node, vector, uncertainty in zip(nodes, reading.vectors, reading.uncertainty.tolist(), strict=True):
                    self._state.set_vector(node, vector, uncertainty)
        return len(waiting)

    def node(self, id: NodeId) -> NodeInfo:
        """What is known about a node."""
        with self._lock:
            number = self._number(id)
            state = self._state
            vector, uncertainty = state.vectors.get(number)
            ends, weights = state.graph.neighbours(number)
            near = zip(ends[:NEIGHBOURS_SHOWN].tolist(), weights[:NEIGHBOURS_SHOWN].tolist(), strict=True)
            return NodeInfo(
                id=state.ids.name(number),
                vector=vector,
                uncertainty=uncertainty,
                neighbours=self._named(near),
                degree=len(ends),
                label=state.label(number),
                text=state.text(number),
                note=state.note(number),
                added=state.is_added(number),
                stale=state.is_stale(number),
            )

    @property
    def classifier(self) -> Classifier:
        """The classifier saved with the model."""
        if self._classifier is None:
            raise FieldError(
                "predict", "the model has no classifier: make one with sanne predict MODEL --labels FILE --save"
            )
        return self._classifier

    def some_ids(self, count: int) -> list[NodeId]:
        """The ids of some nodes, the first ones."""
        with self._lock:
            numbers = np.flatnonzero(self._state.graph.alive)[:count]
            return [self._state.ids.name(number) for number in numbers.tolist()]

    def similar_to(self, id: NodeId, k: int) -> Found:
        """The `k` nodes nearest to a node, without itself, as (id, cosine)."""
        own = self.node(id)
        near = self.similar_to_vector(own.vector, k + 1)
        return [(name, cosine) for name, cosine in near if name != own.id][:k]

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

    def arrived(self, first: int, count: int) -> list[tuple[NodeId, FloatArray, float] | None]:
        """Id, vector and uncertainty of at most `count` added nodes, from position `first`; None for a deleted one."""
        with self._lock:
            graph, name, vector = self._state.graph, self._state.ids.name, self._state.vectors.get
            numbers = range(graph.base.num_nodes + first, graph.num_slots)[:count]
            return [(name(number), *vector(number)) if graph.alive[number] else None for number in numbers]

    def text_changes(self) -> TextChanges:
        """How ids and texts differ from those of the base graph."""
        with self._lock:
            return self._state.text_changes()

    def statistics(self) -> dict[str, int]:
        """Counts, as in `LiveState`."""
        with self._lock:
            return self._state.statistics()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _answer(
        self, checked: Sequence[Group | SanneError], explain: Sequence[int], similar: Sequence[int]
    ) -> list[Result]:
        """Results for checked requests; errors keep their places."""
        results: list[Any] = list(checked)
        groups = [(i, group) for i, group in enumerate(checked) if isinstance(group, Group)]
        if not groups:
            return results
        wanted = [
            ReadRequest(group.first + place, stream_key(node.id), group, explain[i])
            for i, group in groups
            for place, node in enumerate(group.nodes)
        ]
        reading = read_nodes(self._model, self._state, wanted)
        near = self._nearest(reading.vectors, max(similar)) if max(similar) > 0 else [[]] * len(wanted)
        rows = zip(reading.vectors, reading.uncertainty.tolist(), reading.contributions, near, strict=True)
        for i, group in groups:
            answers: list[Answer] = []
            linked, own = {end for pair in group.links for end in pair}, islice(rows, len(group.nodes))
            known = self._state.features.known(group.features).tolist()
            for node, (vector, uncertainty, (nodes, shares), found) in zip(group.nodes, own, strict=True):
                drawn_on = zip(nodes.tolist(), shares.tolist(), strict=True)
                explanation = self._named(drawn_on, group) if len(nodes) else None
                nearest = found[: similar[i]] if similar[i] > 0 else None
                place = len(answers)
                note = note_on(linked=group.first + place in linked, known=known[place], text=node.text)
                name = self._state.ids.external_id(node.id)
                answers.append(Answer(name, vector, uncertainty, explanation, nearest, note))
            too_large = [place for place, answer in enumerate(answers) if not np.isfinite(answer.vector).all()]
            results[i] = FieldError(f"nodes[{too_large[0]}].features", _TOO_LARGE) if too_large else answers
        return results

    def _nearest(self, queries: FloatArray, k: int) -> list[Found]:
        """The `k` nodes nearest to each query, (queries, dim), as (id, cosine)."""
        with self._lock:
            found = self._state.vectors.search(queries, k, self._state.graph.alive)
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
        return ReadRequest(number, stream_key(state.ids.name(number)) if state.is_added(number) else number)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write the changes made inside in one commit; undo them if anything fails."""
        with self._state.all_or_nothing():
            yield
            if self._state.changes:
                self._store.write(self._state.changes)
            self._state.commit()

    def _number(self, id: NodeId) -> int:
        number = self._state.ids.find(id)
        if number < 0:
            raise UnknownNodeError(f"no node has the id {id!r}")
        return number
