"""Checks that need the model and the graph: which ids exist, and which attributes the model reads.

Everything else was checked where the request came in (`http/schemas.py`).
"""

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from sanne.errors import FieldError, NodeExistsError, SanneError
from sanne.serve.engine.ids import NodeIds
from sanne.serve.engine.state import Group, LiveState
from sanne.serve.live.features import NewNode, NodeId, Reads

_MAX_WORDS = 1_000_000  # in a row of word counts, for a model that reads every word (Doc2Vec)

Link = tuple[int, int, float]  # from, to, weight


def check_requests(
    requests: Sequence[Sequence[NewNode]], state: LiveState, *, distinct: bool
) -> list[Group | SanneError]:
    """Each request's nodes ready to be read, or their error; `distinct`: no id may be in two requests."""
    taken: set[str] = set()
    checked: list[Group | SanneError] = []
    for nodes in requests:
        try:
            links = state.graph.merged(_check_nodes(nodes, state, taken))
            checked.append(Group(tuple(nodes), state.graph.num_slots, links))
            taken.update(str(node.id) for node in nodes if distinct)
        except SanneError as error:
            checked.append(error)
    groups = [group for group in checked if isinstance(group, Group)]
    if not groups:
        return checked
    rows = iter(state.read_features([node for group in groups for node in group.nodes]))
    for group in groups:
        group.features = np.array(list(islice(rows, len(group.nodes))))
    return checked


def _check_nodes(nodes: Sequence[NewNode], state: LiveState, taken: set[str]) -> list[Link]:
    """Check the nodes of one request; returns their links by number. `taken`: ids that other requests add."""
    first = state.graph.num_slots
    own: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if str(node.id) in own:
            raise FieldError(f"nodes[{i}].id", f"{node.id!r} appears twice in this request: give each node its own id")
        if state.ids.find(node.id) >= 0:
            raise NodeExistsError(
                f"nodes[{i}].id: a node {node.id!r} already exists: choose another id, or replace that node"
            )
        if str(node.id) in taken:
            raise NodeExistsError(f"nodes[{i}].id: another request is adding a node {node.id!r}")
        own[str(node.id)] = first + i
    links = []
    for i, node in enumerate(nodes):
        check_attributes(node, state.features.reads, f"nodes[{i}].")
        links += check_links(node, first + i, state.ids, own, f"nodes[{i}].")
    return links


def check_attributes(node: NewNode, reads: Reads, prefix: str) -> None:
    """Refuse text or features that the model does not read."""
    for name, value in (("text", node.text), ("features", node.features)):
        if value is not None and name != reads.attribute:
            wanted = "links only" if reads.attribute == "links" else reads.attribute
            raise FieldError(f"{prefix}{name}", f"this model reads {wanted}: leave {name} out")
    features, field = node.features, f"{prefix}features"
    if features is None:
        return
    if features.shape != (reads.width,):
        raise FieldError(field, f"{features.size} numbers, but the model reads {reads.width}")
    if reads.counts and features.min(initial=0.0) < 0:
        place = int(np.argmin(features))
        raise FieldError(field, f"number {place} is {features[place]:g}, but word counts cannot be negative")
    if reads.every_word and features.sum(dtype=np.float64) > _MAX_WORDS:
        raise FieldError(field, f"more than {_MAX_WORDS:,} words in one node")


def check_links(node: NewNode, number: int, ids: NodeIds, own: Mapping[str, int], prefix: str) -> list[Link]:
    """The links of a node by number; `own` are the numbers of the nodes in the same request."""
    links = []
    for i, (end, weight) in enumerate(node.links):
        field = f"{prefix}links[{i}]"
        target = own[str(end)] if str(end) in own else find_end(end, ids, field)
        check_ends(number, target, field)
        links.append((number, target, weight))
    return links


def check_ends(source: int, target: int, field: str) -> None:
    """Refuse an edge that a graph would drop."""
    if source == target:
        raise FieldError(field, "an edge from a node to itself is not used: leave it out")


def find_end(end: NodeId, ids: NodeIds, field: str) -> int:
    """The number of a link's target."""
    number = ids.find(end)
    if number < 0:
        raise FieldError(field, f"no node has the id {end!r}: add that node first")
    return number
