"""Sparse matrices: checked when they come from files, since compiled code trusts them; products use all cores."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from sanne.device import available_cores, one_blas_thread
from sanne.errors import InputError
from sanne.seeds import kernel

Result = TypeVar("Result")

_ALWAYS_ALLOWED = 2**20  # columns
_ROWS_A_THREAD = 256  # with fewer, a second thread costs more than it gains
_ROWS_AT_ONCE = 8192
LINE = 16  # single-precision columns of a cache line: a row that is reached costs as much as all lines that it touches
AHEAD = 32  # stored values, from when a row is asked for to when it is needed
_A_VALUE = 16  # columns beyond those, for each stored value


def checked_sparse(data: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], columns: Any) -> Any:
    """The CSR matrix of three arrays; an InputError if they are inconsistent.

    Few stored values with billions of columns are refused: fitting needs memory for every column.
    """
    if isinstance(columns, bool) or not isinstance(columns, int | np.integer) or columns < 0:
        raise InputError(f"{columns!r} is not a number of columns")
    if columns > max(_ALWAYS_ALLOWED, _A_VALUE * len(data)):
        raise InputError(f"{columns} columns for {len(data)} stored values: no real matrix is so empty")
    if data.dtype.kind not in "iufb" or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise InputError(f"a sparse matrix of {data.dtype} with {indices.dtype} and {indptr.dtype} as indices")
    if any(part.ndim != 1 for part in (data, indices, indptr)) or len(indptr) == 0 or len(data) != len(indices):
        raise InputError("the arrays of a sparse matrix do not match")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(indptr[1:] < indptr[:-1]):
        raise InputError("the row pointers of a sparse matrix do not match its values")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise InputError(f"an index in a sparse matrix is outside its {columns} columns")
    place = np.int32 if max(columns, len(data)) < 2**31 else np.int64  # one type for both, as compiled code expects
    matrix = sp.csr_matrix((len(indptr) - 1, int(columns)), dtype=data.dtype)
    matrix.data = data
    matrix.indices, matrix.indptr = indices.astype(place, copy=False), indptr.astype(place, copy=False)
    return matrix


def multiply(matrix: Any, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A matrix times dense rows (columns, width); a sparse one on all cores, each row summed in order."""
    if not sp.issparse(matrix):
        dense: npt.NDArray[np.float32] = np.asarray(matrix @ rows, np.float32)
        return dense
    rows = np.ascontiguousarray(rows, np.float32)
    result = np.empty((matrix.shape[0], rows.shape[1]), np.float32)
    arrays = (matrix.indptr, matrix.indices, matrix.data.astype(np.float32, copy=False), rows, result)
    in_parts(lambda first, last: _multiply(*arrays, first, last), matrix.indptr)
    return result


def in_parts(work: Callable[[int, int], object], indptr: npt.NDArray[Any]) -> None:
    """Call `work(first, last)` on row ranges with about equally many stored values, one per core."""
    effort = np.asarray(indptr[1:], np.int64) + np.arange(1, len(indptr))
    count = min(available_cores(), max(1, len(effort) // _ROWS_A_THREAD))
    if count == 1:
        work(0, len(effort))
        return
    cuts = [0, *np.searchsorted(effort, np.linspace(0, effort[-1], count + 1)[1:-1]).tolist(), len(effort)]
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, cuts[:-1], cuts[1:]))


def row_blocks(count: int) -> list[slice]:
    """Row ranges to process one by one; the same for any number of cores."""
    return [slice(first, min(first + _ROWS_AT_ONCE, count)) for first in range(0, count, _ROWS_AT_ONCE)]


def each_block(work: Callable[[slice], Result], count: int) -> list[Result]:
    """The result of `work` for each row range, in order, computed on all cores.

    BLAS uses one thread: more would change the order of sums.
    """
    blocks = row_blocks(count)
    with one_blas_thread(), ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(work, blocks))


def _ask_for(_: Any, values: Any, place: Any) -> Any:
    """In a kernel, prefetch the cache line of a value of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        start = context.make_array(values)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(start, [arguments[1]]), pointer)
        function = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], function)
        builder.call(call, [address, word(0), word(3), word(1)])  # to be read, again and again, as data
        return context.get_dummy_value()

    return types.void(values, types.int64), generate


ask_for: Any = intrinsic(_ask_for)


@kernel
def _multiply(indptr: Any, indices: Any, data: Any, rows: Any, result: Any, first: int, last: int) -> None:
    width, stop = rows.shape[1], indptr[last]
    for i in range(first, last):
        total = result[i]
        total[:] = 0
        for position in range(indptr[i], indptr[i + 1]):
            if position + AHEAD < stop:
                for c in range(0, width, LINE):
                    ask_for(rows, np.int64(indices[position + AHEAD]) * width + c)
            value, row = data[position], rows[indices[position]]
            for c in range(total.size):
                total[c] += value * row[c]
