"""Edges in memory as a graph (arrays, tensors, lists of pairs, scipy matrices), with node data in rows."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import as_given, is_missing, shown
from sanne.graph.readers.tables import read_tables
from sanne.graph.readers.typed_tables import TypedTable


def read_arrays(
    edges: Any,
    *,
    weights: npt.ArrayLike | None = None,
    num_nodes: int | None = None,
    features: Any = None,
    text: Any = None,
    labels: Any = None,
    directed: bool = False,
) -> Graph:
    """The graph of a list of pairs or weighted triples, an (m, 2) array, a (2, m) tensor, or (sources, targets).

    If the number of nodes is known (`num_nodes`, or the rows of features, texts or labels) and the pairs are
    integers, they are indices 0..n-1. Otherwise every distinct value is a node, in sorted order.

    >>> read_arrays(np.array([[0, 1], [1, 2]]), num_nodes=4)
    """
    sources, targets, own = _ends(edges)
    values = own if weights is None else as_array(weights)
    count, what = _count(num_nodes, {"rows of features": features, "texts": text, "labels": labels})
    if count is not None and sources.dtype.kind in "iu":
        _check_last(max((int(end.max()) for end in (sources, targets) if len(end)), default=-1), count, what)
        graph = Graph.from_edges(sources, targets, values, node_ids=np.arange(count), directed=directed)
    else:
        graph = read_tables(edge_table((sources, targets), values), directed=directed)
    return replace(
        graph,
        features=None if features is None else as_features(features, graph.node_ids),
        feature_names=names_of_columns(features),
        texts=None if text is None else as_texts(text, graph.node_ids),
        labels=None if labels is None else as_labels(labels, graph.node_ids),
    )


def edge_table(edges: Any, weights: Any = None) -> TypedTable:
    """Pairs as a table with the columns src and dst, and perhaps weight."""
    *ends, own = _ends(edges)
    columns = [pa.array(end) if end.dtype.kind in "iu" else id_column(end.tolist()) for end in ends]
    values = own if weights is None else weights
    names = ("src", "dst", "weight")[: 2 + (values is not None)]
    table = pa.table(columns + ([] if values is None else [values]), names=names)
    return TypedTable(table, "edges in memory", names, row="pair")


def _ends(edges: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Any]:
    """Sources, targets, and weights if there are any."""
    weights = None
    if isinstance(edges, list):
        if not edges:
            raise InputError("the list of edges is empty: give at least one pair (source, target)")
        wide = {len(edge) if isinstance(edge, list | tuple) else 0 for edge in edges}
        if wide not in ({2}, {3}):
            raise InputError("a list of edges holds either pairs (source, target) or triples with a weight")
        first, second, *rest = zip(*edges, strict=True)
        sources, targets, values = as_given(first), as_given(second), as_array(rest[0]) if rest else None
        if values is not None and values.dtype.kind not in "iuf":
            raise InputError(f"the third item of a triple is the weight, a number, not {edges[0][2]!r}")
        weights = None if values is None else values.astype(np.float64)
    elif isinstance(edges, tuple) and len(edges) == 2:
        sources, targets = (as_given(end) if isinstance(end, list | tuple) else as_array(end) for end in edges)
        if sources.ndim != 1 or sources.shape != targets.shape:
            raise InputError(f"sources {sources.shape} and targets {targets.shape} must be equally long lists")
    else:
        pairs = as_array(edges)
        if hasattr(edges, "detach") and pairs.ndim == 2 and pairs.shape[0] == 2:
            pairs = pairs.T  # as torch has them
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            turn = "; transpose it" if pairs.ndim == 2 and pairs.shape[0] == 2 else ""
            raise InputError(f"edges must be an array of shape (m, 2), not {pairs.shape}{turn}")
        sources, targets = pairs[:, 0], pairs[:, 1]
    return _checked_end(sources), _checked_end(targets), weights


def _checked_end(end: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if end.dtype.kind == "f" and np.isnan(end).any():  # integers, and NaN where there is none
        return end.astype(object)
    if end.dtype.kind not in "iuUO":
        raise InputError(f"edges must hold integers or text, not {end.dtype}")
    return end


def id_column(items: list[Any]) -> pa.Array:
    """Ids as an Arrow array, null for None and NaN; a mix of numbers and text is text."""
    if all(isinstance(item, int | np.integer) and abs(int(item)) < 2**63 for item in items):
        return pa.array(items, pa.int64())
    try:
        return pa.array([None if is_missing(item) else str(item) for item in items], pa.string())
    except UnicodeEncodeError as error:
        raise InputError(f"node id {error.object!r} is not valid text: it cannot be saved; rename it") from None


def _check_last(last: int, count: int, what: str) -> None:
    if last >= count:
        own = "" if what == "nodes" else "; if these are ids of your own, give a node table (node_table=)"
        raise InputError(
            f"{count} {what}, but an edge names node {last}: nodes are numbered from 0, so there must be at least "
            f"{last + 1}{own}"
        )


def _count(num_nodes: int | None, rows: dict[str, Any]) -> tuple[int | None, str]:
    """How many nodes there are, if anything says so, and what they are counted in."""
    if num_nodes is not None:
        return num_nodes, "nodes"
    for what, values in rows.items():
        if values is not None:
            shape = values.shape if hasattr(values, "shape") else (len(values),)
            if not shape:
                raise InputError("features, texts and labels need one row per node, not a single value")
            return int(shape[0]), what
    return None, ""


def read_scipy(matrix: Any, *, weight: str | bool | None = None, directed: bool = False) -> Graph:
    """The graph of a square matrix: an entry (i, j) is an edge from i to j; ids are 0..n-1.

    Stored zeros are not edges. The values are weights unless all are 1; `weight` decides it explicitly.
    Undirected, (i, j) and (j, i) are one edge, with the larger of the two weights.
    """
    entries = sp.coo_matrix(matrix)
    if entries.shape[0] != entries.shape[1]:
        raise InputError(f"an adjacency matrix must be square, not {entries.shape[0]} x {entries.shape[1]}")
    if entries.dtype.kind not in "iufb":
        raise InputError(f"an adjacency matrix must hold numbers, not {entries.dtype}")
    stored = entries.data != 0
    rows, columns, values = entries.row[stored], entries.col[stored], entries.data[stored].astype(np.float64)
    use = bool((values != 1).any()) if weight is None else bool(weight)
    ids = np.arange(entries.shape[0])
    return Graph.from_edges(rows, columns, values if use else None, node_ids=ids, directed=directed)


def as_array(values: Any) -> npt.NDArray[Any]:
    """A numpy array of a list, an array or a torch tensor on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if getattr(values, "is_sparse", False):
            values = values.to_dense()
        values = values.numpy()
    return np.asarray(values)


