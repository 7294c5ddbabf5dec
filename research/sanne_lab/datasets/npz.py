"""Read a benchmark graph from one numpy archive: edges, labels and a bag of words, without pickles."""

import math
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError, first_line
from sanne.graph.graph import Graph
from sanne.graph.readers.arrays import as_features, read_arrays
from sanne.graph.sparse import checked_sparse

WORDS = ("words_indptr", "words_indices", "words_values", "num_words")
SMALL = 64 * 2**20  # bytes that any archive may unpack to
RATIO = 200  # times its size that a larger one may unpack to; arrays of data seldom reach a tenth of that


def read_npz(path: str | Path, *, directed: bool = False) -> Graph:
    """The graph of an archive with `edges` (m, 2), `labels` (n,) and the CSR parts `words_*`.

    Node ids are 0..n-1. Labels and words may be missing; without both, n comes from the edges.
    """
    path = Path(path)
    try:
        arrays = load_arrays(path)
    except ValueError as error:
        raise InputError(f"{path}: not a readable numpy archive ({error})") from None
    if "edges" not in arrays:
        raise InputError(f"{path}: no array 'edges' in it (found {', '.join(arrays) or 'nothing'})")
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InputError(f"{path}: 'edges' must be an integer array of shape (m, 2), not {edges.shape}")
    if edges.dtype == np.uint64:
        edges = np.minimum(edges, np.iinfo(np.int64).max).astype(np.int64)  # out of range as it was
    words, labels, num_nodes = _words(path, arrays), arrays.get("labels"), None
    if words is None and labels is None:
        num_nodes = int(edges.max()) + 1 if len(edges) else 0
        if num_nodes > max(SMALL // 8, 1000 * len(edges)):
            raise InputError(f"{path}: {len(edges)} edges that name node {num_nodes - 1}: numbers are nodes 0..n-1")
    try:
        return read_arrays(edges, num_nodes=num_nodes, features=words, labels=labels, directed=directed)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def load_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an archive; a ValueError says why there are none. What unpacks beyond reason is not unpacked."""
    try:
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > max(SMALL, RATIO * size):
                raise ValueError(f"{size} bytes that unpack to {unpacked}, which no data does: a zip bomb?")
            return {member.filename.removesuffix(".npy"): _member(archive, member) for member in members}
    except FileNotFoundError:
        raise ValueError("no such file") from None
    except (
        *(TypeError, OSError, EOFError, LookupError, OverflowError, MemoryError, RecursionError, SyntaxError),
        *(RuntimeError, NotImplementedError, AttributeError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
    ) as error:
        raise ValueError(first_line(error)) from None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array, whose header must fit the bytes that follow it: only then is memory taken for it."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{member.filename} is an .npy file of version {version}")
        headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, dtype = headers[version[0] - 1](file)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not read: they may run code")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"{member.filename} says {dtype} of shape {shape}, and holds something else")
    with archive.open(member) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _words(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    if not any(name in arrays for name in WORDS):
        return None
    missing = [name for name in WORDS if name not in arrays]
    if missing:
        raise InputError(f"{path}: a bag of words needs {', '.join(WORDS)}; missing {', '.join(missing)}")
    indptr, indices, values = (arrays[name] for name in WORDS[:3])
    try:
        words = checked_sparse(values, indices, indptr, arrays["num_words"].item())
        return as_features(words, np.arange(words.shape[0]))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: the bag of words is damaged ({first_line(error)})") from None
