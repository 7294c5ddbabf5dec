"""Sparse matrices from files: what their parts say must hold before compiled code follows it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.errors import InputError

_ALWAYS_ALLOWED = 2**20  # columns
_A_VALUE = 16  # columns beyond those, for each stored value


def checked_sparse(data: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], columns: Any) -> Any:
    """The CSR matrix of three arrays; an InputError if they do not fit together.

    A few stored values under a claim of billions of columns are refused: fitting needs memory for every column.
    """
    if isinstance(columns, bool) or not isinstance(columns, int | np.integer) or columns < 0:
        raise InputError(f"{columns!r} is no number of columns")
    if columns > max(_ALWAYS_ALLOWED, _A_VALUE * len(data)):
        raise InputError(f"{columns} columns for {len(data)} stored values: no real matrix is so empty")
    if data.dtype.kind not in "iufb" or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise InputError(f"a sparse matrix of {data.dtype} with {indices.dtype} and {indptr.dtype} as places")
    if any(part.ndim != 1 for part in (data, indices, indptr)) or len(indptr) == 0 or len(data) != len(indices):
        raise InputError("the parts of a sparse matrix do not fit together")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(indptr[1:] < indptr[:-1]):
        raise InputError("the rows of a sparse matrix do not fit its values")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise InputError(f"a place in a sparse matrix is outside its {columns} columns")
    place = np.int32 if max(columns, len(data)) < 2**31 else np.int64  # one type for both, as compiled code expects
    matrix = sp.csr_matrix((len(indptr) - 1, int(columns)), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, _as(indices, place), _as(indptr, place)
    return matrix


def _as(values: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    return values if values.dtype == kind else values.astype(kind)
