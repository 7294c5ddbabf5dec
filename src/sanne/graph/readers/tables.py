"""Read an edge table and an optional node table (CSV, TSV, Parquet, pyarrow, pandas) as a graph.

Edge table: columns `src,dst[,weight]` (or `source,target`). Node table: `id` plus feature columns or text
columns. With a node table, its rows are the nodes, in that order; without one, the ids in sorted order.
"""

import difflib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import Ids, did_you_mean, id_array, match_ids, number_ids, refuse_control_characters, sort_ids
from sanne.graph.readers.columns import (
    Block,
    Table,
    is_numeric,
    read_features,
    read_ids,
    read_labels,
    read_texts,
    read_weights,
)
from sanne.graph.readers.delimited import DelimitedFile, open_delimited
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
    named = EdgeColumns.of(edge_table, weight)
    listed = Block.whole(edge_table, named.wanted, named.strings)
    count = listed.data.num_rows
    if count == 0 and nodes is None:
        raise InputError(f"{edge_table.name}: it has no edges, only column names; add one row per edge")
    ends = number_ids([read_ids(listed, name) for name in named.strings])
    refuse_control_characters(ends, lambda row: listed.place(row % count))
    weights = None if named.weight is None else read_weights(listed, named.weight)
    if nodes is None:
        if text is not None or features is not None or label is not None:
            raise InputError("text, features and label name columns of a node table: give node_table= as well")
        ends = sort_ids(ends)
        ids, rows, node_data = ends.distinct, ends.rows, {}
    else:
        node_table = open_table(nodes, "node table")
        columns = NodeColumns.of(node_table, text, features, label)
        if columns.everything:
            block = Block.whole(node_table, node_table.columns, columns.strings)
            columns = columns.with_numeric(node_table, block.data.schema)
        else:
            block = Block.whole(node_table, columns.wanted, columns.strings)
        ids = read_unique_ids(block, columns.key)
        node_data = columns.read(block, infer=not node_table.typed)
        rows = _rows_of_ends(ends, ids, listed, node_table)
    return Graph.from_edges(
        *(rows[:count], rows[count:], weights), node_ids=id_array(ids), directed=directed, **node_data
    )


def read_label_table(source: Any, node_ids: npt.NDArray[Any], label: str | None = None) -> npt.NDArray[Any]:
    """One label per node of `node_ids`: -1 or "" where the table has none. Rows of other nodes are passed over."""
    block, key, label = _label_columns(source, label)
    read_unique_ids(block, key)
    nodes, given, _ = _known_labels(block, key, label, node_ids)
    labels = np.full(len(node_ids), -1 if given.dtype.kind == "i" else "", dtype=given.dtype)
    labels[nodes] = given
    return labels


def read_label_rows(
    source: Any, node_ids: npt.NDArray[Any], label: str | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], list[Any]]:
    """The node of every row and its label, in a table that may name a node more than once.

    Rows of nodes that `node_ids` does not have are passed over; their ids come last.
    """
    return _known_labels(*_label_columns(source, label), node_ids)


def _label_columns(source: Any, label: str | None) -> tuple[Block, str, str]:
    table = open_table(source, "label table")
    if label is not None:
        _check_columns(table, [label], "label")
    key, label = _conventional(table, "id"), label or _conventional(table, "label")
    if key is None or label is None:
        raise InputError(f"{table.name}: a label table needs the columns id and label; {_columns_of(table)}")
    return Block.whole(table, [key, label], [key, label]), key, label


def _known_labels(
    block: Block, key: str, label: str, node_ids: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any], list[Any]]:
    if block.data.num_rows == 0:
        raise InputError(f"{block.table.name}: it has no rows, only column names; add one row per label")
    ids = number_ids([read_ids(block, key)])
    refuse_control_characters(ids, block.place)
    found = match_ids(ids.distinct, pa.array(node_ids))
    unknown = ids.distinct.filter(pa.array(found < 0)).to_pylist()
    if len(unknown) == len(ids.distinct):
        hint = did_you_mean(unknown[0], node_ids) or "; check the column 'id'"
        raise InputError(f"{block.table.name}: none of its ids is a node of the model, not even {unknown[0]!r}{hint}")
    nodes = found[ids.rows]
    labels = read_labels(block, label, infer=not block.table.typed)
    return nodes[nodes >= 0], labels[nodes >= 0], unknown


def open_table(source: Any, name: str) -> Table:
    """Open a path by its ending, or a table in memory; `name` is what messages call the latter."""
    if isinstance(source, DelimitedFile):
        return source
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


