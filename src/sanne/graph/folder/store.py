"""The graph folder: plain .npy files that are mapped, not read, so that a graph may be larger than memory.

| file | what |
|---|---|
| `graph.json` | format version, direction, and size and sha256 of every other file |
| `indptr.npy`, `indices.npy`, `weights.npy` | rows of neighbours |
| `node_ids.npy`, or `node_ids.offsets.npy` and `node_ids.bytes.npy` | integer or text ids |
| `features.npy`, or `features.indptr.npy`, `.indices.npy`, `.data.npy` | dense or sparse features |
| `texts.offsets.npy`, `texts.bytes.npy` | documents |
| `labels.npy`, or `labels.codes.npy` and `labels.classes.*` | classes as numbers or as text |

Opening checks sizes, types and shapes, and reads no large file but sparse features. That every arc leads to a node is
checked when arcs are first used; checksums are left to `verify`.
"""

import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError, first_line
from sanne.files.atomic import check_target, read_unreplaced, replaced_folder
from sanne.files.npy import map_npy
from sanne.graph.folder.strings import MappedStrings, StringsWriter
from sanne.graph.graph import CheckedIds, Graph
from sanne.graph.sparse import checked_sparse

FORMAT_VERSION = 1
HEADER = "graph.json"
_AT_ONCE = 2**20  # numbers read together where a whole file is checked


def save_graph(graph: Graph, folder: str | Path) -> None:
    """Write a graph folder, completely or not at all; an older graph folder there is replaced.

    >>> save_graph(graph, "cora.graph")
    """
    with replaced_folder(check_graph_target(folder)) as part:
        arrays: dict[str, Any] = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
        for name, array in arrays.items():
            if array is not None:
                np.save(part / f"{name}.npy", array, allow_pickle=False)
        if graph.has_integer_ids:
            np.save(part / "node_ids.npy", graph.node_ids, allow_pickle=False)
        else:
            _save_texts(part, "node_ids", graph.node_ids)
        if graph.texts is not None:
            _save_texts(part, "texts", graph.texts)
        columns = {
            name: _save_matrix(part, name, value)
            for name, value in (("features", graph.features), ("labels", graph.labels))
            if value is not None
        }
        write_header(
            part,
            directed=graph.directed,
            checked_ids="counting" if graph.ids_count_up else "unique",
            sparse_columns={name: count for name, count in columns.items() if count is not None},
            feature_names=graph.feature_names,
        )


def open_graph(folder: str | Path, *, verify: bool = False) -> Graph:
    """Open a folder that `save_graph` or `sanne build` wrote; its arrays stay on disk until they are used.

    `verify` reads every file once and compares checksums.

    >>> graph = open_graph("cora.graph")
    """
    return read_unreplaced(folder, lambda: _open_graph(Path(folder), verify))


def _open_graph(place: Path, verify: bool) -> Graph:
    header = _read_header(place)
    files = _Files(place, header["files"])
    if verify:
        files.verify()
    ids: Any = files.array("node_ids.npy", np.int64) if "node_ids.npy" in files else files.texts("node_ids")
    n = len(ids)
    if header["checked_ids"] == "counting" and not (ids.dtype == np.int64 and n and (ids[0], ids[-1]) == (0, n - 1)):
        raise _damaged(place / HEADER, "the ids do not count up as it says")
    indptr = files.array("indptr.npy", np.int64)
    indices = files.array("indices.npy", np.int32)
    if len(indptr) != n + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise _damaged(place / "indptr.npy", "its rows do not fit the ids and indices")
    weights = files.array("weights.npy", np.float32) if "weights.npy" in files else None
    features = files.matrix("features", header["sparse_columns"])
    if features is not None and features.shape[0] != n:
        raise _damaged(place / "features.npy", f"{features.shape[0]} rows of features for {n} nodes")
    if weights is not None and len(weights) != len(indices):
        raise _damaged(place / "weights.npy", f"{len(weights)} weights for {len(indices)} arcs")
    return Graph(
        indptr=indptr,
        indices=indices,
        weights=weights,
        node_ids=ids,
        directed=header["directed"],
        features=features,
        texts=files.texts("texts") if "texts.offsets.npy" in files else None,  # type: ignore[arg-type]
        labels=files.labels(header["sparse_columns"]),
        checked_ids=header["checked_ids"],
        feature_names=_names(place, header, features),
        check_arcs=functools.partial(_check_arcs, place, n, len(indices), weights is not None),
    )


