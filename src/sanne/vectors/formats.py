"""File formats of vectors: one registry for everything that reads or writes vectors.

A vector of the paper's recipe has no uncertainty: that is null in a file (an empty cell in CSV), and NaN in an array.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from sanne.errors import InputError, ModelFolderError, first_line
from sanne.files.atomic import check_target
from sanne.graph.readers.delimited import near
from sanne.graph.readers.typed_tables import DAMAGE
from sanne.model.artifact import VECTORS, Artifact
from sanne.vectors.arrays import check_array_file, check_faiss, read_npy, write_faiss, write_npy
from sanne.vectors.parquet import read_parquet, read_parquet_parts, write_parquet
from sanne.vectors.text import read_csv, read_word2vec, write_csv, write_word2vec
from sanne.vectors.vectors import Embedding, Explanation

logger = logging.getLogger(__name__)

Dtype = Literal["float32", "float16"]  # of vectors in files; readers give float32
_MOST = {"float32": np.inf, "float16": float(np.finfo(np.float16).max)}  # numbers that are refused are larger
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Format:
    """How vectors are written and read; `write` gets the number of vectors and their size, and checked parts."""

    name: str
    endings: tuple[str, ...]  # of file names
    write: Callable[..., None]  # (path, parts, count, dim): whole or not at all
    read: Callable[[Path], Embedding] | None = None
    keeps: tuple[str, ...] = ()  # of uncertainty and explanation
    check: Callable[[Path], object] = check_target  # raises if nothing can be written to a path
    halves: bool = False  # whether `write` takes `dtype`, which may be float16


_OWN = (
    Format("parquet", (".parquet",), write_parquet, read_parquet, ("uncertainty", "explanation"), halves=True),
    Format("npy", (".npy",), write_npy, read_npy, check=check_array_file, halves=True),
    Format("csv", (".csv",), write_csv, read_csv, ("uncertainty",)),
    Format("word2vec", (".txt", ".vec", ".w2v"), write_word2vec, read_word2vec),
    Format("faiss", (".faiss", ".index"), write_faiss, check=check_faiss),
)
FORMATS = {form.name: form for form in _OWN}


def register(form: Format) -> None:
    """Make a format known to every command and function that reads or writes vectors.

    >>> register(Format("json", (".json",), write_json, read_json))
    """
    FORMATS[form.name] = form


def check_output(path: str | Path, name: str | None = None, dtype: Dtype = "float32") -> Format:
    """The format for a file (by its ending, or by name); refuses a path that cannot be written.

    Call this before any long work.
    """
    ending = Path(path).suffix.lower()
    if name is not None and name not in FORMATS:
        raise InputError(f"unknown format {name!r}: choose one of {', '.join(FORMATS)}")
    form = _of_ending(ending) if name is None else FORMATS[name]
    if form is None:
        raise InputError(f"cannot write {path}: unknown ending {ending!r}; use one of {', '.join(_endings())}")
    if ending not in form.endings:
        raise InputError(f"cannot write {path} as {name}: give a name that ends in {' or '.join(form.endings)}")
    if dtype == "float16" and not form.halves:
        able = ", ".join(other.name for other in FORMATS.values() if other.halves)
        raise InputError(f"cannot write {path} with float16: only {able} hold half precision; leave dtype out")
    form.check(Path(path))
    return form


def write_vectors(
    path: str | Path,
    node_ids: npt.ArrayLike,
    vectors: npt.ArrayLike,
    uncertainty: npt.ArrayLike | None = None,
    explanation: Sequence[Explanation] | None = None,
    dtype: Dtype = "float32",
) -> None:
    """Write vectors to a file that appears complete or not at all.

    `dtype="float16"` halves the size of a .parquet or .npy file and keeps three digits of each number.

    >>> write_vectors("vectors.parquet", graph.node_ids, model.embedding_)
    """
    whole = Embedding.of(node_ids, vectors, uncertainty, explanation)
    parts = (whole[first : first + _ROWS_AT_ONCE] for first in range(0, len(whole), _ROWS_AT_ONCE))
    write_parts(path, parts, len(whole), whole.dim, dtype=dtype)


def write_parts(
    path: str | Path,
    parts: Iterable[Embedding],
    count: int,
    dim: int,
    format_name: str | None = None,
    dtype: Dtype = "float32",
) -> None:
    """Write `count` vectors of `dim` dimensions part by part; the file appears complete or not at all.

    >>> write_parts("vectors.parquet", embed_parts(artifact, graph), graph.num_nodes, 256)
    """
    form = check_output(path, format_name, dtype)
    if count < 1 or dim < 1:
        raise InputError(f"vectors must be (nodes, dim) with at least one of each, not of shape {(count, dim)}")
    checked = _checked(Path(path), form, parts, count, dim, _MOST[dtype])
    form.write(Path(path), checked, count, dim, **({"dtype": dtype} if form.halves else {}))


def _checked(
    path: Path, form: Format, parts: Iterable[Embedding], count: int, dim: int, most: float
) -> Iterator[Embedding]:
    """The parts, checked for size and total count; logs what the format cannot hold."""
    rows = 0
    for part in parts:
        if part.dim != dim:
            raise InputError(f"vectors of size {part.dim} for a file of size {dim}")
        if (largest := float(np.abs(part.vectors).max())) > most:
            raise InputError(f"a vector has the number {largest:g}, but float16 holds at most {most:g}: write float32")
        there = {"uncertainty": np.isfinite(part.uncertainty).any(), "explanation": part.explanation is not None}
        for name, given in there.items():
            if rows == 0 and given and name not in form.keeps:
                logger.info("%s cannot hold the %s; a .parquet file can", path, name)
        rows += len(part)
        yield part
    if rows != count:
        raise InputError(f"{path}: {rows} vectors were given where {count} were announced")


def read_vectors(path: str | Path) -> Embedding:
    """Read what `write_vectors` wrote, or a word2vec text file from elsewhere; explanations are not read."""
    source = Path(path)
    form = _of_ending(source.suffix.lower())
    if form is None or form.read is None:
        known = ", ".join(_endings(readable=True))
        raise InputError(f"cannot read {path}: unknown ending {source.suffix!r}; known are {known}")
    if not source.is_file():
        raise InputError(f"there is no file {path}{near(source)}")
    try:
        return form.read(source)
    except InputError:
        raise
    except (*DAMAGE, EOFError) as error:  # among them a ValueError, for text that is not UTF-8
        raise InputError(f"cannot read vectors from {path}: {first_line(error)}") from error


def _of_ending(ending: str) -> Format | None:
    return next((form for form in FORMATS.values() if ending in form.endings), None)


def _endings(readable: bool = False) -> list[str]:
    return [ending for form in FORMATS.values() if form.read or not readable for ending in form.endings]


def export_vectors(model: str | Path, target: str, out: str | Path, dtype: Dtype = "float32") -> tuple[int, int]:
    """Write the vectors of a model folder in the format `target`; returns their number and dimensions.

    >>> export_vectors("model", "faiss", "vectors.faiss")
    """
    check_output(out, target, dtype)
    dim = Artifact.read(model).model.vector_dim  # checks the folder, the vectors' checksum included
    path = Path(model) / VECTORS
    if not path.is_file():
        raise ModelFolderError(f"{model}: incomplete model folder, {VECTORS} is missing: fit again")
    count = int(pq.read_metadata(path).num_rows)
    write_parts(out, read_parquet_parts(path, _ROWS_AT_ONCE), count, dim, target, dtype)
    return count, dim