@dataclass(frozen=True)
class EdgeColumns:
    """Which columns of an edge table hold what."""

    source: str
    target: str
    weight: str | None

    @classmethod
    def of(cls, table: Table, weight: str | bool | None) -> "EdgeColumns":
        """The columns by their usual names; `weight` may name another, and True and False ask for one or none."""
        for pair in ENDPOINTS:
            source, target = (_conventional(table, name) for name in pair)
            if source is not None and target is not None:
                break
        else:
            raise InputError(
                f"{table.name}: expected the columns src,dst (or source,target) and perhaps weight; "
                f"{_columns_of(table)}. Rename them, or add a header line."
            )
        if isinstance(weight, str):
            _check_columns(table, [weight], "weight")
            return cls(source, target, weight)
        column = None if weight is False else _conventional(table, "weight")
        if weight is True and column is None:
            raise InputError(f"{table.name}: no column 'weight'; {_columns_of(table)}")
        return cls(source, target, column)

    @property
    def strings(self) -> list[str]:
        """Those that are text, whatever they look like."""
        return [self.source, self.target]

    @property
    def wanted(self) -> list[str]:
        return [*self.strings, *([self.weight] if self.weight else [])]


@dataclass(frozen=True)
class NodeColumns:
    """Which columns of a node table hold what."""

    key: str
    text: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    label: str | None = None
    everything: bool = False  # neither text nor features were named: every numeric column is a feature

    @classmethod
    def of(
        cls, table: Table, text: str | Sequence[str] | None, features: str | Sequence[str] | None, label: str | None
    ) -> "NodeColumns":
        """The columns asked for, which must be there."""
        texts, numbers = as_names(text), as_names(features)
        key = _conventional(table, "id")
        if key is None:
            raise InputError(f"{table.name}: a node table needs a column 'id'; {_columns_of(table)}")
        if label is None:
            label = "label" if "label" in table.columns else None
        else:
            _check_columns(table, [label], "label")
        _check_columns(table, texts, "text")
        _check_columns(table, numbers, "feature")
        if label is not None and label in numbers:
            raise InputError(f"column {label!r} is the label, so it cannot be a feature as well")
        return cls(key, texts, numbers, label, everything=text is None and features is None)

    def with_numeric(self, table: Table, schema: pa.Schema) -> "NodeColumns":
        """The same with every numeric column as a feature, by the types that the columns have."""
        others = [name for name in table.columns if name not in (self.key, self.label)]
        features = tuple(name for name in others if is_numeric(schema.field(name).type))
        if ignored := [name for name in others if name not in features]:
            logger.info("%s: columns that are not numbers are not read: %s", table.name, ", ".join(ignored))
        return replace(self, features=features)

    @property
    def strings(self) -> list[str]:
        """Those that are text, whatever they look like."""
        return [self.key, *self.text, *([self.label] if self.label else [])]

    @property
    def wanted(self) -> list[str]:
        return list(dict.fromkeys([*self.strings, *self.features]))

    def read(self, block: Block, *, infer: bool) -> dict[str, Any]:
        """Texts, features and labels of a block; with `infer`, labels of digits are numbers."""
        return {
            "texts": read_texts(block, self.text) if self.text else None,
            "features": read_features(block, self.features, self.key) if self.features else None,
            "labels": read_labels(block, self.label, infer=infer) if self.label else None,
        }


def read_unique_ids(block: Block, key: str) -> pa.Array:
    """The ids of a node table, all different."""
    if block.data.num_rows == 0:
        raise InputError(f"{block.table.name}: it has no nodes, only column names; add one row per node")
    ids = number_ids([read_ids(block, key)])
    refuse_control_characters(ids, block.place)
    odd = np.flatnonzero(ids.rows != np.arange(len(ids.rows)))
    if len(odd):
        row = int(odd[0])
        first = int(ids.rows[row])  # every row before the first repeat is numbered like its row
        where = block.place(first).removeprefix(block.table.name).lstrip(", ")
        repeated = ids.distinct[first].as_py()
        raise InputError(f"{block.place(row)}: id {repeated!r} stands already in {where}; keep one row per node")
    return ids.distinct


def _rows_of_ends(ends: Ids, ids: pa.Array, edges: Block, nodes: Table) -> npt.NDArray[np.int64]:
    """The node of every end of an edge; the first edge that names a missing node is refused."""
    found = match_ids(ends.distinct, ids)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        absent = (found < 0)[ends.rows].reshape(2, -1)
        row = int(absent.any(axis=0).argmax())
        code = ends.rows.reshape(2, -1)[0 if absent[0, row] else 1, row]
        more = f" (nor have {len(missing) - 1} more ids)" if len(missing) > 1 else ""
        raise InputError(
            f"{edges.place(row)}: node {ends.distinct[int(code)].as_py()!r} has no row in {nodes.name}{more}; "
            "add a row for it to the node table, or remove the edge"
        )
    return found[ends.rows]


def as_names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _conventional(table: Table, name: str) -> str | None:
    """The column of this name, in whatever case it is written."""
    if name in table.columns:
        return name
    return next((column for column in table.columns if column.lower() == name), None)


def _check_columns(table: Table, names: Sequence[str], what: str) -> None:
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
