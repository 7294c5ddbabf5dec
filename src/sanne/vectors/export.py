"""The vectors of a fitted model in the format of another tool; read and written part by part.

| target | `out` | holds |
|---|---|---|
| `parquet` | `x.parquet` | id, embedding, spread |
| `npy` | `x.npy` | the vectors; ids one a line in `x.ids.txt` |
| `word2vec` | `x.txt`, `x.vec`, `x.w2v` | word2vec text, as gensim reads it |
| `lancedb` | a folder | a LanceDB database, new or not, gets the table `nodes`: id, vector, spread |
| `faiss` | `x.faiss`, `x.index` | exact, by cosine; numbered rows, their ids one a line in `x.ids.txt` |
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanne.errors import InputError, MissingExtraError, ModelFolderError
from sanne.files.atomic import check_target, replaced_file, replaced_folder
from sanne.graph.readers.columns import is_numeric
from sanne.graph.readers.typed_tables import open_parquet
from sanne.model.artifact import VECTORS, Artifact
from sanne.vectors.files import VectorWriter, check_output
from sanne.vectors.formats import MARKER, Vectors, check_ids_path, id_lines, ids_path, is_marked, vectors_table
from sanne.vectors.normalise import unit

Target = Literal["parquet", "npy", "word2vec", "lancedb", "faiss"]

ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "npy": (".npy",),
    "word2vec": (".txt", ".vec", ".w2v"),
    "faiss": (".faiss", ".index"),
}
TABLE = "nodes"  # of a LanceDB database
_COLUMNS = ("id", "embedding", "spread")  # of the vectors of a model folder
_LANCEDB_COLUMNS = ("id", "vector", "spread")
_ROWS_AT_ONCE = 10_000


def export_vectors(model: str | Path, target: Target, out: str | Path) -> tuple[int, int]:
    """Write the vectors of a model folder for another tool; returns how many there are and their size.

    What is written appears whole or not at all.

    >>> export_vectors("model", "faiss", "vectors.faiss")
    """
    place = check_export(target, out)
    dim = Artifact.read(model).model.vector_dim  # checks the folder, the vectors' checksum included
    path = Path(model) / VECTORS
    if not path.is_file():
        raise ModelFolderError(f"{model}: incomplete model folder, {VECTORS} is missing: fit again")
    count = _count(path)
    if target == "lancedb":
        _write_lancedb(path, place, dim)
    elif target == "faiss":
        _write_faiss(path, place, dim)
    else:
        with VectorWriter(place, count, dim) as writer:
            for part in _parts(path, dim):
                writer.write(part.node_ids, part.vectors, part.spread)
    return count, dim


def check_export(target: str, out: str | Path) -> Path:
    """Refuse a target or a place that cannot be written to, and say which package is missing."""
    place = Path(out)
    if target not in get_args(Target):
        raise InputError(f"unknown target {target!r}: choose one of {', '.join(get_args(Target))}")
    if target == "lancedb":
        _check_database(place)
        return place
    if place.suffix.lower() not in ENDINGS[target]:
        raise InputError(f"cannot write {out} as {target}: give a name that ends in {' or '.join(ENDINGS[target])}")
    if target == "faiss":
        _faiss()
        check_target(place)
        check_ids_path(place)
        return place
    return check_output(place)


def _count(path: Path) -> int:
    """The number of vectors in a model folder's file, which must have the columns that it is written with."""
    try:
        if missing := [name for name in _COLUMNS if name not in open_parquet(path).columns]:
            raise ModelFolderError(f"{path}: no column {missing[0]!r}: fit again")
    except InputError as error:
        raise ModelFolderError(f"{error}: fit again") from None
    return int(pq.read_metadata(path).num_rows)


def _parts(path: Path, dim: int) -> Iterator[Vectors]:
    """The vectors of a model folder, some rows at a time."""
    try:
        for batch in open_parquet(path).batches(_COLUMNS, (), _ROWS_AT_ONCE):
            yield _vectors(batch, path, dim)
    except InputError as error:
        raise ModelFolderError(f"{error}: fit again") from None


def _vectors(batch: pa.Table, path: Path, dim: int) -> Vectors:
    kind = batch["embedding"].type
    if not is_numeric(kind) or not hasattr(kind, "value_type"):
        raise ModelFolderError(f"{path}: embeddings of {kind}, expected lists of numbers: fit again")
    if batch["id"].null_count or batch["embedding"].null_count:
        raise ModelFolderError(f"{path}: a row without id or embedding: fit again")
    values = batch["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    if len(values) != len(batch) * dim:
        raise ModelFolderError(f"{path}: vectors of another size than the model's {dim}: fit again")
    spread = batch["spread"].to_numpy()
    return Vectors(batch["id"].to_numpy(), values.astype(np.float32, copy=False).reshape(len(batch), dim), spread)


def _check_database(place: Path) -> None:
    """Refuse a folder that is not a LanceDB database, or whose table of our name is somebody else's."""
    lancedb = _lancedb()
    if not check_target(place, folder=True).is_dir():
        return
    tables = [path.name for path in place.iterdir() if not path.name.startswith(".part-")]
    if foreign := sorted(name for name in tables if not name.endswith(".lance")):
        raise InputError(f"{place}: there are other files in this folder ({foreign[0]}); choose an empty or a new one")
    if _table_folder(place).name not in tables:
        return
    try:
        schema = lancedb.connect(place).open_table(TABLE).schema
    except Exception as error:  # LanceDB has no error of its own for a damaged table
        raise InputError(f"{place}: its table {TABLE!r} cannot be read ({error}); choose another folder") from None
    if not is_marked(schema) or schema.names != list(_LANCEDB_COLUMNS):
        raise InputError(
            f"{place}: its table {TABLE!r} is not as sanne writes it, so it is not replaced; "
            "choose another folder, or rename that table"
        )


def _write_lancedb(path: Path, out: Path, dim: int) -> None:
    """Make a database with one table, or add that table to a database; only our own older table is replaced."""
    ids = pq.read_schema(path).field("id").type
    types = (ids, pa.list_(pa.float32(), dim), pa.float32())
    schema = pa.schema(zip(_LANCEDB_COLUMNS, types, strict=True), metadata=MARKER)

    def batches() -> Iterator[pa.RecordBatch]:
        for part in _parts(path, dim):
            yield from vectors_table(part).rename_columns(list(_LANCEDB_COLUMNS)).cast(schema).to_batches()

    if not out.is_dir():
        with replaced_folder(out) as folder:
            _lancedb().connect(folder).create_table(TABLE, batches(), schema=schema)
        return
    with replaced_folder(_table_folder(out)) as folder:
        scratch = folder.with_name("database")
        _lancedb().connect(scratch).create_table(TABLE, batches(), schema=schema)
        folder.rmdir()
        _table_folder(scratch).rename(folder)


def _table_folder(database: Path) -> Path:
    return database / f"{TABLE}.lance"


def _write_faiss(path: Path, out: Path, dim: int) -> None:
    faiss = _faiss()
    index = faiss.IndexFlatIP(dim)  # of vectors of length one: the inner product is the cosine
    with replaced_file(ids_path(out)) as ids_part, replaced_file(out) as part:
        with ids_part.open("w", encoding="utf-8") as names:
            for rows in _parts(path, dim):
                names.writelines(id_lines(rows.node_ids))
                index.add(np.ascontiguousarray(unit(rows.vectors)))
        faiss.write_index(index, str(part))


def _lancedb() -> Any:
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("lancedb", "serve", "a LanceDB database") from None
    return lancedb


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("faiss-cpu", "ann", "a FAISS index") from None
    return faiss
