"""Read Planetoid files (ind.NAME.x, .tx, .allx, .y, .ty, .ally, .graph, .test.index) as a graph.

The files are pickles of numpy arrays and scipy matrices. They are read by an unpickler that knows those few names and
nothing else, so that a file cannot run code. Even those names stand for classes of this file that only remember what
they are told: numpy's own take a damaged state and break the process.
"""

import collections
import io
import pickle
import struct
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.sparse import checked_sparse

PARTS = ("allx", "ally", "tx", "ty", "graph", "test.index")  # x and y repeat rows of allx and ally


def read_planetoid(folder: str | Path, name: str | None = None) -> Graph:
    """The graph of a Planetoid folder, in Planetoid's node order, with ids 0..n-1.

    Test nodes missing from `test.index` (15 in Citeseer) get no words and the label -1.
    """
    folder = Path(folder)
    paths = {part: folder / f"ind.{name or planetoid_name(folder)}.{part}" for part in PARTS}
    missing = [path.name for path in paths.values() if not path.is_file()]
    if missing:
        raise InputError(f"{folder}: missing {', '.join(missing)}; a Planetoid folder needs all its files")
    words, test_words = (_matrix(paths[part]) for part in ("allx", "tx"))
    classes, test_classes = (_one_hot(paths[part]) for part in ("ally", "ty"))
    listed = _test_index(paths["test.index"], first=words.shape[0], count=test_words.shape[0])
    if words.shape[1] != test_words.shape[1] or classes.shape[1] != test_classes.shape[1]:
        raise InputError(f"{folder}: allx and tx, or ally and ty, differ in width")
    if len(classes) != words.shape[0] or len(test_classes) != test_words.shape[0]:
        raise InputError(f"{folder}: allx and ally, or tx and ty, differ in length")
    num_nodes = max(words.shape[0], int(listed.max()) + 1)
    labels = np.full(num_nodes, -1, np.int64)
    labels[: len(classes)] = _class_numbers(classes)
    labels[listed] = _class_numbers(test_classes)
    row_of = np.full(num_nodes, -1)
    row_of[: words.shape[0]] = np.arange(words.shape[0])
    row_of[listed] = words.shape[0] + np.arange(len(listed))
    empty = sp.csr_matrix((1, words.shape[1]), dtype=np.float32)  # row -1: no words
    features = sp.vstack([words, test_words, empty], format="csr")[row_of]
    sources, targets = _edges(paths["graph"], num_nodes)
    return Graph.from_edges(
        sources, targets, node_ids=np.arange(num_nodes), features=features.astype(np.float32), labels=labels
    )


def planetoid_name(folder: Path) -> str:
    """The NAME of the one `ind.NAME.graph` in a folder."""
    found = sorted(path.name[len("ind.") : -len(".graph")] for path in folder.glob("ind.*.graph"))
    if len(found) != 1:
        raise InputError(f"{folder}: expected one ind.NAME.graph file, found {', '.join(found) or 'none'}")
    return found[0]


class _Kind:
    """In the place of numpy.dtype."""

    def __init__(self, name: str, *_: object) -> None:
        self.name = name
        self.order = "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def to_dtype(self) -> np.dtype[Any]:
        """The type of numbers that it names."""
        if self.name not in _NUMBERS or self.order not in ("<", ">", "=", "|"):
            raise ValueError(f"an array of {self.order}{self.name}")
        return np.dtype(self.name).newbyteorder(self.order)  # type: ignore[arg-type]


class _Array:
    """In the place of numpy.ndarray."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, self.shape, self.kind, self.by_columns, self.content = state

    def to_numpy(self) -> npt.NDArray[Any]:
        """The numbers; what is damaged raises ValueError, TypeError, AttributeError or OverflowError."""
        content = self.content.encode("latin1") if isinstance(self.content, str) else self.content
        values = np.frombuffer(content, self.kind.to_dtype())
        if min(self.shape, default=0) < 0:
            raise ValueError(f"an array of shape {self.shape}")
        return values.reshape(self.shape, order="F" if self.by_columns else "C")


class _Matrix:
    """In the place of scipy's csr_matrix."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state


