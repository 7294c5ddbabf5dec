"""The vectors of a fitted model in any format, read and written part by part."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from sanne.errors import InputError, ModelFolderError
from sanne.model.artifact import VECTORS, Artifact
from sanne.vectors.formats import Dtype, check_output, write_parts
from sanne.vectors.parquet import read_parquet_parts
from sanne.vectors.vectors import Embedding

_ROWS_AT_ONCE = 10_000


def export_vectors(model: str | Path, target: str, out: str | Path, dtype: Dtype = "float32") -> tuple[int, int]:
    """Write the vectors of a model folder in the format `target`; returns how many there are and their size.

    >>> export_vectors("model", "faiss", "vectors.faiss")
    """
    check_output(out, target, dtype)
    dim = Artifact.read(model).model.vector_dim  # checks the folder, the vectors' checksum included
    path = Path(model) / VECTORS
    if not path.is_file():
        raise ModelFolderError(f"{model}: incomplete model folder, {VECTORS} is missing: fit again")
    count = int(pq.read_metadata(path).num_rows)
    write_parts(out, _parts(path, dim), count, dim, target, dtype)
    return count, dim


def _parts(path: Path, dim: int) -> Iterator[Embedding]:
    try:
        for part in read_parquet_parts(path, _ROWS_AT_ONCE):
            if part.dim != dim:
                raise InputError(f"{path}: vectors of size {part.dim}, the model's are {dim}")
            yield part
    except InputError as error:
        raise ModelFolderError(f"{error}: fit again") from None
