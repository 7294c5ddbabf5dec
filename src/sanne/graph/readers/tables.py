"""Read an edge table and an optional node table (CSV, TSV, Parquet, pyarrow, pandas) as a graph.

Edge table: columns `src,dst[,weight]` (or `source,target`). Node table: `id` plus feature columns or text
columns. With a node table, its rows are the nodes, in that order; without one, the ids in sorted order.
"""

import difflib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.graph import LARGEST_WEIGHT, SMALLEST_WEIGHT, Graph, usable_weights
from sanne.graph.ids import Ids, encode_ids, id_array, match_ids, refuse_control_characters, sort_ids
from sanne.graph.readers.columns import Rows, Table, is_numeric, numbers, read_features, read_labels, read_texts
from sanne.graph.readers.delimited import open_delimited
from sanne.graph.readers.typed_tables import is_table, open_memory_table, open_parquet

logger = logging.getLogger(__name__)

DELIMITED = (".csv", ".tsv", ".tab")
PARQUET = (".parquet", ".pq")
ENDPOINTS = (("src", "dst"), ("source", "target"))


def read_tables(
    edges: Any,
    nodes: Any = None,
    *,
    text: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    label: str | None = None,
    weight: str | bool | None = None,
    directed: bool = False,
) -> Graph:
    """The graph of an edge table and a node table, each a path or a table in memory.

    text: the column with documents, or several (joined by a blank).
    features: the feature columns; without it and without `text`, every numeric column but id and label.
    label: the column with classes (default: `label`, if there is one); never a feature.
    weight: the column of edge weights (default: `weight`, if there is one); False reads none.

    >>> read_tables("edges.csv", "nodes.parquet", text="abstract")
    """
    edge_table = open_table(edges, "edge table")
    ends, weights = _read_edges(edge_table, weight)
    count = len(ends.rows) // 2
    if nodes is None:
        if text is not None or features is not None or label is not None:
            raise InputError("text, features and label name columns of a node table: give node_table= as well")
        ends = sort_ids(ends)
        return Graph.from_edges(
            *(ends.rows[:count], ends.rows[count:], weights), node_ids=ends.to_numpy(), directed=directed
        )
    node_table = open_table(nodes, "node table")
    ids, node_data = _read_nodes(node_table, as_names(text), as_names(features), label)
    found = match_ids(ends.distinct, ids.distinct)
    _check_all_found(found, ends, edge_table, node_table)
    rows = found[ends.rows]
    return Graph.from_edges(
        *(rows[:count], rows[count:], weights), node_ids=ids.to_numpy(), directed=directed, **node_data
    )


def open_table(source: Any, name: str) -> Table:
    """Open a path by its ending, or a table in memory; `name` is what messages call the latter."""
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix.lower() in PARQUET:
            return open_parquet(path)
        if path.suffix.lower() in DELIMITED or path.suffix.lower() == ".txt":
            return open_delimited(path)
        raise InputError(f"{path}: unknown kind of table; expected {', '.join(DELIMITED + PARQUET)}")
    if is_table(source):
        return open_memory_table(source, name)
    raise InputError(
        f"the {name} is a {type(source).__name__}; expected the path of a CSV, TSV or Parquet file, "
        "a pandas DataFrame or a pyarrow Table"
    )


