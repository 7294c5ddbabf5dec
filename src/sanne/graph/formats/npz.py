"""Read a benchmark graph from one numpy archive: edges, labels and a bag of words, without pickles."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.csr import Graph

WORDS = ("words_indptr", "words_indices", "words_values", "num_words")


def read_npz(path: str | Path, *, directed: bool = False) -> Graph:
    """The graph of an archive with `edges` (m, 2), `labels` (n,) and the CSR parts `words_*`.

    Node ids are 0..n-1. Labels and words may be missing; without both, n comes from the edges.
    """
    path = Path(path)
    arrays = _load_arrays(path)
    if "edges" not in arrays:
        raise InputError(f"{path}: no array 'edges' in it (found {', '.join(arrays) or 'nothing'})")
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise InputError(f"{path}: 'edges' must be an integer array of shape (m, 2), not {edges.shape}")
    words = _words(path, arrays)
    labels = arrays.get("labels")
    if labels is not None:
        num_nodes = len(labels)
    elif words is not None:
        num_nodes = words.shape[0]
    else:
        num_nodes = int(edges.max()) + 1 if len(edges) else 0
    try:
        return Graph.from_edges(
            edges[:, 0],
            edges[:, 1],
            node_ids=np.arange(num_nodes),
            directed=directed,
            features=words,
            labels=labels.astype(np.int64) if labels is not None and labels.dtype.kind in "iu" else labels,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _load_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: not a readable numpy archive ({_first_line(error)})") from None


def _words(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    if not any(name in arrays for name in WORDS):
        return None
    missing = [name for name in WORDS if name not in arrays]
    if missing:
        raise InputError(f"{path}: a bag of words needs {', '.join(WORDS)}; missing {', '.join(missing)}")
    indptr, indices, values = (arrays[name] for name in WORDS[:3])
    try:
        shape = (len(indptr) - 1, int(arrays["num_words"]))
        words = sp.csr_matrix(
            (values.astype(np.float32), indices.astype(np.int32), indptr.astype(np.int32)), shape=shape
        )
        words.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: the bag of words is damaged ({_first_line(error)})") from None
    return words


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
