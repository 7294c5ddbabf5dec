"""Checks that need the model and the graph: ids that exist or do not, attributes that the model does not read.

Everything else was checked where the request came in (`http/schemas.py`) and is only asserted here.
"""

from collections.abc import Sequence

import numpy as np

from sanne.errors import FieldError, NodeExistsError, SanneError
from sanne.graph.graph import FloatArray
from sanne.serve.engine.ids import NodeIds, key_of
from sanne.serve.engine.state import Group, LiveState
from sanne.serve.live.features import NewNode, Reads
from sanne.serve.live.graph import Links

_MAX_WORDS = 1_000_000  # in a row of word counts, for a model that reads every word (Doc2Vec)

Link = tuple[int, int, float]  # from, to, weight


def check_requests(
    requests: Sequence[Sequence[NewNode]], state: LiveState, *, distinct: bool
) -> list[Group | SanneError]:
    """Each request's nodes ready to be read, or what is wrong with them; `distinct`: no id in two requests."""
    first = state.graph.num_slots
    taken: set[str] = set()
    found: list[Links | SanneError] = []
    for nodes in requests:
        try:
            found.append(state.graph.merged(_check_nodes(nodes, state, taken)))
            taken.update(key_of(node.id) for node in nodes if distinct)
        except SanneError as error:
            found.append(error)
    good = [nodes for nodes, links in zip(requests, found, strict=True) if not isinstance(links, SanneError)]
    features = state.read_features([node for nodes in good for node in nodes]) if good else np.empty((0, 0), np.float32)
    parts = iter(np.split(features, np.cumsum([len(nodes) for nodes in good[:-1]], dtype=np.int64)))
    return [
        links if isinstance(links, SanneError) else Group(tuple(nodes), first, next(parts), links)
        for nodes, links in zip(requests, found, strict=True)
    ]


def _check_nodes(nodes: Sequence[NewNode], state: LiveState, taken: set[str]) -> list[Link]:
    """Check the nodes of one request; returns their links by number. `taken` are ids that other requests add."""
    assert nodes
    ids, first = state.ids, state.graph.num_slots
    own: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if key_of(node.id) in own:
            raise FieldError(f"nodes[{i}].id", f"{node.id!r} appears twice in this request: give each node its own id")
        if ids.find(node.id) >= 0:
            raise NodeExistsError(
                f"nodes[{i}].id: a node {node.id!r} exists already: choose another id, or replace that node"
            )
        if key_of(node.id) in taken:
            raise NodeExistsError(f"nodes[{i}].id: another request is adding a node {node.id!r}")
        own[key_of(node.id)] = first + i
    links = []
    for i, node in enumerate(nodes):
        check_attributes(node, state.features.reads, f"nodes[{i}].")
        links += check_links(node, first + i, ids, own, f"nodes[{i}].")
    return links


def check_attributes(node: NewNode, reads: Reads, prefix: str) -> None:
    """Refuse text or features that the model does not read."""
    for name, value in (("text", node.text), ("features", node.features)):
        if value is not None and name != reads.attribute:
            wanted = "links only" if reads.attribute == "links" else reads.attribute
            raise FieldError(f"{prefix}{name}", f"this model reads {wanted}: leave {name} out")
    if node.features is not None:
        _check_features(np.asarray(node.features), reads, f"{prefix}features")


def check_links(node: NewNode, number: int, ids: NodeIds, own: dict[str, int], prefix: str) -> list[Link]:
    """The links of a node by number; `own` are the numbers of the nodes in the same request."""
    links = []
    for i, (target, weight) in enumerate(node.links):
        found = own.get(key_of(target), -1)
        if found < 0:
            found = ids.find(target)
        if found < 0:
            message = f"no node has the id {target!r}: add that node first, or in the same request"
            raise FieldError(f"{prefix}links[{i}]", message)
        links.append((number, found, stored_weight(weight)))
    return links


def stored_weight(weight: float) -> float:
    """A weight in the precision that it is stored in."""
    stored = float(np.float32(weight))
    assert 0 < stored < np.inf
    return stored


def _check_features(features: FloatArray, reads: Reads, field: str) -> None:
    if features.shape != (reads.width,):
        raise FieldError(field, f"{features.size} numbers, but the model reads {reads.width}")
    assert np.isfinite(features).all()
    if reads.counts and features.min(initial=0.0) < 0:
        place = int(np.argmin(features))
        raise FieldError(field, f"number {place} is {features[place]:g}, but word counts cannot be negative")
    if reads.every_word and features.sum(dtype=np.float64) > _MAX_WORDS:
        raise FieldError(field, f"more than {_MAX_WORDS:,} words in one node")