def _read_edges(table: Table, weight: str | bool | None) -> tuple[Ids, npt.NDArray[np.float64] | None]:
    """The ends of all edges (sources, then targets) and the weights."""
    source, target, column = edge_columns(table, weight)
    wanted = [source, target] + ([column] if column else [])
    data = table.read(wanted, strings=[source, target])
    if data.num_rows == 0:
        raise InputError(f"{table.name}: it has no edges, only column names; add one row per edge")
    ends = _encode(table, [data.column(source), data.column(target)])
    missing = np.flatnonzero(ends.rows < 0)
    if len(missing):
        row, name = int(missing[0]) % data.num_rows, (source, target)[int(missing[0]) // data.num_rows]
        raise InputError(f"{table.place(row)}: no node id in column {name!r}; fill it in or remove the row")
    return ends, None if column is None else edge_weights(table, data.column(column), column)


def edge_columns(table: Table, weight: str | bool | None) -> tuple[str, str, str | None]:
    """The names of the columns of sources, targets and, if there are any, weights."""
    source, target = _endpoints(table)
    if isinstance(weight, str):
        _check_columns(table, [weight], "weight")
        column: str | None = weight
    else:
        column = None if weight is False else _conventional(table, "weight")
        if weight is True and column is None:
            raise InputError(f"{table.name}: no column 'weight'; {_columns_of(table)}")
    return source, target, column


def _endpoints(table: Table) -> tuple[str, str]:
    for pair in ENDPOINTS:
        found = [_conventional(table, name) for name in pair]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    raise InputError(
        f"{table.name}: expected the columns src,dst (or source,target) and perhaps weight; "
        f"{_columns_of(table)}. Rename them, or add a header line."
    )


def edge_weights(table: Rows, column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    """Weights as numbers; the first that is not positive is named."""
    values = numbers(table, column, name, "weight")
    bad = np.flatnonzero(~usable_weights(values))
    if len(bad):
        row = int(bad[0])
        problem = "no weight" if np.isnan(values[row]) else f"weight {values[row]:g}"
        more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
        raise InputError(
            f"{table.place(row)}: {problem} in column {name!r}{more}; "
            f"a weight is a positive number, from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: "
            "correct it, scale all weights, or remove the edge"
        )
    return values


def node_columns(
    table: Table, text: list[str] | None, features: list[str] | None, label: str | None
) -> tuple[str, str | None]:
    """The names of the columns of ids and, if there are any, labels; the others asked for must be there."""
    key = _conventional(table, "id")
    if key is None:
        raise InputError(f"{table.name}: a node table needs a column 'id'; {_columns_of(table)}")
    if label is None:
        label = "label" if "label" in table.columns else None
    else:
        _check_columns(table, [label], "label")
    _check_columns(table, text or [], "text")
    _check_columns(table, features or [], "feature")
    if label is not None and label in (features or []):
        raise InputError(f"column {label!r} is the label, so it cannot be a feature as well")
    return key, label


def _read_nodes(
    table: Table, text: list[str] | None, features: list[str] | None, label: str | None
) -> tuple[Ids, dict[str, Any]]:
    """Node ids in row order, and the texts, features and labels."""
    key, label = node_columns(table, text, features, label)
    everything = text is None and features is None
    wanted = table.columns if everything else [key, *(text or []), *(features or []), *([label] if label else [])]
    data = table.read(list(dict.fromkeys(wanted)), strings=[key, *(text or []), *([label] if label else [])])
    ids = _encode(table, [data.column(key)])
    _check_one_row_per_id(table, ids)
    if everything:
        features = [c for c in table.columns if c not in (key, label) and is_numeric(data.column(c).type)]
        ignored = [c for c in table.columns if c not in (key, label, *features)]
        if ignored:
            logger.info("%s: columns that are not numbers are not read: %s", table.name, ", ".join(ignored))
    return ids, {
        "texts": read_texts(table, data, text) if text else None,
        "features": read_features(table, data, features, id_array(ids.distinct)) if features else None,
        "labels": read_labels(table, data.column(label), label) if label else None,
    }


def _encode(table: Table, columns: list[pa.ChunkedArray]) -> Ids:
    try:
        ids = encode_ids(columns, infer=not table.typed)
    except InputError as error:
        raise InputError(f"{table.name}: {error}") from None
    refuse_control_characters(ids, lambda row: table.place(row % len(columns[0])))
    return ids


def _check_one_row_per_id(table: Table, ids: Ids) -> None:
    if len(ids.rows) == 0:
        raise InputError(f"{table.name}: it has no nodes, only column names; add one row per node")
    odd = np.flatnonzero(ids.rows != np.arange(len(ids.rows)))
    if len(odd) == 0:
        return
    row = int(odd[0])
    if ids.rows[row] < 0:
        raise InputError(f"{table.place(row)}: no node id; fill it in or remove the row")
    first = int(ids.rows[row])  # every row before the first repeat is numbered like its row
    where = table.place(first).removeprefix(table.name).lstrip(", ")
    repeated = ids.distinct[first].as_py()
    raise InputError(f"{table.place(row)}: id {repeated!r} stands already in {where}; keep one row per node")


def _check_all_found(found: npt.NDArray[np.int64], ends: Ids, edges: Table, nodes: Table) -> None:
    missing = np.flatnonzero(found < 0)
    if len(missing) == 0:
        return
    count = len(ends.rows) // 2
    # The first line that names a missing node, whichever of its two ends that is.
    absent = (found < 0)[ends.rows].reshape(2, count)
    row = int(absent.any(axis=0).argmax())
    code = ends.rows[row] if absent[0, row] else ends.rows[count + row]
    more = f" (nor have {len(missing) - 1} more ids)" if len(missing) > 1 else ""
    raise InputError(
        f"{edges.place(row)}: node {ends.distinct[int(code)].as_py()!r} has no row in {nodes.name}{more}; "
        "add a row for it to the node table, or remove the edge"
    )


def as_names(given: str | Sequence[str] | None) -> list[str] | None:
    """One name or several, as a list."""
    if given is None:
        return None
    return [given] if isinstance(given, str) else list(given)


def _conventional(table: Table, name: str) -> str | None:
    """The column of this name, in whatever case it is written."""
    if name in table.columns:
        return name
    return next((column for column in table.columns if column.lower() == name), None)


def _check_columns(table: Table, names: list[str], what: str) -> None:
    for name in names:
        if name not in table.columns:
            close = difflib.get_close_matches(name, table.columns, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise InputError(f"{table.name}: no {what} column {name!r}; {hint}{_columns_of(table)}")


def _columns_of(table: Table) -> str:
    if not table.columns:
        return "found no columns"
    shown = ", ".join(table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
    return f"found the columns {shown}"
