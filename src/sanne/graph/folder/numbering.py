"""Number the ids of graphs that do not fit in memory: integers by counting, anything else in a database on disk."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sanne.errors import InputError, import_extra
from sanne.graph.ids import IntArray

_IDS_AT_ONCE = 1_000_000
_BYTES_A_NUMBER = 16  # of a range that is counted: a byte to mark it, 4 for the node, 8 for the id


class TooFarApartError(Exception):
    """Integers too far apart to be numbered by counting in the allowed memory."""


class CountedIds:
    """Integers from a range small enough for a table with an entry per number.

    The ids are sorted, or with `in_order` (a node table) in the order given; then all must differ. `limit` bounds
    the bytes used.
    """

    def __init__(self, columns: Iterable[pa.ChunkedArray], limit: int, *, in_order: bool = False) -> None:
        most = limit // (2 * _BYTES_A_NUMBER if in_order else _BYTES_A_NUMBER)  # three copies of the ids for a moment
        occurs = np.zeros(2 * most, bool)  # a page that nobody touches takes no memory
        order, base, low, high = [], 0, 0, -1
        for column in columns:
            values = column.to_numpy()
            if len(values) == 0:
                continue
            first, last = int(values.min()), int(values.max())
            if high < low:
                low, high, base = first, last, max(first - most, -(2**63))
            low, high = min(low, first), max(high, last)
            if high - low >= most or low < base:
                raise TooFarApartError
            occurs[values - base] = True
            if in_order:
                order.append(values)
        self._low = low
        self._present = np.flatnonzero(occurs[low - base : high - base + 1])
        if in_order:
            listed = np.concatenate(order)
            if len(listed) > len(self._present):
                found, counts = np.unique(listed, return_counts=True)
                raise _repeated(int(found[counts > 1][0]))
            self._present = listed - low
        self.count = len(self._present)
        self._node = np.full(high - low + 1, -1, np.int32)
        self._node[self._present] = np.arange(self.count, dtype=np.int32)

    def ids(self) -> Iterator[pa.Array]:
        """All ids in the order of their nodes, some at a time."""
        for first in range(0, self.count, _IDS_AT_ONCE):
            yield pa.array(self._present[first : first + _IDS_AT_ONCE] + self._low)

    def codes(self, ids: pa.ChunkedArray) -> IntArray:
        """The nodes of some ids, -1 where there is none."""
        values = ids.to_numpy() - self._low
        inside = (values >= 0) & (values < len(self._node))
        return np.where(inside, self._node[np.where(inside, values, 0)], -1).astype(np.int64)


class DatabaseIds:
    """Ids of any kind in a DuckDB file, which sorts and joins within a memory limit and spills to disk.

    The distinct ids are sorted, or with `in_order` (a node table) in the order given; then all must differ.
    """

    def __init__(
        self, columns: Iterable[pa.ChunkedArray], memory: int, scratch: Path, kind: pa.DataType, *, in_order: bool
    ) -> None:
        duckdb = import_extra("duckdb", "scale", "building from text ids or sparse integer ids")
        limits = {"memory_limit": f"{memory // 2**20}MiB", "temp_directory": str(scratch / "spill")}
        self._database = duckdb.connect(scratch / "ids.duckdb", config=limits | {"preserve_insertion_order": False})
        self._run("SET enable_progress_bar = false")  # it would be drawn on stdout
        self._run(f"CREATE TABLE listed (id {'BIGINT' if pa.types.is_integer(kind) else 'VARCHAR'}, node BIGINT)")
        rows = 0
        for column in columns:
            block = pa.table({"id": column, "node": np.arange(rows, rows + len(column))})
            self._run(f"INSERT INTO listed {'FROM' if in_order else 'SELECT DISTINCT id, 0 FROM'} block", block)
            rows += len(column)
        if in_order:
            self._run("ALTER TABLE listed RENAME TO nodes")
            twice = self._one("SELECT min(id) FROM (SELECT id FROM nodes GROUP BY id HAVING count(*) > 1)")
            if twice is not None:
                raise _repeated(twice)
        else:
            distinct = "SELECT DISTINCT id FROM listed"
            self._run(f"CREATE TABLE nodes AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS node FROM ({distinct})")
            self._run("DROP TABLE listed")
        self.count = int(self._one("SELECT count(*) FROM nodes"))

    def ids(self) -> Iterator[pa.Array]:
        for first in range(0, self.count, _IDS_AT_ONCE):
            chosen = f"node >= {first} AND node < {first + _IDS_AT_ONCE}"
            yield self._run(f"SELECT id FROM nodes WHERE {chosen} ORDER BY node").column("id").combine_chunks()

    def codes(self, ids: pa.ChunkedArray) -> IntArray:
        rows = pa.table({"id": ids, "row": np.arange(len(ids))})
        found = self._run("SELECT block.row, nodes.node FROM block JOIN nodes ON block.id = nodes.id", rows)
        codes = np.full(len(ids), -1, np.int64)
        codes[found.column("row").to_numpy()] = found.column("node").to_numpy()
        return codes

    def close(self) -> None:
        self._database.close()

    def _one(self, query: str) -> Any:
        return self._run(query).column(0)[0].as_py()

    def _run(self, query: str, block: pa.Table | None = None) -> Any:
        """The result of a query as a table; `block` can be named in it."""
        try:
            if block is not None:
                self._database.register("block", block)
            found = self._database.sql(query)
            return None if found is None else found.to_arrow_table()
        except RuntimeError as error:  # DuckDB's reaction to Ctrl-C, hard to recognise as such
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from error
            raise
        finally:
            self._database.unregister("block")


def _repeated(node_id: Any) -> InputError:
    """The error for an id that occurs in two rows of a node table."""
    return InputError(f"id {node_id!r} occurs more than once in the node table; keep one row per node")
