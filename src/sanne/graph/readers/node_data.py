"""Check node features, texts and labels that come as matrices and lists, one row per node."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.ids import shown


def as_array(values: Any) -> npt.NDArray[Any]:
    """A numpy array of a list, an array or a torch tensor on any device."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if getattr(values, "is_sparse", False):
            values = values.to_dense()
        values = values.numpy()
    return np.asarray(values)


def as_features(values: Any, node_ids: npt.NDArray[Any]) -> Any:
    """Features as scipy CSR float32 (if sparse) or C-contiguous float32 (n, width); all must be finite."""
    if sp.issparse(values):
        matrix = sp.csr_matrix(values)
        with np.errstate(over="ignore"):
            matrix = matrix.astype(np.float32)
        _check_rows(matrix.shape[0], "rows of features", node_ids)
        bad = np.flatnonzero(~np.isfinite(matrix.data))
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
            _refuse(node_ids, row, int(matrix.indices[bad[0]]), matrix.data[bad[0]])
        return matrix
    array = as_array(values)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise InputError(
            f"features must be a matrix of numbers, one row per node; found {array.dtype} of shape {array.shape}"
        )
    _check_rows(len(array), "rows of features", node_ids)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        column = int((~np.isfinite(array[bad[0]])).argmax())
        _refuse(node_ids, int(bad[0]), column, array[bad[0], column])
    return array


def as_texts(values: Iterable[Any], node_ids: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """Documents as str objects; None and NaN become empty."""
    if isinstance(values, str):
        raise InputError(f"text={values!r} names a column, but there is no node table: give node_table= as well")
    texts = ["" if text is None or text != text else str(text) for text in values]
    _check_rows(len(texts), "texts", node_ids)
    return np.array(texts, dtype=object)


def as_labels(values: Any, node_ids: npt.NDArray[Any]) -> Any:
    """Classes as int64 or str objects, or an indicator matrix (n, classes)."""
    if sp.issparse(values):
        _check_rows(values.shape[0], "labels", node_ids)
        return sp.csr_matrix(values)
    array = as_array(values)
    _check_rows(len(array), "labels", node_ids)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    whole = array.dtype.kind == "f" and np.isfinite(array).all() and np.array_equal(array, np.floor(array))
    if array.dtype.kind in "biu" or whole:
        return array.astype(np.int64)
    if array.ndim == 1 and array.dtype.kind in "OU":
        if all(isinstance(label, int | np.integer) for label in array):
            return array.astype(np.int64)
        return np.array(["" if label is None else str(label) for label in array], dtype=object)
    if array.ndim not in (1, 2) or array.dtype.kind != "f":
        raise InputError(f"labels must be one class per node, not {array.dtype} of shape {array.shape}")
    return array


def _check_rows(rows: int, what: str, node_ids: npt.NDArray[Any]) -> None:
    if rows != len(node_ids):
        raise InputError(f"{rows} {what} for {len(node_ids)} nodes: give one per node, in node order")


def _refuse(node_ids: npt.NDArray[Any], row: int, column: int, value: Any) -> None:
    raise InputError(
        f"node {shown(node_ids, row)} has the feature {value} in column {column}; every feature must be a finite number"
    )
