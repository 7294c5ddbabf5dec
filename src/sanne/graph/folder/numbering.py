"""Number node ids that may not fit in memory: by counting where integers lie close, by DuckDB everywhere else."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError, MissingExtraError
from sanne.graph.graph import IntArray

Codes = npt.NDArray[np.int64]  # indices of nodes; -1: no such node
LARGEST = int(np.iinfo(np.int32).max)  # nodes in one graph
_IDS_AT_ONCE = 1_000_000


class Numbering(Protocol):
    """Which node has which id."""

    count: int

    def ids(self) -> Iterator[pa.Array]:
        """All ids in the order of their nodes, some at a time."""
        ...

    def codes(self, ids: pa.ChunkedArray) -> Codes:
        """The nodes of some ids, -1 where there is none."""
        ...


class TooFarApartError(Exception):
    """Integers too far apart to be numbered by counting in the memory allowed."""


class CountedIds:
    """Integers from a range small enough for a table with a place for each number in it."""

    def __init__(self, low: int, occurs: npt.NDArray[np.bool_], order: Codes | None = None) -> None:
        self._low = low
        self._present = np.flatnonzero(occurs) if order is None else order - low
        self.count = len(self._present)
        self._counting = order is None and low == 0 and self.count == len(occurs)
        self._size = len(occurs)
        self._node = np.empty(0, np.int32)
        if not self._counting:
            self._node = np.full(len(occurs), -1, np.int32)
            self._node[self._present] = np.arange(self.count, dtype=np.int32)

    @classmethod
    def distinct(cls, columns: Iterable[pa.ChunkedArray], limit: int) -> "CountedIds":
        """The distinct ids of some columns, sorted; `limit` bounds the bytes used."""
        span = _Span(limit // 16)  # a byte each to mark (twice when it grows), 4 for the node, 8 for the id
        for column in columns:
            span.mark(column.to_numpy())
        return cls(span.low, span.occurs[: span.high - span.low + 1])

    @classmethod
    def in_order(cls, columns: Iterable[pa.ChunkedArray], limit: int) -> "CountedIds":
        """The ids of a node table in the order of its rows; all must differ."""
        span = _Span(limit // 32)  # three copies of the ids for a moment
        order = []
        for column in columns:
            values = column.to_numpy()
            order.append(values)
            if span.mark(values) or len(np.unique(values)) < len(values):
                found, counts = np.unique(np.concatenate(order), return_counts=True)
                raise repeated(int(found[counts > 1][0]))
        return cls(span.low, span.occurs[: span.high - span.low + 1], np.concatenate(order))

    def ids(self) -> Iterator[pa.Array]:
        for first in range(0, self.count, _IDS_AT_ONCE):
            yield pa.array(self._present[first : first + _IDS_AT_ONCE] + self._low)

    def codes(self, ids: pa.ChunkedArray) -> Codes:
        values = ids.to_numpy() - self._low
        if self._counting:
            return values
        inside = (values >= 0) & (values < self._size)
        return np.where(inside, self._node[np.where(inside, values, 0)], -1).astype(np.int64)


class _Span:
    """Marks which integers occur; grows with the range seen, up to a limit of so many numbers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.low = 0
        self.high = -1
        self.occurs = np.zeros(0, bool)

    def mark(self, values: IntArray) -> bool:
        """Mark values; whether one of them was marked by an earlier call."""
        if len(values) == 0:
            return False
        low, high = int(values.min()), int(values.max())
        if self.high >= self.low:
            low, high = min(low, self.low), max(high, self.high)
        if high - low + 1 > self._limit:
            raise TooFarApartError
        if low < self.low or high - low + 1 > len(self.occurs) or self.high < self.low:
            size = min(self._limit, max(high - low + 1, 2 * len(self.occurs)))
            grown = np.zeros(size, bool)
            if self.high >= self.low:
                grown[self.low - low : self.high - low + 1] = self.occurs[: self.high - self.low + 1]
            self.occurs, self.low = grown, low
        self.high = high
        places = values - self.low
        again = bool(self.occurs[places].any())
        self.occurs[places] = True
        return again


