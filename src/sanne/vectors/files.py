"""Vectors on disk, in the format that the file ending names.

| ending | holds | remarks |
|---|---|---|
| `.parquet` | id, embedding, spread, explanation | ids keep their type |
| `.csv` | id, spread, then one column per dimension | ids like formulas begin with a quote |
| `.npy` | vectors; ids one a line in `<stem>.ids.txt` beside it | |
| `.txt`, `.vec`, `.w2v` | word2vec text, as gensim reads it | blanks in ids become `_` |

A vector has no spread where a single walk gave it, or the paper's table: that is null in a file (an empty cell in CSV),
and not a number in an array.

In a CSV file, a text id that starts with = + - @, a tab or a line break has a single quote (') put in front, unless
it is a plain number: a spreadsheet would take it for a formula and run it. `read_vectors` removes the quote again.

Text has no types: where every id of a text file is a whole number, ids are read back as integers.
"""

import logging
import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sanne.errors import InputError
from sanne.files.atomic import check_target
from sanne.files.npy import map_npy
from sanne.graph.readers.columns import is_numeric
from sanne.graph.readers.typed_tables import DAMAGE, first_line, open_parquet
from sanne.vectors.formats import SINKS, Explanation, Floats, Ids, Vectors, check_ids_path, ids_path, plain_ids

logger = logging.getLogger(__name__)

_ROWS_AT_ONCE = 10_000


def check_output(path: str | Path) -> Path:
    """Refuse a file that `write_vectors` could not write; call it before any long work."""
    target = Path(path)
    if target.suffix.lower() not in SINKS:
        raise InputError(f"cannot write {path}: unknown ending {target.suffix!r}; use one of {', '.join(SINKS)}")
    check_target(target)
    if target.suffix.lower() == ".npy":
        check_ids_path(target)
    return target


