"""What only the model and the graph can tell about a request: ids that are taken or unknown, features that do not fit.

Everything else was checked where the request came in (`requests.py`), and is only asserted here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sanne.errors import FieldError, NodeExistsError
from sanne.graph.graph import FloatArray
from sanne.serve.engine.ids import NodeIds, key_of
from sanne.serve.engine.nodes import NewNode

_MOST_WORDS = 1_000_000  # in a row of word counts, where every word is read one by one (Doc2Vec)

Link = tuple[int, int, float]  # from, to, weight
Attribute = Literal["text", "features", "links"]


@dataclass(frozen=True)
class Reads:
    """What a model reads of a node besides its links."""

    attribute: Attribute
    width: int | None = None  # of a row of features
    counts: bool = False  # features are word counts: not negative
    every_word: bool = False  # and are read word by word


def check_group(nodes: Sequence[NewNode], ids: NodeIds, reads: Reads, first: int) -> list[Link]:
    """Check the nodes of one request, numbered from `first`; returns their links to known nodes and to each other."""
    assert nodes
    own: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if key_of(node.id) in own:
            raise FieldError(f"nodes[{i}].id", f"{node.id!r} stands twice in this request: give each node its own id")
        if ids.find(node.id) >= 0:
            raise NodeExistsError(
                f"nodes[{i}].id: there is a node {node.id!r} already: choose another id, or replace that node"
            )
        own[key_of(node.id)] = first + i
    links = []
    for i, node in enumerate(nodes):
        check_attributes(node, reads, f"nodes[{i}].")
        links += check_links(node, first + i, ids, own, f"nodes[{i}].")
    return links


def check_attributes(node: NewNode, reads: Reads, prefix: str) -> None:
    """Refuse text or features that the model cannot read."""
    for name, value in (("text", node.text), ("features", node.features)):
        if value is not None and name != reads.attribute:
            asked = "links alone" if reads.attribute == "links" else reads.attribute
            raise FieldError(f"{prefix}{name}", f"this model reads {asked}: leave {name} out")
    if node.features is not None:
        _check_features(np.asarray(node.features), reads, f"{prefix}features")


def check_links(node: NewNode, number: int, ids: NodeIds, own: dict[str, int], prefix: str) -> list[Link]:
    """The links of a node, by number; `own` are the other nodes of its request."""
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
    """A weight as it is stored."""
    stored = float(np.float32(weight))
    assert 0 < stored < np.inf
    return stored


def _check_features(features: FloatArray, reads: Reads, field: str) -> None:
    if features.shape != (reads.width,):
        raise FieldError(field, f"{features.size} numbers where the model reads {reads.width}")
    assert np.isfinite(features).all()
    if reads.counts and features.min(initial=0.0) < 0:
        place = int(np.argmin(features))
        raise FieldError(field, f"number {place} is {features[place]:g}, and word counts cannot be negative")
    if reads.every_word and features.sum(dtype=np.float64) > _MOST_WORDS:
        raise FieldError(field, f"more than {_MOST_WORDS:,} words in one node")
