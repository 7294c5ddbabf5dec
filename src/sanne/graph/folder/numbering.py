"""Number node ids that may not fit in memory, by DuckDB; `CountedIds` does it where integers lie close."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sanne.errors import import_extra
from sanne.graph.ids import IDS_AT_ONCE, IntArray, repeated


class DatabaseIds:
    """Ids of any kind in a DuckDB file, which sorts and joins within a memory limit and spills to disk.

    The distinct ids are sorted, or with `in_order` (a node table) in the order given; then all must differ.
    """

    def __init__(
        self, columns: Iterable[pa.ChunkedArray], memory: int, scratch: Path, kind: pa.DataType, *, in_order: bool
    ) -> None:
        duckdb = import_extra("duckdb", "scale", "building from text ids or scattered integers")
        spill = str(scratch / "spill").replace("'", "''")
        self._database = duckdb.connect(str(scratch / "ids.duckdb"))
        self._run(f"SET memory_limit = '{memory // 2**20}MiB'")
        self._run("SET preserve_insertion_order = false")
        self._run("SET enable_progress_bar = false")  # it would be drawn on stdout
        self._run(f"SET temp_directory = '{spill}'")
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
                raise repeated(twice)
        else:
            distinct = "SELECT DISTINCT id FROM listed"
            self._run(f"CREATE TABLE nodes AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS node FROM ({distinct})")
            self._run("DROP TABLE listed")
        self.count = int(self._one("SELECT count(*) FROM nodes"))

    def ids(self) -> Iterator[pa.Array]:
        for first in range(0, self.count, IDS_AT_ONCE):
            chosen = f"node >= {first} AND node < {first + IDS_AT_ONCE}"
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
        except RuntimeError as error:  # DuckDB's answer to Ctrl-C, which nobody would take for one
            if "interrupted" in str(error).lower():
                raise KeyboardInterrupt from error
            raise
        finally:
            self._database.unregister("block")
