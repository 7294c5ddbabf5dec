"""Read numpy edge arrays as a graph."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import encode_ids, id_array, match_ids, refuse_control_characters, shown, sort_ids
from sanne.graph.readers.node_data import as_array, as_features, as_labels, as_texts


def read_arrays(
    edges: Any,
    *,
    weights: npt.ArrayLike | None = None,
    node_ids: npt.ArrayLike | None = None,
    num_nodes: int | None = None,
    features: Any = None,
    text: Any = None,
    labels: Any = None,
    directed: bool = False,
) -> Graph:
    """The graph of an (m, 2) array of pairs, or of a tuple (sources, targets).

    With `node_ids`, the pairs hold those ids. Else, if the number of nodes is known (`num_nodes`, or the
    rows of features, texts or labels) and the pairs are integers, they are indices 0..n-1. Else every
    distinct value is a node, in sorted order.

    >>> read_arrays(np.array([[0, 1], [1, 2]]), num_nodes=4)
    """
    sources, targets = _ends(edges)
    if node_ids is not None:
        ids = pa.array(np.asarray(node_ids).tolist())
        sources, targets = _positions(sources, ids), _positions(targets, ids)
        names = id_array(ids)
    else:
        count = _count(num_nodes, features, text, labels)
        if count is not None and sources.dtype.kind in "iu":
            names = np.arange(count)
        else:
            chunks = [pa.chunked_array([_column(end)]) for end in (sources, targets)]
            found = sort_ids(encode_ids(chunks, infer=False))
            if len(found.rows) and found.rows.min() < 0:
                raise InputError(f"edge {int(found.rows.argmin()) % len(sources) + 1}: an empty node id")
            refuse_control_characters(found, lambda row: f"edge {row % len(sources) + 1}")
            names = id_array(found.distinct)
            sources, targets = found.rows[: len(sources)], found.rows[len(sources) :]
    return Graph.from_edges(
        sources,
        targets,
        None if weights is None else as_array(weights),
        node_ids=names,
        directed=directed,
        features=None if features is None else as_features(features, names),
        texts=None if text is None else as_texts(text, names),
        labels=None if labels is None else as_labels(labels, names),
    )


def _ends(edges: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if isinstance(edges, tuple) and len(edges) == 2:
        sources, targets = as_array(edges[0]), as_array(edges[1])
        if sources.ndim != 1 or sources.shape != targets.shape:
            raise InputError(f"sources {sources.shape} and targets {targets.shape} must be equally long lists")
    else:
        pairs = as_array(edges)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            turn = "; transpose it" if pairs.ndim == 2 and pairs.shape[0] == 2 else ""
            raise InputError(f"edges must be an array of shape (m, 2), not {pairs.shape}{turn}")
        sources, targets = pairs[:, 0], pairs[:, 1]
    for end in (sources, targets):
        if end.dtype.kind not in "iuUO":
            raise InputError(f"edges must hold integers or text, not {end.dtype}")
    return sources, targets


def _column(values: npt.NDArray[Any]) -> pa.Array:
    """Ids as an Arrow array; a mix of numbers and text is text."""
    if values.dtype.kind in "iu":
        return pa.array(values)
    items = values.tolist()
    if all(isinstance(item, int) and abs(item) < 2**63 for item in items):
        return pa.array(items, pa.int64())
    try:
        return pa.array([str(item) for item in items], pa.string())
    except UnicodeEncodeError as error:
        raise InputError(f"node id {error.object!r} is no valid text: it cannot be saved; rename it") from None


def _positions(ends: npt.NDArray[Any], ids: pa.Array) -> npt.NDArray[np.int64]:
    found = encode_ids([pa.chunked_array([_column(ends)])], infer=False)
    position = np.append(match_ids(found.distinct, ids), -1)[found.rows]
    if len(position) and position.min() < 0:
        edge = int((position < 0).argmax())
        raise InputError(f"edge {edge + 1}: node {shown(ends, edge)} is not among node_ids; add it there")
    return position


def _count(num_nodes: int | None, *rows: Any) -> int | None:
    if num_nodes is not None:
        return num_nodes
    for values in rows:
        if values is not None:
            return int(values.shape[0]) if hasattr(values, "shape") else len(values)
    return None