class DatabaseIds:
    """Ids of any kind in a DuckDB file, which sorts and joins within a memory limit and spills to disk."""

    def __init__(self, scratch: Path, kind: pa.DataType, memory: int) -> None:
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError("duckdb", "scale", "building from text ids or scattered integers") from None
        self.count = 0
        self._database = duckdb.connect(str(scratch / "ids.duckdb"))
        self._database.execute(f"SET memory_limit = '{memory // 2**20}MiB'")
        self._database.execute("SET preserve_insertion_order = false")
        self._database.execute("SET enable_progress_bar = false")  # it would be drawn on stdout
        self._database.execute(f"SET temp_directory = {_quoted(str(scratch / 'spill'))}")
        self._type = "BIGINT" if pa.types.is_integer(kind) else "VARCHAR"

    def add_distinct(self, columns: Iterable[pa.ChunkedArray]) -> None:
        """Number the distinct ids of some columns in sorted order."""
        self._run(f"CREATE TABLE seen (id {self._type})")
        for column in columns:
            self._run("INSERT INTO seen SELECT DISTINCT id FROM block", block=pa.table({"id": column}))
        self._run(
            "CREATE TABLE nodes AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS node "
            "FROM (SELECT DISTINCT id FROM seen)"
        )
        self._run("DROP TABLE seen")
        self.count = self._one("SELECT count(*) FROM nodes")

    def add_in_order(self, columns: Iterable[pa.ChunkedArray]) -> None:
        """Number ids in the order given; all must differ."""
        self._run(f"CREATE TABLE nodes (id {self._type}, node BIGINT)")
        for column in columns:
            numbers = np.arange(self.count, self.count + len(column))
            self._run("INSERT INTO nodes SELECT id, node FROM block", block=pa.table({"id": column, "node": numbers}))
            self.count += len(column)
        twice = self._one("SELECT min(id) FROM (SELECT id FROM nodes GROUP BY id HAVING count(*) > 1)")
        if twice is not None:
            raise repeated(twice)

    def ids(self) -> Iterator[pa.Array]:
        for first in range(0, self.count, _IDS_AT_ONCE):
            last = first + _IDS_AT_ONCE
            query = f"SELECT id FROM nodes WHERE node >= {first} AND node < {last} ORDER BY node"
            with _interrupts_raised():
                found = self._database.sql(query).to_arrow_table()
            yield found.column("id").combine_chunks()

    def codes(self, ids: pa.ChunkedArray) -> Codes:
        rows = pa.table({"id": ids, "row": np.arange(len(ids))})
        self._database.register("block", rows)
        try:
            query = "SELECT block.row, nodes.node FROM block JOIN nodes ON block.id = nodes.id"
            with _interrupts_raised():
                found = self._database.sql(query).to_arrow_table()
        finally:
            self._database.unregister("block")
        codes = np.full(len(ids), -1, np.int64)
        codes[found.column("row").to_numpy()] = found.column("node").to_numpy()
        return codes

    def close(self) -> None:
        self._database.close()

    def _run(self, query: str, **tables: pa.Table) -> None:
        for name, table in tables.items():
            self._database.register(name, table)
        try:
            with _interrupts_raised():
                self._database.execute(query)
        finally:
            for name in tables:
                self._database.unregister(name)

    def _one(self, query: str) -> Any:
        with _interrupts_raised():
            return self._database.execute(query).fetchall()[0][0]


@contextlib.contextmanager
def _interrupts_raised() -> Iterator[None]:
    """DuckDB answers Ctrl-C with a RuntimeError, which nobody would take for one."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise


def repeated(node_id: Any) -> InputError:
    """The error for an id that stands in two rows of a node table."""
    return InputError(f"id {node_id!r} stands more than once in the node table; keep one row per node")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