def as_features(values: Any, node_ids: npt.NDArray[Any]) -> Any:
    """Features as scipy CSR float32 (if sparse) or C-contiguous float32 (n, width); all must be finite."""
    found = sp.csr_matrix(values) if sp.issparse(values) else as_array(values)
    if found.ndim == 1:
        found = found.reshape(-1, 1)
    if found.ndim != 2 or found.dtype.kind not in "iufb":
        raise InputError(f"features must be a matrix of numbers, a row per node, not {found.dtype} {found.shape}")
    _check_rows(found.shape[0], "rows of features", node_ids)
    with np.errstate(over="ignore"):
        rows = found.astype(np.float32) if sp.issparse(found) else np.ascontiguousarray(found, np.float32)
    if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
        places = sp.coo_matrix(rows)
        bad = int(np.argmin(np.isfinite(places.data)))
        feature = f"the feature {places.data[bad]} in column {places.col[bad]}"
        raise InputError(f"node {shown(node_ids, places.row[bad])} has {feature}; features must be finite numbers")
    return rows


def names_of_columns(values: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame."""
    columns = list(values.columns) if hasattr(values, "columns") else []
    return tuple(columns) if columns and all(isinstance(name, str) for name in columns) else None


def as_texts(values: Iterable[Any], node_ids: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """Documents as str objects; None and NaN become empty."""
    if isinstance(values, str):
        raise InputError(f"text={values!r} names a column, but there is no node table: give node_table= as well")
    texts = ["" if text is None or text != text else str(text) for text in values]
    _check_rows(len(texts), "texts", node_ids)
    return np.array(texts, dtype=object)


def as_labels(values: Any, node_ids: npt.NDArray[Any]) -> Any:
    """Classes as int64 or str objects, or an indicator matrix (n, classes)."""
    if sp.issparse(values):
        _check_rows(values.shape[0], "labels", node_ids)
        return sp.csr_matrix(values)
    array = as_array(values)
    _check_rows(len(array), "labels", node_ids)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    whole = array.dtype.kind == "f" and np.isfinite(array).all() and np.array_equal(array, np.floor(array))
    if array.dtype.kind in "biu" or whole:
        return array.astype(np.int64)
    if array.ndim == 1 and array.dtype.kind in "OU":
        if all(isinstance(label, int | np.integer) for label in array):
            return array.astype(np.int64)
        return np.array(["" if label is None else str(label) for label in array], dtype=object)
    if array.ndim not in (1, 2) or array.dtype.kind != "f":
        raise InputError(f"labels must be one class per node, not {array.dtype} of shape {array.shape}")
    return array


def _check_rows(rows: int, what: str, node_ids: npt.NDArray[Any]) -> None:
    if rows != len(node_ids):
        raise InputError(f"{rows} {what} for {len(node_ids)} nodes: give one per node, in node order")
