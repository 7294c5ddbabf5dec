"""Open typed tables: Parquet, JSON Lines and Excel files, pyarrow tables, pandas data frames."""

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from sanne.errors import InputError, first_line, import_extra
from sanne.graph.readers.delimited import check_is_file, check_unique

_BUFFER = 2**20  # bytes read at a time, so that a large row group is not held whole
_SMALL = 2**24  # rows that any file may have
_JSON_BLOCK = 64 * 2**20  # bytes parsed at a time; a line must fit
_SHEET_BYTES = 2**30  # of an unpacked Excel file, at most
_ROWS_A_BYTE = 50  # that a larger one may have; only one value over and over is packed more tightly
# What pyarrow raises for a damaged file.
DAMAGE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError, MemoryError)


@dataclass(frozen=True, eq=False)
class TypedTable:
    """A Parquet file, or a table in memory; `name` is for messages."""

    source: Path | pa.Table
    name: str
    columns: tuple[str, ...]
    row: str = "row"  # what messages call one
    index: str | None = None  # a further column: the named index of a data frame, which may hold ids

    typed = True

    def schema(self) -> pa.Schema:
        return pq.read_schema(self.source) if isinstance(self.source, Path) else self.source.schema

    def read(self, columns: Sequence[str], strings: Sequence[str] = ()) -> pa.Table:
        """Some columns, as they are stored."""
        try:
            if isinstance(self.source, Path):
                return _validated(pq.read_table(self.source, columns=list(columns), partitioning=None))
            return _validated(self.source.select(list(columns)))
        except DAMAGE as error:
            raise self._damaged(error) from None

    def batches(self, columns: Sequence[str], strings: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Some columns, up to `rows` rows at a time, as they are stored."""
        if isinstance(self.source, pa.Table):
            chosen = self.read(columns)
            yield from (chosen.slice(first, rows) for first in range(0, chosen.num_rows, rows))
            return
        try:
            with pq.ParquetFile(self.source, buffer_size=_BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, columns=list(columns), use_threads=False):
                    yield _validated(pa.Table.from_batches([batch]))
        except DAMAGE as error:
            raise self._damaged(error) from None

    def place(self, row: int) -> str:
        """Where a row stands, for messages; the first has the number 1."""
        return f"{self.name}, {self.row} {row + 1}"

    def _damaged(self, error: Exception) -> InputError:
        kind = "Parquet file" if isinstance(self.source, Path) else "table"
        return InputError(f"{self.name}: damaged {kind} ({first_line(error)})")


def open_parquet(path: Path) -> TypedTable:
    check_is_file(path)
    try:
        columns = tuple(pq.read_schema(path).names)
        rows = pq.read_metadata(path).num_rows
    except DAMAGE as error:
        raise InputError(f"{path}: not a Parquet file ({first_line(error)})") from None
    if rows < 0 or rows > max(_SMALL, _ROWS_A_BYTE * path.stat().st_size):
        raise InputError(f"{path}: damaged Parquet file ({rows} rows in {path.stat().st_size} bytes)")
    return TypedTable(path, str(path), check_unique(columns, str(path)))


def open_json(path: Path) -> TypedTable:
    """A file with one JSON object per line, read into memory."""
    check_is_file(path)
    try:
        table = pa.json.read_json(path, pa.json.ReadOptions(block_size=_JSON_BLOCK))
    except DAMAGE as error:
        raise InputError(f"{path}: expected one JSON object per line, all alike ({first_line(error)})") from None
    return open_memory_table(table, str(path))


def open_excel(path: Path) -> TypedTable:
    """The first sheet of an Excel file, whose first row names the columns, read into memory."""
    check_is_file(path)
    openpyxl = import_extra("openpyxl", "excel", f"reading {path.name}")
    try:
        with zipfile.ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > _SHEET_BYTES:
                raise InputError(f"{path}: too large for an Excel file; save it as CSV")
        rows = openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets[0].iter_rows(values_only=True)
        filled = [row for row in rows if any(value is not None for value in row)]
    except (zipfile.BadZipFile, LookupError, ValueError, OSError, SyntaxError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not an Excel file ({first_line(error)}); save it as .xlsx or CSV") from None
    if not filled:
        raise InputError(f"{path}: the first sheet is empty; its first row must name the columns")
    names = check_unique(tuple("" if name is None else str(name).strip() for name in filled[0]), str(path))
    columns = [column_of([row[i] for row in filled[1:]], f"{path}, column {name!r}") for i, name in enumerate(names)]
    return open_memory_table(pa.table(columns, names=names), str(path))


def column_of(values: Any, place: str) -> pa.Array:
    """A list or a pandas series as a column; mixed types become text. `place` is for messages."""
    if isinstance(values, list):
        values = [value.tolist() if hasattr(value, "tolist") else value for value in values]  # arrays and tensors
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):  # mixed types, or numbers beyond 64 bits
        missing = [value is None for value in values] if isinstance(values, list) else values.isna()
        texts = [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        row = texts.index(error.object) + 1
        raise InputError(f"{place}, row {row}: {error.object!r} is not valid text; correct it") from None


def is_table(source: Any) -> bool:
    return isinstance(source, pa.Table) or _is_pandas(source) or hasattr(source, "__arrow_c_stream__")


def open_memory_table(source: Any, name: str) -> TypedTable:
    """A pyarrow table, a pandas data frame or anything with the Arrow interface."""
    if _is_pandas(source):
        columns = check_unique(tuple(str(column) for column in source.columns), name)
        arrays = [column_of(source.iloc[:, i], f"{name}, column {column!r}") for i, column in enumerate(columns)]
        index = None if source.index.name is None else str(source.index.name)
        if index is None or index in columns:
            return TypedTable(pa.table(arrays, names=columns), name, columns)
        arrays.append(column_of(source.index.to_series(), f"{name}, index {index!r}"))
        return TypedTable(pa.table(arrays, names=(*columns, index)), name, columns, index=index)
    try:
        table = source if isinstance(source, pa.Table) else pa.table(source)
    except pa.ArrowInvalid:
        kind = type(source).__name__
        raise InputError(f"the {name} is a {kind}, a single column; expected a table, such as a DataFrame") from None
    return TypedTable(table, name, check_unique(tuple(table.column_names), name))


def _validated(table: pa.Table) -> pa.Table:
    """The table, if its content matches its types: bytes that are not valid text would fail much later."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {name!r}: {first_line(error)}") from None
    return table


def _is_pandas(source: Any) -> bool:
    return hasattr(source, "iloc") and hasattr(source, "columns")
