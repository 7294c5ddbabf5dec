"""Write vectors part by part, one format each; every file appears whole or not at all."""

import contextlib
import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sanne.errors import InputError
from sanne.files.atomic import replaced_file
from sanne.files.npy import NpyWriter

Ids = npt.NDArray[Any]  # int64, or str objects
Floats = npt.NDArray[np.float32]
Explanation = Sequence[Sequence[tuple[Any, float]]]  # for each node: (node id, share) pairs

MARKER = {b"sanne": b"vectors"}  # in the metadata of tables, so that nobody else's are replaced
ROW_GROUP = 65_536  # rows that a Parquet file keeps together, and that are held before they are written


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors with the ids of their nodes and, where the file has it, their spread."""

    node_ids: Ids
    vectors: Floats  # (n, dim)
    spread: Floats | None = None  # (n,): not a number where a vector has none; null in files


Write = Callable[[Vectors, Explanation | None], None]
Sink = Callable[[Path, int, int], AbstractContextManager[Write]]  # (path, number of vectors, dim)


@contextmanager
def parquet_sink(path: Path, count: int, dim: int) -> Iterator[Write]:
    """Columns id, embedding and, if given, spread and explanation."""
    held: list[pa.Table] = []
    with replaced_file(path) as part, contextlib.ExitStack() as stack:
        writer: pq.ParquetWriter | None = None

        def flush(rows: int) -> None:
            nonlocal writer
            table = pa.concat_tables(held)
            if writer is None:
                file = pq.ParquetWriter(part, table.schema, compression="zstd", use_dictionary=False)
                writer = stack.enter_context(file)
            writer.write_table(table.slice(0, rows).combine_chunks())
            held[:] = [table.slice(rows)] if len(table) > rows else []

        def write(content: Vectors, explanation: Explanation | None) -> None:
            held.append(vectors_table(content, explanation))
            while sum(map(len, held)) >= ROW_GROUP:
                flush(ROW_GROUP)

        yield write
        if held:
            flush(ROW_GROUP)


def vectors_table(content: Vectors, explanation: Explanation | None = None) -> pa.Table:
    """Vectors as the table that a Parquet file holds."""
    columns = {
        "id": pa.array(content.node_ids),
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(content.vectors.ravel()), content.vectors.shape[1]),
    }
    if content.spread is not None:
        columns["spread"] = pa.array(content.spread, from_pandas=True)  # not a number: null
    if explanation is not None:
        item = pa.struct([("id", columns["id"].type), ("share", pa.float32())])
        text = content.node_ids.dtype.kind == "O"
        rows = [[{"id": str(i) if text else int(i), "share": float(share)} for i, share in row] for row in explanation]
        columns["explanation"] = pa.array(rows, pa.list_(item))
    return pa.table(columns).replace_schema_metadata(MARKER)


def is_marked(schema: pa.Schema) -> bool:
    """Whether a table with this schema is one that sanne wrote."""
    return MARKER.items() <= (schema.metadata or {}).items()


@contextmanager
def csv_sink(path: Path, count: int, dim: int) -> Iterator[Write]:
    """Columns id, spread if given, and one per dimension; ids that a spreadsheet would run are quoted."""
    with replaced_file(path) as part, contextlib.ExitStack() as stack:
        writer: Any = None

        def write(content: Vectors, explanation: Explanation | None) -> None:
            nonlocal writer
            columns = {"id": quoted_ids(pa.array(content.node_ids))}
            if content.spread is not None:
                columns["spread"] = pa.array(content.spread, from_pandas=True)  # not a number: null
            columns |= {f"e{i}": pa.array(column) for i, column in enumerate(content.vectors.T)}
            table = pa.table(columns)
            if writer is None:
                options = pa.csv.WriteOptions(quoting_style="needed")
                writer = stack.enter_context(pa.csv.CSVWriter(part, table.schema, write_options=options))
            writer.write_table(table)

        yield write


def quoted_ids(ids: pa.Array) -> pa.Array:
    """Ids as a CSV file holds them: one that a spreadsheet would take for a formula has a ' put in front.

    So has one that starts with such a quote and then a formula, so that `plain_ids` gives back every id.
    """
    if not pa.types.is_string(ids.type):
        return ids
    formula = pc.match_substring_regex(ids, r"^'*[=+\-@\t\r\n]")
    number = pc.match_substring_regex(ids, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return pc.if_else(pc.and_not(formula, number), pc.binary_join_element_wise("'", ids, ""), ids)


def plain_ids(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """The reverse of `quoted_ids`."""
    return pc.replace_substring_regex(ids, r"^'('*[=+\-@\t\r\n])", r"\1")


@contextmanager
def npy_sink(path: Path, count: int, dim: int) -> Iterator[Write]:
    """The vectors, and beside them the ids, one a line."""
    with (
        replaced_file(ids_path(path)) as ids_part,
        replaced_file(path) as part,
        NpyWriter(part, np.float32, (dim,)) as vectors,
        ids_part.open("w", encoding="utf-8") as names,
    ):

        def write(content: Vectors, explanation: Explanation | None) -> None:
            names.writelines(id_lines(content.node_ids))
            vectors.write(content.vectors)

        yield write


def ids_path(path: Path) -> Path:
    """The file with the ids of a file that has no place for them."""
    return path.with_name(f"{path.stem}.ids.txt")


def check_ids_path(path: Path) -> None:
    """Refuse to replace a file of ids that does not belong to any older file of vectors beside it."""
    ids = ids_path(path)
    if ids.exists() and not any(path.with_suffix(ending).exists() for ending in (".npy", ".faiss", ".index")):
        raise InputError(
            f"cannot write {path}: its ids go to {ids}, which exists already and belongs to no file of vectors: "
            "rename that file, or choose another name"
        )


def id_lines(node_ids: Ids) -> list[str]:
    """Ids as lines of such a file."""
    ids = [str(node_id) for node_id in node_ids]
    for node_id in ids:
        if len(node_id.splitlines()) != 1:
            raise InputError(f"node id {node_id!r} does not fit on one line of text: write a .parquet file")
    return [f"{node_id}\n" for node_id in ids]


@contextmanager
def word2vec_sink(path: Path, count: int, dim: int) -> Iterator[Write]:
    """word2vec text: a line with count and size, then one line per node."""
    names: dict[str, Any] = {}
    with replaced_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{count} {dim}\n")

        def write(content: Vectors, explanation: Explanation | None) -> None:
            fresh = _without_blanks(content.node_ids, names)
            rows = _number_lines(content.vectors)
            file.writelines(f"{name} {row}\n" for name, row in zip(fresh, rows, strict=True))

        yield write


def _without_blanks(node_ids: Ids, names: dict[str, Any]) -> list[str]:
    """Ids fit for a format whose columns are divided by blanks; `names` are those written so far."""
    before = len(names)
    for node_id in node_ids:
        name = re.sub(r"\s", "_", str(node_id))
        if not name:
            raise InputError("an empty node id cannot stand in word2vec text: write a .parquet file")
        if name in names:
            raise InputError(
                f"node ids {names[name]!r} and {node_id!r} would both be written as {name!r}, "
                "since word2vec text has no blanks in ids: write a .parquet file"
            )
        names[name] = node_id
    return list(itertools.islice(names, before, None))


def _number_lines(rows: Floats) -> list[str]:
    """Rows as text, each number in the fewest digits that give it back exactly."""
    table = pa.Table.from_arrays([pa.array(column) for column in rows.T], [str(i) for i in range(rows.shape[1])])
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer, pa.csv.WriteOptions(include_header=False, delimiter=" "))
    return buffer.getvalue().decode("ascii").splitlines()


SINKS: dict[str, Sink] = {
    ".parquet": parquet_sink,
    ".csv": csv_sink,
    ".npy": npy_sink,
    ".txt": word2vec_sink,
    ".vec": word2vec_sink,
    ".w2v": word2vec_sink,
}
