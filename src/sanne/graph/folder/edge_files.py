"""Edge files of any size, read block by block, cleaned and checked as the in-memory reader does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.ids import refuse_control_character
from sanne.graph.readers.columns import Block, Table, read_ids, read_weights
from sanne.graph.readers.tables import edge_columns, open_table
from sanne.interrupts import raise_if_interrupted

ROWS_AT_ONCE = 2**18


class NotIntegersError(Exception):
    """Ids were asked for as integers, and one is text: ask for them as text."""


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """Some edges: ids of both ends (int64 or string) and their weights."""

    sources: pa.ChunkedArray
    targets: pa.ChunkedArray
    weights: npt.NDArray[np.float32] | None


def blocks(table: Table, columns: Sequence[str], strings: Sequence[str], rows: int = ROWS_AT_ONCE) -> Iterator[Block]:
    """Some columns of a table, up to `rows` rows at a time; those in `strings` as text where the file has no types."""
    first = 0
    for data in table.batches(columns, strings, rows):
        raise_if_interrupted()
        yield Block(table, data, first)
        first += data.num_rows


def integer_or_text_ids(block: Block, name: str, *, as_text: bool) -> pa.ChunkedArray:
    """One block of ids; text where integers are expected raises NotIntegersError."""
    ids = read_ids(block, name, as_text=as_text)
    refuse_control_character(ids, block.place)
    if not as_text and not pa.types.is_integer(ids.type):
        raise NotIntegersError
    return ids


class EdgeFiles:
    """One or several edge files that together are one graph."""

    def __init__(self, paths: Sequence[str | Path], weight: str | bool | None) -> None:
        if not paths:
            raise InputError("no edge file given: name at least one")
        self.tables = [open_table(Path(path), "table") for path in paths]
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
        for table, (source, target, weight) in zip(self.tables, self._columns, strict=True):
            for block in blocks(table, [source, target, *([weight] if weight else [])], [source, target]):
                ends = [integer_or_text_ids(block, name, as_text=as_text) for name in (source, target)]
                weights = None if weight is None else read_weights(block, weight).astype(np.float32)
                yield EdgeBlock(ends[0], ends[1], weights)
