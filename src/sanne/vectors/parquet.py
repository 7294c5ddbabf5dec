"""Vectors as Parquet: the columns id, embedding, uncertainty and, if there is one, explanation."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from sanne.errors import InputError
from sanne.files.atomic import replaced_file
from sanne.graph.readers.columns import is_numeric
from sanne.graph.readers.typed_tables import open_parquet
from sanne.vectors.vectors import Embedding

ROW_GROUP = 65_536  # rows of a Parquet row group, held in memory before they are written
MARKER = {b"sanne": b"vectors"}  # in the metadata of tables, so that only our own files are replaced
_COLUMNS = ("id", "embedding", "uncertainty")
_COMPRESSION = {
    "id": "zstd",
    "embedding.list.element": "none",
    "uncertainty": "zstd",
}  # the digits of vectors do not compress


def write_parquet(
    path: Path, parts: Iterable[Embedding], count: int, dim: int, dtype: npt.DTypeLike = np.float32
) -> None:
    """Write vectors in row groups of equal size, however many rows come at a time."""
    groups = _row_groups(parts, dtype)
    first = next(groups)
    with (
        replaced_file(path) as part,
        pq.ParquetWriter(part, first.schema, compression=_COMPRESSION, use_dictionary=False) as writer,
    ):
        for table in itertools.chain([first], groups):
            writer.write_table(table.combine_chunks())


def _row_groups(parts: Iterable[Embedding], dtype: npt.DTypeLike) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for vectors in parts:
        held.append(to_table(vectors, dtype))
        while sum(map(len, held)) >= ROW_GROUP:
            table = pa.concat_tables(held)
            yield table.slice(0, ROW_GROUP)
            held = [table.slice(ROW_GROUP)] if len(table) > ROW_GROUP else []
    if held:
        yield pa.concat_tables(held)


def read_parquet(path: Path) -> Embedding:
    """Read a file with at least the columns id and embedding."""
    return from_table(pq.read_table(path, columns=_known_columns(path)), path)


def read_parquet_parts(path: Path, rows: int) -> Iterator[Embedding]:
    """Read the same, `rows` rows at a time."""
    for batch in open_parquet(path).batches(_known_columns(path), (), rows):
        yield from_table(batch, path)


def _known_columns(path: Path) -> list[str]:
    names = open_parquet(path).columns
    for name in ("id", "embedding"):
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; its columns are {', '.join(names)}")
    return [name for name in _COLUMNS if name in names]


def to_table(vectors: Embedding, dtype: npt.DTypeLike = np.float32) -> pa.Table:
    """Vectors as a table, marked as written by sanne."""
    numbers = vectors.vectors.astype(dtype, copy=False)
    columns = {
        "id": pa.array(vectors.node_ids),
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), vectors.dim),
        "uncertainty": pa.array(vectors.uncertainty, from_pandas=True),  # NaN becomes null
    }
    if vectors.explanation is not None:
        item = pa.struct([("id", columns["id"].type), ("share", pa.float32())])
        kind = str if vectors.node_ids.dtype.kind == "O" else int
        rows = [[{"id": kind(i), "share": float(share)} for i, share in row] for row in vectors.explanation]
        columns["explanation"] = pa.array(rows, pa.list_(item))
    return pa.table(columns).replace_schema_metadata(MARKER)


def from_table(table: pa.Table, path: Path) -> Embedding:
    """The reverse of `to_table`, without the explanation; `path` is for messages."""
    embedding = table["embedding"].combine_chunks()
    if not is_numeric(embedding.type) or not hasattr(embedding.type, "value_type"):
        raise InputError(f"{path}: the column 'embedding' holds {embedding.type}, expected lists of numbers")
    if table["id"].null_count or embedding.null_count or embedding.flatten().null_count:
        raise InputError(f"{path} has rows without an id or an embedding")
    values = embedding.flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    if len(table) == 0 or len(values) % len(table):
        raise InputError(f"{path} has no rows, or embeddings of different lengths")
    uncertainty = table["uncertainty"].cast(pa.float32()).to_numpy() if "uncertainty" in table.column_names else None
    return Embedding.of(table["id"].to_numpy(), values.reshape(len(table), -1), uncertainty)


def is_marked(schema: pa.Schema) -> bool:
    """Whether a table with this schema is one that sanne wrote."""
    return MARKER.items() <= (schema.metadata or {}).items()
