"""Vectors as a .npy file or a FAISS index, with one id per line in `<stem>.ids.txt` next to it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError, import_extra
from sanne.files.atomic import check_target, replaced_file
from sanne.files.npy import NpyWriter, map_npy
from sanne.vectors.normalise import unit
from sanne.vectors.text import ids_from_text
from sanne.vectors.vectors import Embedding, Ids

_ENDINGS = (".npy", ".faiss", ".index")  # of files that may have such a list of ids


def check_array_file(path: Path) -> None:
    """Refuse to replace a list of ids that does not belong to an older file of vectors."""
    check_target(path)
    ids = _ids_path(path)
    if ids.exists() and not any(path.with_suffix(ending).exists() for ending in _ENDINGS):
        raise InputError(f"cannot write {path}: its ids go to {ids}, which already exists: choose another name")


def write_npy(path: Path, parts: Iterable[Embedding], count: int, dim: int, dtype: npt.DTypeLike = np.float32) -> None:
    with _ids_and_file(path) as (write_ids, part), NpyWriter(part, dtype, (dim,)) as array:
        for vectors in parts:
            write_ids(vectors.node_ids)
            array.write(vectors.vectors)


def read_npy(path: Path) -> Embedding:
    if not _ids_path(path).is_file():
        raise InputError(f"{path} has no ids: there is no file {_ids_path(path)} with one id per line")
    stored = map_npy(path)
    if stored.dtype.kind not in "iuf":
        raise InputError(f"{path} holds {stored.dtype}, not vectors of numbers")
    ids = _ids_path(path).read_text(encoding="utf-8").splitlines()
    return Embedding.of(ids_from_text(ids), np.array(stored, np.float32))


def check_faiss(path: Path) -> None:
    """Refuse a place that cannot be written to, or a machine without FAISS."""
    _faiss()
    check_array_file(path)


def write_faiss(path: Path, parts: Iterable[Embedding], count: int, dim: int) -> None:
    """Write an exact index by cosine: the inner product of unit vectors."""
    index = _faiss().IndexFlatIP(dim)
    with _ids_and_file(path) as (write_ids, part):
        for vectors in parts:
            write_ids(vectors.node_ids)
            index.add(np.ascontiguousarray(unit(vectors.vectors)))
        _faiss().write_index(index, str(part))


@contextlib.contextmanager
def _ids_and_file(path: Path) -> Iterator[tuple[Callable[[Ids], None], Path]]:
    """A function that adds ids to the list, and the temporary path of the file."""
    with (
        replaced_file(_ids_path(path)) as ids_part,
        replaced_file(path) as part,
        ids_part.open("w", encoding="utf-8") as lines,
    ):
        yield lambda ids: lines.writelines(_id_lines(ids)), part


def _ids_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.ids.txt")


def _id_lines(node_ids: Ids) -> list[str]:
    ids = [str(node_id) for node_id in node_ids]
    for node_id in ids:
        if len(node_id.splitlines()) != 1:
            raise InputError(f"node id {node_id!r} does not fit on one line of text: write a .parquet file")
    return [f"{node_id}\n" for node_id in ids]


def _faiss() -> Any:
    return import_extra("faiss", "ann", "a FAISS index", "faiss-cpu")
