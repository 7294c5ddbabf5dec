"""Read an edge table and an optional node table as a graph; plain edge lists; tables of labels.

Edge table: columns `src,dst[,weight]`. Node table: `id` plus feature columns or text columns. With a node
table, its rows are the nodes, in that order; without one, the ids in sorted order.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import Ids, did_you_mean, id_array, is_text, match_ids, number_ids, sort_ids
from sanne.graph.readers.columns import Block, Table, is_numeric, read_ids, read_labels
from sanne.graph.readers.delimited import DelimitedFile, check_is_file, check_utf8, open_text
from sanne.graph.readers.kinds import Kinds, weights_by_likeness
from sanne.graph.readers.named import (
    Asked,
    EdgeColumns,
    NodeColumns,
    Unknown,
    check_columns,
    columns_of,
    conventional,
    key_column,
    open_table,
)

logger = logging.getLogger(__name__)

NO_ROW = (
    "add a row for it to the node table, or name another with --node-table; fit, build and compare also take "
    "--unknown drop (or add; unknown= in Python)"
)
_COLOURED_AT_MOST = 30  # columns of a node table that a map offers


def read_tables(edges: Any, nodes: Any = None, **options: Any) -> Graph:
    """The graph of an edge table and a node table, each a path or a table in memory; options as in `load_graph`.

    >>> read_tables("edges.csv", "nodes.parquet", text="abstract")
    """
    asked = Asked(**options)
    asked.check(nodes)
    edge_table = open_table(edges, "edge table")
    kinds = Kinds.of(asked.kind, asked.kind_weights)
    named = EdgeColumns.of(edge_table, asked, kinds)
    listed = Block.whole(edge_table, named.wanted, named.strings)
    count = listed.data.num_rows
    if count == 0 and nodes is None:
        raise InputError(f"{edge_table.name}: it has no edges, only column names; add one row per edge")
    ends = number_ids([read_ids(listed, name) for name in named.strings])
    weights = named.weights(listed)
    if nodes is None:
        ends = sort_ids(ends)
        ids, rows, node_data, chosen = ends.distinct, ends.rows, dict[str, Any](), dict[str, Any]()
        feature_names = None
    else:
        node_table = open_table(nodes, "node table")
        columns = NodeColumns.of(node_table, asked)
        block = Block.whole(node_table, columns.wanted, columns.strings)
        ids = read_unique_ids(block, columns.key)
        node_data = columns.read(block, infer=not node_table.typed)
        feature_names = columns.names(node_data["features"])
        # So that new nodes are read the same way, whatever their table looks like.
        chosen = {name: value for name, value in (("text", columns.text), ("features", columns.features)) if value}
        rows, more = _rows_of_ends(ends, ids, listed, node_table, asked.unknown)
        if more:
            ids, node_data = _with_more(ids, more, node_data)
    sources, targets = rows[:count], rows[count:]
    known = (sources >= 0) & (targets >= 0)
    if kinds is not None and weights is not None:
        kinds.check(edge_table.name)
        if kinds.auto:
            codes, names = kinds.read(listed)
            texts, features = node_data.get("texts"), node_data.get("features")
            found = weights_by_likeness(codes[known], len(names), sources[known], targets[known], texts, features)
            chosen["kind_weights"] = dict(zip(names, found.tolist(), strict=True))
            weights = weights * found[codes]
            logger.info("weights of edge types by likeness: %s", chosen["kind_weights"])
        known &= weights > 0
    return Graph.from_edges(
        *(sources[known], targets[known], weights[known] if weights is not None and named.weighted else None),
        node_ids=id_array(ids),
        directed=asked.directed,
        chosen=chosen,
        feature_names=feature_names,
        **node_data,
    )


def read_label_table(
    source: Any, node_ids: npt.NDArray[Any], label: str | None = None, id: str | None = None
) -> npt.NDArray[Any]:
    """One label per node of `node_ids`: -1 or "" if the table has none. Rows of other nodes are ignored."""
    nodes, given, _ = read_label_rows(source, node_ids, label, id, unique=True)
    labels = np.full(len(node_ids), -1 if given.dtype.kind == "i" else "", dtype=given.dtype)
    labels[nodes] = given
    return labels


def read_columns(
    source: Any, node_ids: npt.NDArray[Any], leave_out: Sequence[str] = (), id: str | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Other columns of a node table, to colour a map by: numbers, and text whose values repeat; None for no value."""
    table = open_table(source, "node table")
    key = id or conventional(table, "id")
    names = [name for name in table.columns if name not in (key, *leave_out)][:_COLOURED_AT_MOST]
    if key is None or not names:
        return {}
    block = Block.whole(table, [key, *names], [key])
    rows = match_ids(pa.array(node_ids), read_unique_ids(block, key))
    found = {}
    for name in names:
        column, kind = block.column(name), block.column(name).type
        repeats = is_text(kind) and 2 * len(column.unique()) <= len(column)
        if repeats or (is_numeric(kind) and not pa.types.is_nested(kind)):
            found[name] = np.array(column.take(pa.array(rows, mask=rows < 0)).to_pylist(), object)
    return found