def _reconstruct(*_: object) -> _Array:
    return _Array()


_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
# numpy's and scipy's modules have moved since these files were written: all names they have had.
ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("scipy.sparse._csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}
_DAMAGE = (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError)


# Opcodes that no data needs: one makes room for as many bytes as it says, others reach outside the file.
_NOT_DATA = {*pickle.BYTEARRAY8, *pickle.NEXT_BUFFER, *pickle.READONLY_BUFFER, *pickle.PERSID, *pickle.BINPERSID}
_NOT_DATA |= {*pickle.EXT1, *pickle.EXT2, *pickle.EXT4}


class _DataUnpickler(pickle._Unpickler):
    """In Python, where the faster one written in C takes gigabytes for an object that says it is the billionth."""

    dispatch: ClassVar[dict[int, Any]] = {
        code: read for code, read in pickle._Unpickler.dispatch.items() if code not in _NOT_DATA
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no data") from None


def _load(path: Path) -> Any:
    try:
        return _DataUnpickler(io.BytesIO(path.read_bytes()), encoding="latin1").load()
    except (
        *(pickle.UnpicklingError, EOFError, OSError, ImportError, MemoryError, RecursionError),
        *(*_DAMAGE, AssertionError, struct.error),
    ) as error:
        raise InputError(f"{path}: not a Planetoid file ({error}); fetch it again") from None


def _matrix(path: Path) -> Any:
    """A CSR matrix of finite numbers."""
    loaded = _load(path)
    try:
        data, indices, indptr = (loaded.state[name].to_numpy() for name in ("data", "indices", "indptr"))
        rows, columns = loaded.state.get("_shape") or loaded.state["shape"]
        matrix = checked_sparse(data, indices, indptr, columns).astype(np.float32)
        if matrix.shape[0] != rows:
            raise ValueError(f"{matrix.shape[0]} rows where it says {rows}")
    except (*_DAMAGE, InputError) as error:
        raise InputError(f"{path}: not a sparse matrix ({error}); fetch it again") from None
    if not np.isfinite(matrix.data).all():
        raise InputError(f"{path}: holds NaN or infinite values")
    return matrix


def _one_hot(path: Path) -> npt.NDArray[Any]:
    loaded = _load(path)
    try:
        indicators: npt.NDArray[Any] = loaded.to_numpy()
        if indicators.ndim != 2:
            raise ValueError(f"{indicators.ndim} dimensions")
    except _DAMAGE as error:
        raise InputError(f"{path}: expected a matrix of class indicators ({error}); fetch it again") from None
    return indicators


def _class_numbers(one_hot: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)


def _test_index(path: Path, first: int, count: int) -> npt.NDArray[np.int64]:
    try:
        listed = np.array([int(line) for line in path.read_text("utf-8").split()], dtype=np.int64)
    except (ValueError, OverflowError):
        raise InputError(f"{path}: expected one node number a line") from None
    if len(listed) != count or len(np.unique(listed)) != count or not count:
        raise InputError(f"{path}: {len(listed)} node numbers for the {count} rows of tx")
    if listed.min() < first or listed.max() >= first + 100 * count:
        raise InputError(f"{path}: test nodes must follow the {first} rows of allx")
    return listed


def _edges(path: Path, num_nodes: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    neighbours = _load(path)
    try:
        rows = np.fromiter(neighbours.keys(), np.int64, len(neighbours))
        counts = np.fromiter((len(row) for row in neighbours.values()), np.int64, len(neighbours))
        targets = np.fromiter(chain.from_iterable(neighbours.values()), np.int64, int(counts.sum()))
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise InputError(f"{path}: expected lists of neighbours by node; fetch it again") from None
    sources = np.repeat(rows, counts)
    if len(targets) and (min(rows.min(), targets.min()) < 0 or max(rows.max(), targets.max()) >= num_nodes):
        raise InputError(f"{path}: names a node outside 0..{num_nodes - 1}")
    return sources, targets
