"""Vectors on disk, in the format that the file ending names.

| ending | holds | remarks |
|---|---|---|
| `.parquet` | id, embedding, spread, explanation | ids keep their type |
| `.csv` | id, spread, then one column per dimension | |
| `.npy` | vectors; ids one a line in `<stem>.ids.txt` beside it | |
| `.txt`, `.vec`, `.w2v` | word2vec text, as gensim reads it | blanks in ids become `_` |

Text has no types: where every id of a text file is a whole number, ids are read back as integers.
"""

import io
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sanne.atomic import check_target, replaced_file
from sanne.errors import InputError

logger = logging.getLogger(__name__)

Ids = npt.NDArray[Any]  # int64, or str objects
Floats = npt.NDArray[np.float32]
Explanation = Sequence[Sequence[tuple[Any, float]]]  # for each node: (node id, share) pairs

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors with the ids of their nodes and, where the file has it, their spread."""

    node_ids: Ids
    vectors: Floats  # (n, dim)
    spread: Floats | None = None  # (n,)


def check_output(path: str | Path) -> Path:
    """Refuse a file that `write_vectors` could not write; call it before any long work."""
    target = Path(path)
    if target.suffix.lower() not in _WRITERS:
        raise InputError(f"cannot write {path}: unknown ending {target.suffix!r}; use one of {', '.join(_WRITERS)}")
    check_target(target)
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
    target = check_output(path)
    content = Vectors(
        _plain_ids(node_ids),
        np.ascontiguousarray(vectors, np.float32),
        None if spread is None else np.asarray(spread, np.float32),
    )
    _check_shapes(content, explanation)
    kept = {".parquet": ("spread", "explanation"), ".csv": ("spread",)}.get(target.suffix.lower(), ())
    for name, value in (("spread", spread), ("explanation", explanation)):
        if value is not None and name not in kept:
            logger.info("%s has no place for the %s; a .parquet file does", target, name)
    _WRITERS[target.suffix.lower()](target, content, explanation)


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
    except (pa.ArrowException, ValueError, EOFError) as error:  # ValueError covers text that is not UTF-8
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise InputError(f"cannot read vectors from {path}: {reason}") from error
    _check_shapes(content, None)
    return content


def vectors_table(
    node_ids: Ids, vectors: Floats, spread: Floats | None = None, explanation: Explanation | None = None
) -> pa.Table:
    """Vectors as the table that a Parquet file holds."""
    columns = {
        "id": pa.array(node_ids),
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
    }
    if spread is not None:
        columns["spread"] = pa.array(spread)
    if explanation is not None:
        item = pa.struct([("id", columns["id"].type), ("share", pa.float32())])
        text = node_ids.dtype.kind == "O"
        rows = [[{"id": str(i) if text else int(i), "share": float(share)} for i, share in row] for row in explanation]
        columns["explanation"] = pa.array(rows, pa.list_(item))
    return pa.table(columns)


def _write_parquet(path: Path, content: Vectors, explanation: Explanation | None) -> None:
    table = vectors_table(content.node_ids, content.vectors, content.spread, explanation)
    with replaced_file(path) as part:
        pq.write_table(table, part, compression="zstd", use_dictionary=False)


def _read_parquet(path: Path) -> Vectors:
    names = pq.read_schema(path).names
    for name in ("id", "embedding"):
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; its columns are {', '.join(names)}")
    table = pq.read_table(path, columns=[name for name in ("id", "embedding", "spread") if name in names])
    embedding = table["embedding"].combine_chunks()
    if table["id"].null_count or embedding.null_count:
        raise InputError(f"{path} has rows without an id or an embedding")
    values = embedding.flatten().cast(pa.float32()).to_numpy(zero_copy_only=False)
    if len(table) == 0 or len(values) % len(table):
        raise InputError(f"{path} has no rows, or embeddings of different lengths")
    spread = table["spread"].cast(pa.float32()).to_numpy() if "spread" in table.column_names else None
    return Vectors(_plain_ids(table["id"].to_numpy()), values.reshape(len(table), -1), spread)


def _write_npy(path: Path, content: Vectors, explanation: Explanation | None) -> None:
    ids = [str(node_id) for node_id in content.node_ids]
    for node_id in ids:
        if len(node_id.splitlines()) != 1:
            raise InputError(f"node id {node_id!r} does not fit on one line of text: write a .parquet file")
    with replaced_file(_ids_path(path)) as ids_part, replaced_file(path) as part:
        ids_part.write_text("\n".join(ids) + "\n", encoding="utf-8")
        np.save(part, content.vectors, allow_pickle=False)


def _read_npy(path: Path) -> Vectors:
    if not _ids_path(path).is_file():
        raise InputError(f"{path} has no ids: there is no file {_ids_path(path)} with one id a line")
    vectors = np.asarray(np.load(path, allow_pickle=False), np.float32)
    ids = _ids_path(path).read_text(encoding="utf-8").splitlines()
    return Vectors(_ids_from_text(ids), vectors)


def _ids_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.ids.txt")


def _write_word2vec(path: Path, content: Vectors, explanation: Explanation | None) -> None:
    ids = _without_blanks(content.node_ids)
    with replaced_file(path) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(ids)} {content.vectors.shape[1]}\n")
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            rows = _number_lines(content.vectors[start : start + _ROWS_AT_ONCE])
            file.writelines(f"{name} {row}\n" for name, row in zip(ids[start:], rows, strict=False))


def _without_blanks(node_ids: Ids) -> list[str]:
    """Ids fit for a format whose columns are divided by blanks."""
    names: dict[str, Any] = {}
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
    return list(names)


def _number_lines(rows: Floats) -> list[str]:
    """Rows as text, each number in the fewest digits that give it back exactly."""
    table = pa.Table.from_arrays([pa.array(column) for column in rows.T], [str(i) for i in range(rows.shape[1])])
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer, pa.csv.WriteOptions(include_header=False, delimiter=" "))
    return buffer.getvalue().decode("ascii").splitlines()


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


def _write_csv(path: Path, content: Vectors, explanation: Explanation | None) -> None:
    columns = {"id": pa.array(content.node_ids)}
    if content.spread is not None:
        columns["spread"] = pa.array(content.spread)
    columns |= {f"e{i}": pa.array(column) for i, column in enumerate(content.vectors.T)}
    with replaced_file(path) as part:
        pa.csv.write_csv(pa.table(columns), part, pa.csv.WriteOptions(quoting_style="needed"))


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
    return Vectors(_ids_from_text(table["id"].to_pylist()), np.ascontiguousarray(np.array(numbers).T), spread)


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


_WRITERS: dict[str, Callable[[Path, Vectors, Explanation | None], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npy": _write_npy,
    ".txt": _write_word2vec,
    ".vec": _write_word2vec,
    ".w2v": _write_word2vec,
}
_READERS: dict[str, Callable[[Path], Vectors]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".npy": _read_npy,
    ".txt": _read_word2vec,
    ".vec": _read_word2vec,
    ".w2v": _read_word2vec,
}