def read_label_rows(
    source: Any, node_ids: npt.NDArray[Any], label: str | None = None, id: str | None = None, *, unique: bool = False
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], list[Any]]:
    """The node and label of every row, in a table that may contain a node more than once, unless `unique`.

    Rows of nodes that are not in `node_ids` are ignored; their ids come last.
    """
    table = open_table(source, "label table")
    check_columns(table, [] if label is None else [label], "label")
    key, label = key_column(table, id), label or conventional(table, "label")
    if label is None:
        raise InputError(f"{table.name}: no column 'label'; {columns_of(table)}. Name another with --label.")
    block = Block.whole(table, [key, label], [key, label])
    if block.data.num_rows == 0:
        raise InputError(f"{table.name}: it has no rows, only column names; add one row per label")
    if unique:
        read_unique_ids(block, key)
    ids = number_ids([read_ids(block, key)])
    found = match_ids(ids.distinct, pa.array(node_ids))
    unknown = ids.distinct.filter(pa.array(found < 0)).to_pylist()
    if len(unknown) == len(ids.distinct):
        hint = did_you_mean(unknown[0], node_ids) or f"; check the column {key!r}"
        raise InputError(f"{table.name}: none of its ids is in the model, for example {unknown[0]!r}{hint}")
    nodes = found[ids.rows]
    labels = read_labels(block, label, infer=not table.typed)
    return nodes[nodes >= 0], labels[nodes >= 0], unknown


def read_unique_ids(block: Block, key: str) -> pa.Array:
    """The ids of a node table, all different."""
    if block.data.num_rows == 0:
        raise InputError(f"{block.table.name}: it has no nodes, only column names; add one row per node")
    ids = number_ids([read_ids(block, key)])
    odd = np.flatnonzero(ids.rows != np.arange(len(ids.rows)))
    if len(odd):
        row = int(odd[0])
        first = int(ids.rows[row])  # every row before the first repeat is numbered like its row
        where = block.place(first).removeprefix(block.table.name).lstrip(", ")
        repeated = ids.distinct[first].as_py()
        raise InputError(f"{block.place(row)}: id {repeated!r} already occurs in {where}; keep one row per node")
    return ids.distinct


def _rows_of_ends(
    ends: Ids, ids: pa.Array, edges: Block, nodes: Table, unknown: Unknown | None
) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """The node of every end of an edge, -1 if it is dropped, and the ids that become new nodes."""
    found = match_ids(ends.distinct, ids)
    missing = np.flatnonzero(found < 0)
    if len(missing) and unknown in ("drop", "add"):
        done = "dropped" if unknown == "drop" else "added without attributes"
        logger.info("%s: %s ids have no row in %s; %s", edges.table.name, f"{len(missing):,}", nodes.name, done)
        if unknown == "drop":
            return found[ends.rows], []
        found[missing] = len(ids) + np.arange(len(missing))
        return found[ends.rows], ends.distinct.take(pa.array(missing)).to_pylist()
    if len(missing):
        absent = (found < 0)[ends.rows].reshape(2, -1)
        row = int(absent.any(axis=0).argmax())
        code = ends.rows.reshape(2, -1)[0 if absent[0, row] else 1, row]
        node_id = ends.distinct[int(code)].as_py()
        more = f" (nor have {len(missing) - 1} more ids)" if len(missing) > 1 else ""
        raise InputError(f"{edges.place(row)}: node {node_id!r} has no row in {nodes.name}{more}; {NO_ROW}")
    return found[ends.rows], []


def _with_more(ids: pa.Array, more: list[Any], data: dict[str, Any]) -> tuple[pa.Array, dict[str, Any]]:
    """Append nodes without a row: no text, no label, and the mean of every feature."""
    kind = ids.type if all(isinstance(one, int) == pa.types.is_integer(ids.type) for one in more) else pa.string()
    ids = pa.concat_arrays([ids.cast(kind), pa.array(more).cast(kind)])
    blank: dict[str, Any] = {"texts": ""}
    if data["labels"] is not None:
        blank["labels"] = -1 if data["labels"].dtype.kind == "i" else ""
    if data["features"] is not None:
        blank["features"] = data["features"].mean(axis=0, dtype=np.float64).astype(np.float32)
    return ids, {
        name: None if rows is None else np.concatenate([rows, np.array([blank[name]] * len(more), rows.dtype)])
        for name, rows in data.items()
    }


def read_edge_list(path: str | Path, *, directed: bool = False) -> Graph:
    """The graph of a SNAP edge list: pairs separated by a tab, a space or a comma; nodes in sorted order."""
    path = Path(path)
    check_is_file(path)
    skip = 0
    with open_text(path, errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                break
            skip += 1
        else:
            raise InputError(f"{path}: no edges in it; expected lines like `1 2`")
    check_utf8(path)
    mark = next((mark for mark in ("\t", ",", " ") if mark in line.strip()), "\t")
    width = len(line.strip().split(mark))
    if width != 2:
        raise InputError(
            f"{path}, line {skip + 1}: expected two node ids per line, found {width} fields; "
            "use a .csv file with the header src,dst,weight for more"
        )
    return read_tables(DelimitedFile(path, mark, ("src", "dst"), skip), directed=directed)