def _names(place: Path, header: dict[str, Any], features: Any) -> tuple[str, ...] | None:
    """The names of the feature columns, if the folder has them."""
    names = header.get("feature_names")
    if names is None:
        return None
    all_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not all_text or features is None or len(names) != features.shape[1]:
        raise _damaged(place / HEADER, "the names of features do not fit their columns")
    return tuple(names)


def is_graph_folder(folder: str | Path) -> bool:
    return (Path(folder) / HEADER).is_file()


def check_graph_target(folder: str | Path) -> Path:
    """Refuse a place that may not be replaced: anything but a new folder, an empty one or an older graph folder."""
    target = check_target(folder, folder=True)
    if target.is_dir() and any(target.iterdir()):
        if not is_graph_folder(target):
            raise InputError(f"{folder} is no graph folder, and is not replaced: choose an empty or a new folder")
        try:
            known = {HEADER, *_read_header(target)["files"]}
        except InputError as error:
            raise InputError(f"{error}; {folder} is not replaced: choose an empty or a new folder") from None
        if foreign := sorted({path.name for path in target.iterdir()} - known):
            raise InputError(f"{folder}: there are other files in this folder ({foreign[0]}); choose another")
    return target


def write_header(
    folder: Path,
    *,
    directed: bool,
    checked_ids: CheckedIds,
    sparse_columns: dict[str, int],
    feature_names: tuple[str, ...] | None = None,
) -> None:
    """Describe the .npy files of a folder in its graph.json, checksums included."""
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": _digest(path)} for path in sorted(folder.glob("*.npy"))
    }
    header = {
        "format": "sanne-graph",
        "format_version": FORMAT_VERSION,
        "directed": directed,
        "checked_ids": checked_ids,
        "sparse_columns": sparse_columns,
        **({"feature_names": feature_names} if feature_names else {}),
        "files": files,
    }
    (folder / HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")


class _Files:
    """The files that a graph.json lists, opened one by one and compared with what it says of them."""

    def __init__(self, place: Path, listed: dict[str, Any]) -> None:
        self._place = place
        self._listed = listed

    def __contains__(self, name: str) -> bool:
        return name in self._listed

    def verify(self) -> None:
        for name, facts in self._listed.items():
            if _digest(self._checked(name)) != facts.get("sha256"):
                raise _damaged(self._place / name, f"its checksum differs from {HEADER}")

    def array(self, name: str, dtype: npt.DTypeLike | None = None, ndims: tuple[int, ...] = (1,)) -> Any:
        path = self._checked(name)
        try:
            array = map_npy(path)
        except (ValueError, OSError) as error:
            raise _damaged(path, first_line(error)) from None
        if dtype is not None and array.dtype != dtype:
            raise _damaged(path, f"it holds {array.dtype}, expected {np.dtype(dtype)}")
        if array.dtype.kind not in "iufb" or array.ndim not in ndims or not array.flags.c_contiguous:
            raise _damaged(path, f"{array.dtype} of shape {array.shape} cannot be part of a graph")
        return array if 2 in ndims else np.asarray(array)  # compiled code takes only plain arrays

    def texts(self, stem: str) -> MappedStrings:
        content = self.array(f"{stem}.bytes.npy", np.uint8)
        return MappedStrings(self.array(f"{stem}.offsets.npy", np.int64), content, str(self._place / stem))

    def matrix(self, stem: str, sparse_columns: dict[str, int]) -> Any:
        """A dense matrix, mapped, or a scipy CSR matrix over mapped arrays; None if there is none."""
        if f"{stem}.npy" in self:
            return self.array(f"{stem}.npy", ndims=(1, 2) if stem == "labels" else (2,))
        if f"{stem}.indptr.npy" not in self:
            return None
        data, indices, indptr = (self.array(f"{stem}.{part}.npy") for part in ("data", "indices", "indptr"))
        try:
            return checked_sparse(data, indices, indptr, sparse_columns.get(stem))
        except InputError as error:
            raise _damaged(self._place / f"{stem}.indptr.npy", str(error)) from None

    def labels(self, sparse_columns: dict[str, int]) -> Any:
        """Classes as numbers or as text; None if there are none."""
        if "labels.codes.npy" not in self:
            return self.matrix("labels", sparse_columns)
        classes, codes = self.texts("labels.classes"), self.array("labels.codes.npy", np.int32)
        if len(codes) and (codes.min() < 0 or codes.max() >= len(classes)):
            raise _damaged(self._place / "labels.codes.npy", f"a code outside 0..{len(classes) - 1}")
        return np.array(classes.tolist(), dtype=object)[codes]

    def _checked(self, name: str) -> Path:
        path = self._place / name
        facts = self._listed.get(name)
        if not isinstance(facts, dict) or "bytes" not in facts:
            raise _damaged(self._place / HEADER, f"it does not describe {name}")
        if not path.is_file():
            raise InputError(f"{self._place}: incomplete graph folder, {name} is missing: build it again")
        if path.parent != self._place:
            raise _damaged(self._place / HEADER, f"{name!r} is not the name of a file in it")
        if path.stat().st_size != facts["bytes"]:
            raise _damaged(path, f"{path.stat().st_size} bytes, where {HEADER} says {facts['bytes']}")
        return path


def _check_arcs(place: Path, nodes: int, arcs: int, weighted: bool) -> None:
    """Refuse arcs to nodes that do not exist: compiled loops follow arcs unchecked."""
    last = 0
    for rows in _blocks(place / "indptr.npy"):
        if rows[0] < last or rows[-1] > arcs or np.any(np.diff(rows) < 0):
            raise _damaged(place / "indptr.npy", "its rows are out of order")
        last = int(rows[-1])
    for ends in _blocks(place / "indices.npy"):
        if ends.min() < 0 or ends.max() >= nodes:
            raise _damaged(place / "indices.npy", f"an arc leads to a node outside 0..{nodes - 1}")
    for weights in _blocks(place / "weights.npy") if weighted else ():
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise _damaged(place / "weights.npy", "a weight is not a positive number")


def _blocks(path: Path) -> Iterator[npt.NDArray[Any]]:
    """The numbers of a file, read in blocks beside its map, so that memory does not grow."""
    array = map_npy(path)
    with path.open("rb") as file:
        file.seek(array.offset)  # type: ignore[attr-defined]
        while len(block := np.fromfile(file, array.dtype, _AT_ONCE)):
            yield block


def _save_texts(folder: Path, stem: str, texts: Any) -> None:
    with StringsWriter(folder, stem) as writer:
        for first in range(0, len(texts), 65_536):
            writer.write(texts[first : first + 65_536])


def _save_matrix(folder: Path, stem: str, value: Any) -> int | None:
    """Write a dense or sparse matrix, or classes; the number of columns if it is sparse."""
    if sp.issparse(value):
        rows = value.tocsr()
        for part in ("data", "indices", "indptr"):
            np.save(folder / f"{stem}.{part}.npy", getattr(rows, part), allow_pickle=False)
        return int(rows.shape[1])
    array = np.asarray(value)
    if array.dtype.kind in "OU":
        classes, codes = np.unique(array.astype(str), return_inverse=True)
        np.save(folder / f"{stem}.codes.npy", codes.astype(np.int32), allow_pickle=False)
        _save_texts(folder, f"{stem}.classes", classes.astype(object))
    else:
        np.save(folder / f"{stem}.npy", np.ascontiguousarray(array), allow_pickle=False)
    return None


def _read_header(place: Path) -> dict[str, Any]:
    path = place / HEADER
    if not path.is_file():
        raise InputError(f"{place}: not a graph folder, there is no {HEADER}; make one with sanne build --out {place}")
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise _damaged(path, f"not readable as JSON, {error}") from None
    if not isinstance(header, dict) or header.get("format") != "sanne-graph":
        raise InputError(f"{path}: not a sanne graph; name a folder that sanne build wrote")
    version = header.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise InputError(f"{path}: format {version} of a newer sanne, this one reads {FORMAT_VERSION}: upgrade sanne")
    expected = {"directed": bool, "checked_ids": str, "sparse_columns": dict, "files": dict}
    for name, kind in expected.items():
        if not isinstance(header.get(name), kind):
            raise _damaged(path, f"no valid {name!r}")
    if header["checked_ids"] not in ("unique", "counting"):
        raise _damaged(path, "no valid 'checked_ids'")
    return header


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"{path}: damaged ({reason}): build the folder again")
