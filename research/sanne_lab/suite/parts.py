"""The closed-form parts that recipes and baselines are made of: arrays in, arrays out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, eigh

from sanne_lab.suite.graphs import Floats


def tfidf(counts: Any, present: npt.NDArray[np.bool_], power: float = 1.0) -> Any:
    """Rows of length one of (1 + log count) * idf ** power; idf by the present nodes."""
    rows = counts.tocsr().astype(np.float32)
    known = rows[np.flatnonzero(present)]
    frequency = np.bincount(known.indices, minlength=rows.shape[1])
    idf = (np.log((1 + known.shape[0]) / (1 + frequency)) + 1.0) ** power
    data = (1 + np.log(np.maximum(rows.data, 1))) * idf[rows.indices]
    weighted = sp.csr_matrix((data.astype(np.float32), rows.indices, rows.indptr), rows.shape)
    return unit_sparse(weighted)


def unit_sparse(rows: Any) -> Any:
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sp.diags((1 / np.maximum(length, 1e-12)).astype(np.float32)) @ rows).tocsr().astype(np.float32)


def components(matrix: Any, width: int, seed: int, passes: int = 4, spare: int = 24) -> tuple[Floats, Floats]:
    """The leading right singular vectors (columns, width) and singular values of a sparse or dense matrix."""
    width = min(width, *matrix.shape)
    block = min(width + spare, *matrix.shape)
    stream = np.random.default_rng(seed)
    basis = matrix @ stream.standard_normal((matrix.shape[1], block)).astype(np.float32)
    transposed = matrix.T.tocsr() if sp.issparse(matrix) else matrix.T
    for _ in range(passes):
        basis = matrix @ (transposed @ orthonormal(basis))
    basis = orthonormal(basis)
    small = np.asarray(transposed @ basis)  # (columns, block)
    left, values, _ = _thin(small)
    return np.ascontiguousarray(left[:, :width]), values[:width]


def orthonormal(block: Floats) -> Floats:
    """An orthonormal basis of tall columns by their Gram matrix, twice: as good as QR here, and all products."""
    for _ in range(2):
        moments = (block.T @ block).astype(np.float64)
        values, axes = eigh(moments)
        kept = values > 1e-10 * max(values[-1], 1e-30)
        block = block @ (axes[:, kept] / np.sqrt(values[kept])).astype(np.float32)
    return block


def _thin(block: Floats) -> tuple[Floats, Floats, Floats]:
    """SVD of tall columns by their Gram matrix, largest first."""
    values, axes = eigh((block.T @ block).astype(np.float64))
    values, axes = np.maximum(values[::-1], 1e-20), axes[:, ::-1]
    left = block @ (axes / np.sqrt(values)).astype(np.float32)
    return left.astype(np.float32), np.sqrt(values).astype(np.float32), axes.astype(np.float32)


def spread(adjacency: Any, loops: bool = True) -> Any:
    """D^-1/2 (A + I) D^-1/2; without loops rows of isolated nodes are zero."""
    matrix = adjacency + sp.identity(adjacency.shape[0], dtype=np.float32, format="csr") if loops else adjacency
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    scale = sp.diags(np.where(degree > 0, np.maximum(degree, 1e-12) ** -0.5, 0).astype(np.float32))
    return (scale @ matrix @ scale).tocsr().astype(np.float32)


def restarted(operator: Any, rows: Floats, restarts: Sequence[float], steps: int) -> list[Floats]:
    """Personalised PageRank of the rows for several restarts, which share their products.

    Z_r = sum_{k < steps} r (1 - r)^k S^k X + (1 - r)^steps S^steps X; restart 1 is X itself.
    """
    sums = [np.float32(r) * rows for r in restarts]
    power = rows
    for k in range(1, steps + 1):
        power = operator @ power
        for total, r in zip(sums, restarts, strict=True):
            weight = (1 - r) ** steps if k == steps else r * (1 - r) ** k
            if weight > 1e-6:
                total += np.float32(weight) * power
    return sums


def unit(rows: Floats) -> Floats:
    """Rows of length one; zero rows stay zero."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return (rows / np.maximum(length, 1e-12)).astype(np.float32)


def level(rows: Floats, present: npt.NDArray[np.bool_] | None = None) -> Floats:
    """Scaled so that a present row has length one in the mean square."""
    among = rows if present is None else rows[present]
    return rows / np.float32(max(np.sqrt(np.mean(np.einsum("ij,ij->i", among, among))), 1e-12))


def principal(rows: Floats, present: npt.NDArray[np.bool_], width: int, centre: bool = False) -> Floats:
    """Rows turned to their principal axes, the first `width` of them."""
    among = rows[present]
    mean = among.mean(axis=0) if centre else np.zeros(rows.shape[1], np.float32)
    moments = among.T.astype(np.float32) @ among - len(among) * np.outer(mean, mean)
    _, axes = eigh(moments.astype(np.float64))
    return (rows - mean) @ axes[:, ::-1][:, :width].astype(np.float32)


STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)


def ridge(
    tokens: Floats, targets: Floats, fitted: npt.NDArray[Any], left_out: npt.NDArray[Any]
) -> tuple[Floats, Floats, float, float, npt.NDArray[np.float64]]:
    """Weights and intercept from tokens to targets, the strength by R2 on nodes left out, that R2, and by column.

    Strengths are in percent of the mean diagonal of the centred Gram matrix.
    """
    x, y = tokens[fitted], targets[fitted]
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    gram = (x.T @ x).astype(np.float64) - len(x) * np.outer(mean_x, mean_x)
    cross = (x.T @ y).astype(np.float64) - len(x) * np.outer(mean_x, mean_y)
    unit_strength = float(np.trace(gram)) / len(gram) / 100 + 1e-9
    test, truth = tokens[left_out] - mean_x, targets[left_out] - mean_y
    total = np.square(truth).sum(axis=0)
    tried: dict[float, tuple[float, Any, Any]] = {}

    def attempt(strength: float) -> float:
        if strength not in tried:
            system = gram.copy()
            system[np.diag_indices_from(system)] += strength * unit_strength
            weights = cho_solve(cho_factor(system, overwrite_a=True), cross).astype(np.float32)
            error = np.square(truth - test @ weights).sum(axis=0)
            by_column = 1 - error / np.maximum(total, 1e-12)
            tried[strength] = (float(1 - error.sum() / total.sum()), weights, by_column)
        return tried[strength][0]

    best = max(STRENGTHS, key=attempt)
    best = max((best, best * 10**0.5, best / 10**0.5), key=attempt)
    score, weights, by_column = tried[best]
    return weights, (mean_y - mean_x @ weights).astype(np.float32), best, score, by_column
