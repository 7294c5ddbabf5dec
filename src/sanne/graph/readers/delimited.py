"""Open CSV and TSV files, compressed or not: header, columns as pyarrow arrays, and the line of a problem.

pyarrow parses, with all threads. Only when something is wrong is the file read a second time, in Python,
to find the line as an editor counts it (the header is line 1).
"""

import csv
import difflib
import io
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.csv

from sanne.errors import InputError, first_line

BLOCK = 8 * 2**20  # bytes parsed at a time by one thread; a row must fit
LARGEST_BLOCK = 2**31 - 1
STREAM_BLOCK = 32 * 2**20  # bytes at a time if a file is not held in memory; a row must fit
COMPRESSED = (".gz", ".zst", ".bz2")  # endings after that of the format, as in edges.csv.gz
_TIMES_LARGER = 1100  # than a compressed file its content may be; gzip cannot do more


@dataclass(frozen=True)
class DelimitedFile:
    """A CSV or TSV file whose header has been read."""

    path: Path
    delimiter: str
    columns: tuple[str, ...]
    skip: int  # lines before the first row

    typed = False  # values stay text until their type is inferred

    @property
    def name(self) -> str:
        return str(self.path)

    def read(self, columns: Sequence[str], strings: Sequence[str] = ()) -> pa.Table:
        """Some columns; those in `strings` stay text as written, the others get the type that fits."""
        self._check_quotes()
        kinds = dict.fromkeys(strings, pa.string())
        try:
            try:
                return pa.csv.read_csv(self.path, **self._options(columns, kinds, BLOCK))
            except pa.ArrowInvalid as error:
                if "straddling" not in str(error):
                    raise
                return pa.csv.read_csv(self.path, **self._options(columns, kinds, LARGEST_BLOCK))
        except pa.ArrowInvalid as error:
            raise self._explained(error) from None

    def schema(self) -> pa.Schema:
        """The columns with the types that fit their first values: text is string, numbers are float64."""
        try:
            schema = pa.csv.open_csv(self.path, **self._options((), {}, STREAM_BLOCK)).schema
        except pa.ArrowInvalid as error:
            raise self._explained(error) from None
        kinds = [pa.float64() if pa.types.is_integer(kind) else kind for kind in schema.types]  # decimals may follow
        return pa.schema(zip(schema.names, kinds, strict=True))

    def batches(self, columns: Sequence[str], strings: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Some columns, up to `rows` rows at a time; those in `strings` stay text as written, others as in `schema`."""
        self._check_quotes()
        schema = self.schema()
        kinds = {name: schema.field(name).type for name in columns}
        kinds = {name: pa.float64() if pa.types.is_null(kind) else kind for name, kind in kinds.items()}
        kinds |= dict.fromkeys(strings, pa.string())
        try:
            for batch in pa.csv.open_csv(self.path, **self._options(columns, kinds, STREAM_BLOCK)):
                for first in range(0, batch.num_rows, rows):
                    yield pa.Table.from_batches([batch.slice(first, rows)])
        except pa.ArrowInvalid as error:
            numeric = [name for name in columns if pa.types.is_float64(kinds[name])]
            raise self._explained(error, numeric) from None

    def _options(self, columns: Sequence[str], kinds: dict[str, pa.DataType], block: int) -> dict[str, Any]:
        return {
            "read_options": pa.csv.ReadOptions(column_names=self.columns, skip_rows=self.skip, block_size=block),
            "parse_options": pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": pa.csv.ConvertOptions(include_columns=list(columns), column_types=kinds),
        }

    def place(self, row: int) -> str:
        """Where a row stands, for messages: file and line."""
        for number, (line, _) in enumerate(self._records()):
            if number == row:
                return f"{self.path}, line {line}"
        return f"{self.path}, row {row + 1}"

    def _records(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The rows after the header, with the line each starts on."""
        with open_text(self.path, errors="replace") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=strict)
            start = 1
            try:
                for record in reader:
                    if record and start > self.skip:
                        yield start, record
                    start = reader.line_num + 1
            except csv.Error as error:
                if "end of data" in str(error):
                    raise InputError(
                        f"{self.path}, line {start}: a quotation mark opens here and is never closed; "
                        'close it, or write "" for a mark inside a quoted field'
                    ) from None
                raise

    def _check_quotes(self) -> None:
        """Refuse an unclosed quotation mark, which would swallow the rest of the file as one field."""
        marks = size = 0
        most = _TIMES_LARGER * self.path.stat().st_size + STREAM_BLOCK
        with unpacked(self.path) as file:
            while block := file.read(BLOCK):
                marks, size = marks + block.count(b'"'), size + len(block)
                if size > most:
                    raise InputError(f"{self.path}: content over {_TIMES_LARGER} times its size; unpack it first")
        if marks % 2 == 1:
            with suppress(csv.Error):  # a stray mark, which the parser takes literally
                deque(self._records(strict=True), maxlen=0)

    def _explained(self, error: pa.ArrowInvalid, numeric: Sequence[str] = ()) -> InputError:
        """The error with the line, if a second pass finds it; `numeric` columns must hold numbers."""
        check_utf8(self.path)
        empty = {*pa.csv.ConvertOptions().null_values, ""}
        for line, record in self._records():
            if len(record) != len(self.columns):
                return InputError(
                    f"{self.path}, line {line}: {len(record)} fields, but the header has {len(self.columns)}; "
                    "put quotes around a field that holds the separator, or fill the row"
                )
            for name in numeric:
                value = record[self.columns.index(name)]
                try:
                    float("0" if value in empty else value)
                except ValueError:
                    return InputError(
                        f"{self.path}, line {line}: value {value!r} in column {name!r} is not a number; "
                        "correct it, or name the feature columns to read"
                    )
        return InputError(f"{self.path}: {first_line(error)}")


