"""Read a networkx graph: node and edge attributes become features, texts, labels and weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import shown
from sanne.graph.readers.node_data import as_array, as_features, as_labels, as_texts


def read_networkx(
    source: Any,
    *,
    text: Any = None,
    features: Any = None,
    label: str | None = None,
    weight: str | bool | None = None,
) -> Graph:
    """The graph of a networkx Graph, DiGraph or their multigraph kinds, nodes in networkx's order.

    text: a node attribute, or one text per node. features: a node attribute, several, or a matrix.
    label: a node attribute (default: `label`, if every node has it).
    weight: an edge attribute (default: `weight`, if every edge has it); False reads none.
    Ids that are neither integers nor text are written as text.
    """
    nodes = list(source.nodes)
    ids = _ids(nodes)
    position = {node: index for index, node in enumerate(nodes)}
    pairs = [(position[u], position[v]) for u, v in source.edges()]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if label is None and nodes and all("label" in data for _, data in source.nodes(data=True)):
        label = "label"
    return Graph.from_edges(
        ends[:, 0],
        ends[:, 1],
        _weights(source, weight),
        node_ids=ids,
        directed=source.is_directed(),
        features=_features(source, features, ids),
        texts=_texts(source, text, ids),
        labels=None if label is None else as_labels(_attribute(source, label, "label"), ids),
    )


def _ids(nodes: list[Any]) -> npt.NDArray[Any]:
    if all(isinstance(node, int | np.integer) and abs(int(node)) < 2**63 for node in nodes):
        return np.array(nodes, dtype=np.int64)
    return np.array([str(node) for node in nodes], dtype=object)


def _weights(source: Any, weight: str | bool | None) -> npt.NDArray[np.float64] | None:
    if weight is False:
        return None
    name = weight if isinstance(weight, str) else "weight"
    values = [data.get(name) for _, _, data in source.edges(data=True)]
    if any(value is None for value in values) or not values:
        if weight is None or not values:
            return None
        u, v = list(source.edges())[values.index(None)]
        raise InputError(f"edge ({u!r}, {v!r}) has no attribute {name!r}; give every edge a weight")
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"edge attribute {name!r} must be a number on every edge") from None


def _attribute(source: Any, name: str, what: str) -> list[Any]:
    """A node attribute that every node must have."""
    values = []
    for node, data in source.nodes(data=True):
        if name not in data:
            raise InputError(f"node {node!r} has no attribute {name!r}; every node needs its {what}")
        values.append(data[name])
    return values


def _features(source: Any, features: Any, ids: npt.NDArray[Any]) -> Any:
    if features is None:
        return None
    names = [features] if isinstance(features, str) else features
    if not (isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names)):
        return as_features(features, ids)
    blocks = []
    for name in names:
        rows = [as_array(value).ravel() for value in _attribute(source, name, "features")]
        widths = np.array([len(row) for row in rows])
        if (widths != widths[0]).any():
            node = shown(ids, int((widths != widths[0]).argmax()))
            raise InputError(f"node {node}: attribute {name!r} is not as long as the first node's")
        blocks.append(np.stack(rows))
    return as_features(np.concatenate(blocks, axis=1), ids)


def _texts(source: Any, text: Any, ids: npt.NDArray[Any]) -> npt.NDArray[np.object_] | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return as_texts(text, ids)
    values = [data.get(text) for _, data in source.nodes(data=True)]
    if all(value is None for value in values):
        known = sorted({str(name) for _, data in source.nodes(data=True) for name in data})
        raise InputError(f"no node has the attribute {text!r}; found {', '.join(known) or 'none'}")
    return as_texts(values, ids)
