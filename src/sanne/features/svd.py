"""Leading singular vectors of a matrix, sparse or dense, by random projection and a few power iterations."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import eigh

from sanne.graph.graph import FloatArray
from sanne.graph.sparse import each_block, multiply

_FEW_COLUMNS = 512  # of a dense matrix, up to which its singular vectors are computed directly
_SPARE = 24  # columns beyond those wanted, so that the last ones are right too


def components(matrix: Any, width: int, stream: np.random.Generator, passes: int = 4) -> FloatArray:
    """The leading right singular vectors (columns, width at most), the largest first, with signs made definite.

    There are no more than the rank of the matrix, but at least one: zeros, for a matrix of zeros.
    """
    width = min(width, *matrix.shape)
    block = min(width + _SPARE, *matrix.shape)
    largest = float(np.abs(matrix.data if sp.issparse(matrix) else matrix).max(initial=0))
    if largest == 0:
        return np.zeros((matrix.shape[1], 1), np.float32)
    if not 1e-6 < largest < 1e6:
        matrix = matrix / np.float32(largest)  # squares of its squares are to be numbers
    if narrow(matrix):
        return leading_axes(gram(matrix), width)
    start = stream.standard_normal((matrix.shape[1], block)).astype(np.float32)
    transposed = matrix.T.tocsr() if sp.issparse(matrix) else matrix.T
    basis = multiply(matrix, start)
    for _ in range(passes):
        basis = multiply(matrix, multiply(transposed, _orthonormal(basis)))
    across = multiply(transposed, _orthonormal(basis))  # (columns, block)
    values, axes = eigh((across.T @ across).astype(np.float64))
    kept = values[::-1][:width] > 1e-10 * max(values[-1], 1e-30)
    scaled = axes[:, ::-1][:, :width][:, kept] / np.sqrt(values[::-1][:width][kept])
    return definite_signs(across @ scaled.astype(np.float32))


def narrow(matrix: Any) -> bool:
    """Whether the singular vectors of a matrix are computed directly, from the products of its columns."""
    return not sp.issparse(matrix) and matrix.shape[1] <= min(_FEW_COLUMNS, matrix.shape[0])


def leading_axes(products: npt.NDArray[np.float64], width: int) -> FloatArray:
    """The leading eigenvectors of the products of all columns with each other, `width` at most."""
    values, axes = eigh(products)
    kept = values[::-1][:width] > 1e-10 * max(values[-1], 1e-30)
    return definite_signs(axes[:, ::-1][:, :width][:, kept])


def gram(matrix: FloatArray) -> npt.NDArray[np.float64]:
    """The products of all columns with each other, some rows at a time."""
    parts = each_block(lambda rows: matrix[rows].T @ matrix[rows], len(matrix))
    return np.sum(parts, axis=0, dtype=np.float64)


def definite_signs(axes: FloatArray) -> FloatArray:
    """Columns turned so that the largest entry of each is positive; decompositions leave the signs open."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return np.ascontiguousarray(axes * np.where(largest < 0, -1, 1), np.float32)


def _orthonormal(block: FloatArray) -> FloatArray:
    """An orthonormal basis of tall columns by their Gram matrix, twice: as good as QR here, and all products."""
    for _ in range(2):
        values, axes = eigh((block.T @ block).astype(np.float64))
        kept = values > 1e-10 * max(values[-1], 1e-30)
        block = block @ (axes[:, kept] / np.sqrt(values[kept])).astype(np.float32)
    return block