def open_delimited(path: Path) -> DelimitedFile:
    check_is_file(path)
    csv.field_size_limit(LARGEST_BLOCK)  # for long documents; else a field may have 131,072 characters
    try:
        with open_text(path) as file:
            delimiter = _delimiter(path, next((line for line in file if line.strip()), ""))
        with open_text(path) as file:
            reader = csv.reader(file, delimiter=delimiter)
            header = next((record for record in reader if any(name.strip() for name in record)), None)
            skip = reader.line_num
    except (UnicodeDecodeError, csv.Error) as error:
        check_utf8(path)
        raise InputError(f"{path}: the first line is not a header ({error})") from None
    if header is None:
        raise InputError(f"{path}: the file is empty; its first line must name the columns")
    columns = check_unique(tuple(name.strip() for name in header), f"{path}, line {skip}")
    return DelimitedFile(path, delimiter, columns, skip)


def ending(path: Path) -> str:
    """The ending that tells the format, in lower case: .csv of edges.csv.gz."""
    return Path(path.stem if path.suffix.lower() in COMPRESSED else path.name).suffix.lower()


@contextmanager
def unpacked(path: Path) -> Iterator[Any]:
    """The bytes of a file, unpacked if its ending says that it is compressed."""
    try:
        with pa.input_stream(path) as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: damaged, or not compressed as its name says ({first_line(error)})") from None


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[TextIO]:
    with unpacked(path) as file, io.TextIOWrapper(file, "utf-8-sig", errors, newline="") as text:
        yield text


def check_unique(columns: tuple[str, ...], place: str) -> tuple[str, ...]:
    """The names of columns, which must differ."""
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise InputError(f"{place}: two columns are called {twice[0]!r}; rename one")
    return columns


def check_is_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file")
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path (relative to {Path.cwd()}){near(path)}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: no permission to read this file; change its permissions")


def near(path: Path) -> str:
    """A "did you mean" for a file of this name in the current folder, or of a similar name in its own."""
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    close = [path.with_name(name) for name in difflib.get_close_matches(path.name, names, n=1)]
    found = [place for place in (Path(path.name), *close) if os.path.exists(place)]  # noqa: PTH110 (too long a name)
    return f" (did you mean {str(found[0])!r}?)" if found else ""


def check_utf8(path: Path) -> None:
    """Refuse a file that is not UTF-8, naming the first bad line."""
    with unpacked(path) as file:
        for number, line in enumerate(io.BufferedReader(file), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x}"
                raise InputError(f"{path}, line {number}: {byte} is not UTF-8 text; save the file as UTF-8") from None


def _delimiter(path: Path, header: str) -> str:
    """The separator, by the file's ending, unless the header clearly uses another one."""
    usual = "\t" if ending(path) in (".tsv", ".tab") else ","
    if usual in header:
        return usual
    return next((mark for mark in (",", "\t", ";") if mark in header), usual)
