"""Small models, graphs and requests for the tests of the engine."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from planted import TINY, planted_graph
from sanne import SANNE
from sanne.graph.graph import Graph
from sanne.serve.engine.engine import Answer, Engine, Result
from sanne.serve.live.features import NewNode, NodeId

PLANTED = planted_graph()
GROUP = 40  # nodes in each group of the planted graph
WIDTH = 12


def graph_of(kind: str) -> Graph:
    """The planted graph, as one of many kinds of graph."""
    graph = PLANTED
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    parts: dict[str, Any] = {"node_ids": graph.node_ids, "features": graph.features, "labels": graph.labels}
    weights = None
    if "weighted" in kind:
        weights = 0.5 + (rows + graph.indices) % 4  # the same in both directions
    if "integer" in kind:
        parts["node_ids"] = np.arange(graph.num_nodes) * 3 - 7
    if "text" in kind:
        parts |= {"features": None, "texts": np.array([_document(i) for i in range(graph.num_nodes)], object)}
    if "counts" in kind:
        parts["features"] = sp.csr_matrix((graph.features > 0.5).astype(np.float32))
    if "bare" in kind:
        parts["features"] = None
    if "directed" in kind:
        keep = (rows < graph.indices) | (rows % 5 == 0)
        rows, targets = rows[keep], graph.indices[keep]
        return Graph.from_edges(rows, targets, None if weights is None else weights[keep], directed=True, **parts)
    return Graph.from_edges(rows, graph.indices, weights, **parts)


def _document(number: int) -> str:
    words = np.random.default_rng(number).integers(0, 30, 6) + 30 * (number // GROUP)
    return " ".join(f"word{word}" for word in words)


def save_model(folder: Path, graph: Graph, **settings: Any) -> Path:
    """A model folder of a quick fit."""
    model = SANNE("fast", settings=TINY | {"epochs": 1} | settings, progress=False)
    model.fit(graph).save(folder)
    return folder


def add_one(engine: Engine, node: NewNode, **asked: int) -> Answer:
    return only(engine.add([[node]], explain=[asked.get("explain", 0)], similar=[asked.get("similar", 0)]))


def embed_one(engine: Engine, node: NewNode, **asked: int) -> Answer:
    return only(engine.embed([[node]], explain=[asked.get("explain", 0)], similar=[asked.get("similar", 0)]))


def only(results: list[Result]) -> Answer:
    (result,) = results
    if isinstance(result, Exception):
        raise result
    return result[0]


def replace_one(engine: Engine, node: NewNode) -> Answer:
    (result,) = engine.replace([node])
    if isinstance(result, Exception):
        raise result
    return result


def delete_one(engine: Engine, id: NodeId) -> None:
    (result,) = engine.delete([id])
    if isinstance(result, Exception):
        raise result


def link(engine: Engine, edges: list[tuple[NodeId, NodeId, float]]) -> None:
    (result,) = engine.add_edges([edges])
    if isinstance(result, Exception):
        raise result


def newcomer(number: int, group: int = 1, links: int = 3, **other: Any) -> NewNode:
    """A node with features like those of a group, linked to some of its nodes."""
    stream = np.random.default_rng(number)
    features = PLANTED.features[group * GROUP + stream.integers(GROUP)]
    ends = group * GROUP + stream.choice(GROUP, links, replace=False)
    return NewNode(f"new{number}", features=features, links=tuple((f"p{end}", 1.0) for end in ends), **other)


def rebuilt(graph: Graph, nodes: list[NewNode], edges: list[tuple[str, str]] = ()) -> Graph:  # type: ignore[assignment]
    """The graph with nodes and edges added, built at once."""
    ids = [*graph.node_ids.tolist(), *(node.id for node in nodes)]
    row = {node_id: i for i, node_id in enumerate(ids)}
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)).tolist()
    targets = graph.indices.tolist()
    for source, target in [*((node.id, end) for node in nodes for end, _ in node.links), *edges]:
        sources.append(row[source])
        targets.append(row[target])
    features = graph.features
    if features is not None:
        features = np.concatenate([features, np.array([node.features for node in nodes]).reshape(-1, WIDTH)])
    return Graph.from_edges(sources, targets, node_ids=np.array(ids, object), features=features)


class History:
    """Random changes to a store."""

    def __init__(self, engine: Engine, graph: Graph, seed: int) -> None:
        self._engine = engine
        self._graph = graph
        self._stream = np.random.default_rng(seed)
        self._number = 1000
        self.present: list[str | int] = graph.node_ids.tolist()

    def step(self) -> None:
        some = [self.present[i] for i in self._stream.choice(len(self.present), 3, replace=False)]
        links = tuple((end, float(self._stream.integers(1, 4))) for end in some)
        kind = self._stream.choice(["add", "edges", "replace", "delete", "refresh"])
        if kind == "add":
            first, second = self._number, self._number + 1
            self._number += 2
            pair = [self._node(first, (*links, (second, 1.0))), self._node(second, ((first, 2.0),))]
            results = self._engine.add([pair], explain=[0], similar=[0])
            assert isinstance(results[0], list)
            self.present += [answer.id for answer in results[0]]
        elif kind == "edges":
            link(self._engine, [(some[0], some[1], 2.5), (some[1], some[2], 1.0)])
        elif kind == "replace":
            replace_one(self._engine, self._node(some[0], links[1:]))
        elif kind == "delete":
            delete_one(self._engine, some[0])
            self.present.remove(some[0])
        else:
            self._engine.refresh(10)

    def _node(self, name: str | int, links: tuple[tuple[str | int, float], ...]) -> NewNode:
        row = int(self._stream.integers(self._graph.num_nodes))
        if self._graph.texts is not None:
            return NewNode(name, text=str(self._graph.texts[row]), links=links)
        if self._graph.features is None:
            return NewNode(name, links=links)
        features = self._graph.features[[row]]
        dense = features.toarray() if sp.issparse(features) else features
        return NewNode(name, features=dense.ravel(), links=links)


def same_state(one: Engine, other: Engine, present: list[str | int]) -> None:
    for name in ("nodes", "edges", "added", "stale"):
        assert one.statistics()[name] == other.statistics()[name]
    for node_id in present:
        before, after = one.node(node_id), other.node(node_id)
        for name in ("id", "neighbours", "degree", "label", "text", "added", "stale"):
            assert getattr(before, name) == getattr(after, name), (node_id, name)
        np.testing.assert_array_equal([*before.vector, before.uncertainty], [*after.vector, after.uncertainty])
    names = [[engine._state.ids.name(node) for node in engine._state.stale] for engine in (one, other)]
    assert names[0] == names[1]
