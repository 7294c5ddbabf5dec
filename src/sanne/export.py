"""The vectors of a fitted model in the format of another tool; read and written part by part.

| target | `out` | holds |
|---|---|---|
| `parquet` | `x.parquet` | id, embedding, spread |
| `npy` | `x.npy` | the vectors; ids one a line in `x.ids.txt` |
| `word2vec` | `x.txt`, `x.vec`, `x.w2v` | word2vec text, as gensim reads it |
| `lancedb` | a folder | a LanceDB database with the table `nodes`: id, vector, spread |
| `faiss` | `x.faiss`, `x.index` | exact, by cosine; numbered rows, their ids one a line in `x.ids.txt` |
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanne.atomic import check_target, replaced_file, replaced_folder
from sanne.errors import InputError, MissingExtraError, ModelFolderError
from sanne.infer.sinks import Vectors, id_lines, ids_path, vectors_table
from sanne.infer.vectors_file import VectorWriter, check_output
from sanne.model.artifact import VECTORS, Artifact

Target = Literal["parquet", "npy", "word2vec", "lancedb", "faiss"]

ENDINGS: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet",),
    "npy": (".npy",),
    "word2vec": (".txt", ".vec", ".w2v"),
    "faiss": (".faiss", ".index"),
}
TABLE = "nodes"  # of a LanceDB database
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
    count = pq.read_metadata(path).num_rows
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
        _lancedb()
        if check_target(place, folder=True).is_dir() and any(p.suffix != ".lance" for p in place.iterdir()):
            raise InputError(f"{place}: there are other files in this folder; choose an empty or a new one")
        return place
    if place.suffix.lower() not in ENDINGS[target]:
        raise InputError(f"cannot write {out} as {target}: give a name that ends in {' or '.join(ENDINGS[target])}")
    if target == "faiss":
        _faiss()
        check_target(place)
        return place
    return check_output(place)


def _parts(path: Path, dim: int) -> Iterator[Vectors]:
    """The vectors of a model folder, some rows at a time."""
    for batch in pq.ParquetFile(path).iter_batches(_ROWS_AT_ONCE, columns=["id", "embedding", "spread"]):
        values = batch["embedding"].flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
        if len(values) != len(batch) * dim:
            raise ModelFolderError(f"{path}: vectors of another size than the model's {dim}: fit again")
        ids = batch["id"].to_numpy(zero_copy_only=False)
        yield Vectors(ids, values.reshape(len(batch), dim), batch["spread"].to_numpy(zero_copy_only=False))


def _write_lancedb(path: Path, out: Path, dim: int) -> None:
    ids = pq.read_schema(path).field("id").type
    schema = pa.schema([("id", ids), ("vector", pa.list_(pa.float32(), dim)), ("spread", pa.float32())])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in _parts(path, dim):
            yield from vectors_table(part).rename_columns(["id", "vector", "spread"]).cast(schema).to_batches()

    with replaced_folder(out) as folder:
        _lancedb().connect(folder).create_table(TABLE, batches(), schema=schema)


def _write_faiss(path: Path, out: Path, dim: int) -> None:
    faiss = _faiss()
    index = faiss.IndexFlatIP(dim)  # of vectors of length one: the inner product is the cosine
    with replaced_file(ids_path(out)) as ids_part, replaced_file(out) as part:
        with ids_part.open("w", encoding="utf-8") as names:
            for rows in _parts(path, dim):
                names.writelines(id_lines(rows.node_ids))
                lengths = np.linalg.norm(rows.vectors, axis=1, keepdims=True)
                index.add(np.ascontiguousarray(rows.vectors / np.maximum(lengths, 1e-12)))
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
