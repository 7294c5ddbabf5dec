"""Requests checked and resolved: ids become numbers, and what is wrong is an error that names the field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sanne.errors import FieldError, NodeExistsError
from sanne.graph.csr import FloatArray
from sanne.graph.formats.ids import control_character
from sanne.serve.ids import NodeIds, key_of
from sanne.serve.nodes import NewNode, NodeId

_SMALLEST, _LARGEST = 1e-30, 1e30  # of weights and features: sums of them are still numbers
_MOST_WORDS = 1_000_000  # in a row of word counts, where every word is read one by one (Doc2Vec)

Attribute = Literal["text", "features", "links"]


@dataclass(frozen=True)
class Reads:
    """What a model reads of a node besides its links."""

    attribute: Attribute
    width: int | None = None  # of a row of features
    counts: bool = False  # features are word counts: not negative
    every_word: bool = False  # and are read word by word


@dataclass(frozen=True, eq=False)
class Group:
    """The nodes of one request; node i is a guest with the number first + i."""

    nodes: tuple[NewNode, ...]
    links: list[tuple[int, int, float]]  # numbers and weight


def check_group(nodes: Sequence[NewNode], ids: NodeIds, reads: Reads, first: int) -> Group:
    """Check the nodes of one request and find what they link to, among known nodes and among themselves."""
    if not nodes:
        raise FieldError("nodes", "the list is empty: give at least one node")
    own: dict[str, int] = {}
    for i, node in enumerate(nodes):
        check_id(node.id, f"nodes[{i}].id")
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
    return Group(tuple(nodes), links)


def check_id(node_id: NodeId, field: str) -> None:
    """Refuse what cannot name a node."""
    if isinstance(node_id, bool) or not isinstance(node_id, str | int):
        raise FieldError(field, f"an id is text or a whole number, not {type(node_id).__name__}")
    if isinstance(node_id, int):
        if not -(2**63) <= node_id < 2**63:
            raise FieldError(field, "a whole number as an id must fit in 64 bits: write it as text")
    elif not node_id:
        raise FieldError(field, "an id cannot be empty")
    else:
        _check_text(node_id, field)
        if (character := control_character(node_id)) is not None:
            raise FieldError(field, f"the control character {character!r} stands in this id: leave it out")


def check_attributes(node: NewNode, reads: Reads, prefix: str) -> None:
    """Refuse text or features that the model cannot read."""
    for name, value in (("text", node.text), ("features", node.features)):
        if value is not None and name != reads.attribute:
            asked = "links alone" if reads.attribute == "links" else reads.attribute
            raise FieldError(f"{prefix}{name}", f"this model reads {asked}: leave {name} out")
    if node.text is not None:
        _check_text(node.text, f"{prefix}text")
    if node.features is not None:
        _check_features(np.asarray(node.features), reads, f"{prefix}features")


def check_links(
    node: NewNode, number: int, ids: NodeIds, own: dict[str, int], prefix: str
) -> list[tuple[int, int, float]]:
    """The links of a node, by number; `own` are the other nodes of its request."""
    links = []
    for i, (target, weight) in enumerate(node.links):
        field = f"{prefix}links[{i}]"
        check_id(target, field)
        found = own.get(key_of(target), -1)
        if found < 0:
            found = ids.find(target)
        if found < 0:
            raise FieldError(field, f"no node has the id {target!r}: add that node first, or in the same request")
        links.append((number, found, check_weight(weight, f"{field}.weight")))
    return links


def check_weight(weight: float, field: str) -> float:
    """A weight as it is stored."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not _SMALLEST <= weight <= _LARGEST:
        raise FieldError(
            field, f"a weight is a positive number between {_SMALLEST:g} and {_LARGEST:g}, not {weight!r:.40}"
        )
    return float(np.float32(weight))


def _check_text(text: str, field: str) -> None:
    if not isinstance(text, str):
        raise FieldError(field, f"expected text, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FieldError(field, "half of a surrogate pair stands in this text: send valid Unicode") from None


def _check_features(features: FloatArray, reads: Reads, field: str) -> None:
    if features.shape != (reads.width,):
        raise FieldError(field, f"{features.size} numbers where the model reads {reads.width}")
    with np.errstate(invalid="ignore"):
        fine = np.abs(features) <= _LARGEST  # False for what is not a number
    if not fine.all():
        place = int(np.argmin(fine))
        raise FieldError(field, f"number {place} is not finite, or larger than {_LARGEST:g}: {features[place]}")
    if reads.counts and features.min(initial=0.0) < 0:
        place = int(np.argmin(features))
        raise FieldError(field, f"number {place} is {features[place]:g}, and word counts cannot be negative")
    if reads.every_word and features.sum(dtype=np.float64) > _MOST_WORDS:
        raise FieldError(field, f"more than {_MOST_WORDS:,} words in one node")
