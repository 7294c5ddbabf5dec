"""Scan edge and node files block by block, cleaned and checked as the in-memory reader does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.ids import clean_ids, refuse_control_character
from sanne.graph.readers.delimited import DelimitedFile
from sanne.graph.readers.tables import edge_columns, edge_weights, open_table
from sanne.graph.readers.typed_tables import ParquetFile
from sanne.interrupts import raise_if_interrupted

TableFile = ParquetFile | DelimitedFile
ROWS_AT_ONCE = 2**18


class NotIntegersError(Exception):
    """Ids were asked for as integers, and one is text: ask for them as text."""


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """Some edges: ids of both ends (int64 or string) and their weights."""

    sources: pa.ChunkedArray
    targets: pa.ChunkedArray
    weights: npt.NDArray[np.float32] | None

    def ends(self) -> pa.ChunkedArray:
        return pa.chunked_array([*self.sources.chunks, *self.targets.chunks])


@dataclass(frozen=True)
class Part:
    """A block of a table, which begins at row `first`."""

    table: TableFile
    first: int
    typed: bool

    @property
    def name(self) -> str:
        return self.table.name

    def place(self, row: int) -> str:
        return self.table.place(self.first + row)


def open_file(path: str | Path) -> TableFile:
    """Open a CSV, TSV or Parquet file by its ending."""
    table = open_table(Path(path), "table")
    assert isinstance(table, ParquetFile | DelimitedFile)
    return table


def blocks(
    table: TableFile, columns: Sequence[str], strings: Sequence[str], rows: int = ROWS_AT_ONCE
) -> Iterator[tuple[Part, pa.Table]]:
    """Some columns of a table, up to `rows` rows at a time; those in `strings` as text where the file has no types."""
    first = 0
    for data in table.batches(columns, strings, rows):
        raise_if_interrupted()
        yield Part(table, first, table.typed), data
        first += data.num_rows


def read_ids(part: Part, column: pa.ChunkedArray, name: str, *, as_text: bool) -> pa.ChunkedArray:
    """One block of ids, int64 or string; a missing one is named, and text where integers are expected is refused."""
    try:
        ids = clean_ids(column, infer=not part.typed and not as_text)
    except InputError as error:
        raise InputError(f"{part.name}: {error}") from None
    if ids.null_count:
        row = int(ids.is_null().to_numpy().argmax())
        raise InputError(f"{part.place(row)}: no node id in column {name!r}; fill it in or remove the row")
    refuse_control_character(ids, part.place)
    if as_text:
        return ids.cast(pa.string())
    if not pa.types.is_integer(ids.type):
        raise NotIntegersError
    return ids


def regrouped(edges: Iterable[EdgeBlock], rows: int) -> Iterator[EdgeBlock]:
    """The same edges in blocks of at least so many rows, the last one excepted."""
    held: list[EdgeBlock] = []
    for block in edges:
        held.append(block)
        if sum(len(each.sources) for each in held) >= rows:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(held: list[EdgeBlock]) -> EdgeBlock:
    weights = [block.weights for block in held if block.weights is not None]
    return EdgeBlock(
        pa.chunked_array([chunk for block in held for chunk in block.sources.chunks]),
        pa.chunked_array([chunk for block in held for chunk in block.targets.chunks]),
        np.concatenate(weights) if weights else None,
    )


class EdgeFiles:
    """One or several edge files that together are one graph."""

    def __init__(self, paths: Sequence[str | Path], weight: str | bool | None) -> None:
        if not paths:
            raise InputError("no edge file given: name at least one")
        self.tables = [open_file(path) for path in paths]
        self._columns = [edge_columns(table, weight) for table in self.tables]
        self.weighted = self._columns[0][2] is not None
        for table, columns in zip(self.tables, self._columns, strict=True):
            if (columns[2] is not None) != self.weighted:
                one, other = (self.tables[0].name, table.name) if self.weighted else (table.name, self.tables[0].name)
                raise InputError(f"{one} has weights and {other} has none: give all edge files weights, or none")

    @property
    def name(self) -> str:
        more = f" and {len(self.tables) - 1} more" if len(self.tables) > 1 else ""
        return f"{self.tables[0].name}{more}"

    def blocks(self, *, as_text: bool) -> Iterator[EdgeBlock]:
        """All edges, some at a time. Raises NotIntegersError where an id is text and `as_text` is not set."""
        rows = 0
        for table, (source, target, weight) in zip(self.tables, self._columns, strict=True):
            wanted = [source, target] + ([weight] if weight else [])
            for part, data in blocks(table, wanted, [source, target]):
                rows += data.num_rows
                ends = [read_ids(part, data.column(name), name, as_text=as_text) for name in (source, target)]
                weights = None
                if weight is not None:
                    weights = edge_weights(part, data.column(weight), weight).astype(np.float32)
                yield EdgeBlock(ends[0], ends[1], weights)
        if rows == 0:
            raise InputError(f"{self.name}: it has no edges, only column names; add one row per edge")
