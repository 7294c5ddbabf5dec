"""Open tables that know their types: Parquet files, pyarrow tables, pandas and other data frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sanne.errors import InputError, first_line
from sanne.graph.readers.delimited import check_is_file

_BUFFER = 2**20  # bytes read at a time, so that a large row group is not held whole
_SMALL = 2**24  # rows that any file may have
_ROWS_A_BYTE = 50  # that a larger one may have; only one value over and over is packed more tightly
# What pyarrow raises over a damaged file: it says what, but not always in the same way.
DAMAGE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError, MemoryError)


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file whose schema has been read."""

    path: Path
    columns: tuple[str, ...]

    typed = True

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self, columns: Sequence[str], strings: Sequence[str] = ()) -> pa.Table:
        """Some columns, as they are stored."""
        try:
            return _validated(pq.read_table(self.path, columns=list(columns), partitioning=None))
        except DAMAGE as error:
            raise InputError(f"{self.path}: damaged Parquet file ({first_line(error)})") from None

    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return pq.read_schema(self.path)

    def batches(self, columns: Sequence[str], strings: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Some columns, up to `rows` rows at a time, as they are stored."""
        try:
            with pq.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, columns=list(columns), use_threads=False):
                    yield _validated(pa.Table.from_batches([batch]))
        except DAMAGE as error:
            raise InputError(f"{self.path}: damaged Parquet file ({first_line(error)})") from None

    def place(self, row: int) -> str:
        """Where a row stands, for messages; the first row is row 1."""
        return f"{self.path}, row {row + 1}"


@dataclass(frozen=True)
class MemoryTable:
    """A pyarrow table, or a data frame turned into one."""

    table: pa.Table
    name: str

    typed = True

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    def read(self, columns: Sequence[str], strings: Sequence[str] = ()) -> pa.Table:
        """Some columns, as they are."""
        try:
            return _validated(self.table.select(list(columns)))
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.name}: a damaged table ({first_line(error)})") from None

    def place(self, row: int) -> str:
        """Where a row stands, for messages; the first row is row 1."""
        return f"{self.name}, row {row + 1}"


def open_parquet(path: Path) -> ParquetFile:
    """Read the schema of a Parquet file."""
    check_is_file(path)
    try:
        columns = tuple(pq.read_schema(path).names)
        rows = pq.read_metadata(path).num_rows
    except DAMAGE as error:
        raise InputError(f"{path}: not a Parquet file ({first_line(error)})") from None
    if rows < 0 or rows > max(_SMALL, _ROWS_A_BYTE * path.stat().st_size):
        raise InputError(f"{path}: damaged Parquet file ({rows} rows in {path.stat().st_size} bytes)")
    _check_unique(columns, str(path))
    return ParquetFile(path, columns)


def is_table(source: Any) -> bool:
    """Whether `open_memory_table` can read it."""
    return isinstance(source, pa.Table) or _is_pandas(source) or hasattr(source, "__arrow_c_stream__")


def open_memory_table(source: Any, name: str) -> MemoryTable:
    """A pyarrow table, a pandas data frame (its index is not read) or anything that speaks Arrow."""
    if isinstance(source, pa.Table):
        table = source
    elif _is_pandas(source):
        columns = [str(column) for column in source.columns]
        _check_unique(tuple(columns), name)
        arrays = [_from_pandas(source.iloc[:, position], name) for position in range(len(columns))]
        table = pa.table(arrays, names=columns)
    else:
        table = pa.table(source)
    _check_unique(tuple(table.column_names), name)
    return MemoryTable(table, name)


def _validated(table: pa.Table) -> pa.Table:
    """The table, if its content is what its types say; any bytes may be called text, and that shows much later."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {name!r}: {first_line(error)}") from None
    return table


def _is_pandas(source: Any) -> bool:
    return hasattr(source, "iloc") and hasattr(source, "columns")


def _from_pandas(series: Any, name: str) -> Any:
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):  # mixed types, or numbers beyond 64 bits: read as text
        missing = series.isna()
        texts = [None if gone else str(value) for value, gone in zip(series, missing, strict=True)]
        try:
            return pa.array(texts, pa.string())
        except UnicodeEncodeError as error:
            row = texts.index(error.object) + 1
            raise InputError(
                f"{name}, row {row}: {error.object!r} in column {series.name!r} is no valid text; correct it"
            ) from None


def _check_unique(columns: tuple[str, ...], name: str) -> None:
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(f"{name}: two columns are called {twice[0]!r}; rename one")