def write_vectors(
    path: str | Path,
    node_ids: npt.ArrayLike,
    vectors: npt.ArrayLike,
    spread: npt.ArrayLike | None = None,
    explanation: Explanation | None = None,
) -> None:
    """Write vectors to a file that appears whole or not at all.

    >>> write_vectors("vectors.parquet", graph.node_ids, model.embedding_)
    """
    content = Vectors(
        _plain_ids(node_ids),
        np.ascontiguousarray(vectors, np.float32),
        None if spread is None else np.asarray(spread, np.float32),
    )
    check_output(path)
    _check_shapes(content, explanation)
    with VectorWriter(path, *content.vectors.shape) as writer:
        for first in range(0, len(content.vectors), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            writer.write(
                content.node_ids[rows],
                content.vectors[rows],
                None if content.spread is None else content.spread[rows],
                None if explanation is None else explanation[rows],
            )


class VectorWriter:
    """Writes `count` vectors of size `dim` part by part; the file appears when all are there, or not at all.

    >>> with VectorWriter("vectors.parquet", graph.num_nodes, 256) as writer:
    ...     for part in embed_parts(artifact, graph):
    ...         writer.write(part.node_ids, part.vectors, part.spread)
    """

    def __init__(self, path: str | Path, count: int, dim: int) -> None:
        self._path = check_output(path)
        if count < 1 or dim < 1:
            raise InputError(f"vectors must be (nodes, dim) with at least one of each, not of shape {(count, dim)}")
        self._count = count
        self._dim = dim
        self._rows = 0
        self._sink = SINKS[self._path.suffix.lower()](self._path, count, dim)

    def __enter__(self) -> Self:
        self._write = self._sink.__enter__()
        return self

    def write(
        self,
        node_ids: npt.ArrayLike,
        vectors: npt.ArrayLike,
        spread: npt.ArrayLike | None = None,
        explanation: Explanation | None = None,
    ) -> None:
        """Add vectors; spread and explanation are given with every part or with none."""
        content = Vectors(
            _plain_ids(node_ids),
            np.ascontiguousarray(vectors, np.float32),
            None if spread is None else np.asarray(spread, np.float32),
        )
        _check_shapes(content, explanation)
        if content.vectors.shape[1] != self._dim:
            raise InputError(f"vectors of size {content.vectors.shape[1]} for a file of size {self._dim}")
        if self._rows == 0:
            self._say_what_is_lost(spread, explanation)
        self._rows += len(content.vectors)
        self._write(content, explanation)

    def _say_what_is_lost(self, spread: Any, explanation: Any) -> None:
        kept = {".parquet": ("spread", "explanation"), ".csv": ("spread",)}.get(self._path.suffix.lower(), ())
        for name, value in (("spread", spread), ("explanation", explanation)):
            if value is not None and name not in kept:
                logger.info("%s has no place for the %s; a .parquet file does", self._path, name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        short = None
        if error is None and self._rows != self._count:
            short = InputError(f"{self._path}: {self._rows} vectors were given where {self._count} were announced")
            kind, error = InputError, short
        self._sink.__exit__(kind, error, trace)
        if short is not None:
            raise short


def read_vectors(path: str | Path) -> Vectors:
    """Read what `write_vectors` wrote, or a word2vec text file from elsewhere."""
    source = Path(path)
    if source.suffix.lower() not in _READERS:
        raise InputError(f"cannot read {path}: unknown ending {source.suffix!r}; known are {', '.join(_READERS)}")
    if not source.is_file():
        raise InputError(f"there is no file {path}")
    try:
        content = _READERS[source.suffix.lower()](source)
    except InputError:
        raise
    except (*DAMAGE, EOFError) as error:  # among them a ValueError, for text that is not UTF-8
        raise InputError(f"cannot read vectors from {path}: {first_line(error)}") from error
    _check_shapes(content, None)
    return content


def _read_parquet(path: Path) -> Vectors:
    names = open_parquet(path).columns
    for name in ("id", "embedding"):
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; its columns are {', '.join(names)}")
    table = pq.read_table(path, columns=[name for name in ("id", "embedding", "spread") if name in names])
    embedding = table["embedding"].combine_chunks()
    if not is_numeric(embedding.type) or not hasattr(embedding.type, "value_type"):
        raise InputError(f"{path}: the column 'embedding' holds {embedding.type}, expected lists of numbers")
    if table["id"].null_count or embedding.null_count or embedding.flatten().null_count:
        raise InputError(f"{path} has rows without an id or an embedding")
    values = embedding.flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    if len(table) == 0 or len(values) % len(table):
        raise InputError(f"{path} has no rows, or embeddings of different lengths")
    spread = table["spread"].cast(pa.float32()).to_numpy() if "spread" in table.column_names else None
    return Vectors(_plain_ids(table["id"].to_numpy()), values.reshape(len(table), -1), spread)


def _read_npy(path: Path) -> Vectors:
    if not ids_path(path).is_file():
        raise InputError(f"{path} has no ids: there is no file {ids_path(path)} with one id a line")
    stored = map_npy(path)
    if stored.dtype.kind not in "iuf":
        raise InputError(f"{path} holds {stored.dtype}, not vectors of numbers")
    vectors = np.array(stored, np.float32)
    ids = ids_path(path).read_text(encoding="utf-8").splitlines()
    return Vectors(_ids_from_text(ids), vectors)


def _read_word2vec(path: Path) -> Vectors:
    with path.open(encoding="utf-8", newline="\n") as file:
        header = file.readline().split()
        if len(header) != 2 or not all(number.isdecimal() for number in header):
            raise InputError(f"{path}, line 1: expected the number of vectors and their size, as in '2708 128'")
        count, dim = map(int, header)
        ids: list[str] = []
        rows: list[Floats] = []
        for number, line in enumerate(file, start=2):
            name, *values = line.rstrip().split(" ")
            if len(values) != dim:
                raise InputError(f"{path}, line {number}: {len(values)} numbers where the header says {dim}")
            ids.append(name)
            rows.append(np.array(values, np.float32))
    if len(ids) != count:
        raise InputError(f"{path} holds {len(ids)} vectors where its header says {count}: is it cut short?")
    return Vectors(_ids_from_text(ids), np.array(rows, np.float32).reshape(count, dim))


def _read_csv(path: Path) -> Vectors:
    with path.open(encoding="utf-8") as file:
        names = [name.strip('"') for name in file.readline().rstrip("\r\n").split(",")]
    if names[0] != "id" or len(names) < 2:
        raise InputError(f"{path}, line 1: expected a header 'id,e0,e1,...' (with 'spread' after id or not)")
    table = pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types={"id": pa.string()} | dict.fromkeys(names[1:], pa.float32()),
            strings_can_be_null=False,
        ),
    )
    spread = table["spread"].to_numpy() if "spread" in names else None
    numbers = [table[name].to_numpy() for name in names[1:] if name != "spread"]
    ids = _ids_from_text(plain_ids(table["id"]).to_pylist())
    return Vectors(ids, np.ascontiguousarray(np.array(numbers).T), spread)


def _plain_ids(node_ids: npt.ArrayLike) -> Ids:
    """Ids as int64, or as an array of str objects."""
    ids = np.asarray(node_ids)
    if ids.dtype.kind == "i":
        return ids.astype(np.int64)
    return np.array([str(node_id) for node_id in ids.tolist()], dtype=object)


def _ids_from_text(ids: list[str]) -> Ids:
    if ids and all(re.fullmatch(r"-?[1-9]\d{0,17}|0", node_id, re.ASCII) for node_id in ids):
        return np.array(ids).astype(np.int64)
    return np.array(ids, dtype=object)


def _check_shapes(content: Vectors, explanation: Explanation | None) -> None:
    count = len(content.node_ids)
    shape = content.vectors.shape
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"vectors must be (nodes, dim) with at least one of each, not of shape {shape}")
    for name, value in (("vectors", content.vectors), ("spread", content.spread), ("explanation", explanation)):
        if value is not None and len(value) != count:
            raise InputError(f"{count} node ids but {len(value)} rows of {name}")
    if content.spread is not None and content.spread.ndim != 1:
        raise InputError(f"spread must be one number a node, not of shape {content.spread.shape}")


_READERS: dict[str, Callable[[Path], Vectors]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".npy": _read_npy,
    ".txt": _read_word2vec,
    ".vec": _read_word2vec,
    ".w2v": _read_word2vec,
}
