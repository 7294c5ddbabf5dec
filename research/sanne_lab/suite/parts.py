"""What the closed forms are made of: arrays in, arrays out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def tfidf(counts: Any, present: npt.NDArray[np.bool_]) -> Any:
    """Rows of length one of (1 + log count) * idf; idf by the present nodes."""
    rows = counts.tocsr().astype(np.float32)
    known = rows[np.flatnonzero(present)]
    frequency = np.bincount(known.indices, minlength=rows.shape[1])
    idf = np.log((1 + known.shape[0]) / (1 + frequency)) + 1.0
    data = (1 + np.log(np.maximum(rows.data, 1))) * idf[rows.indices]
    weighted = sp.csr_matrix((data.astype(np.float32), rows.indices, rows.indptr), rows.shape)
    return unit_sparse(weighted)


def unit_sparse(rows: Any) -> Any:
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sp.diags((1 / np.maximum(length, 1e-12)).astype(np.float32)) @ rows).tocsr().astype(np.float32)


def spread(adjacency: Any) -> Any:
    """D^-1/2 (A + I) D^-1/2."""
    matrix = adjacency + sp.identity(adjacency.shape[0], dtype=np.float32, format="csr")
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    scale = sp.diags((degree**-0.5).astype(np.float32))
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


def standardised(columns: Any, present: npt.NDArray[np.bool_]) -> Floats:
    """Every column with mean 0 and deviation 1 over the present nodes."""
    among = columns[present]
    spread = among.std(axis=0)
    return ((columns - among.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def level(rows: Floats) -> Floats:
    """Scaled so that a row has length one in the mean square."""
    return rows / np.float32(max(np.sqrt(np.mean(np.einsum("ij,ij->i", rows, rows))), 1e-12))


def ridge_r2(tokens: Floats, targets: Floats, fitted: Ints, left_out: Ints) -> float:
    """R2 on nodes left out of a ridge regression from tokens to targets, at the strength that is best for them.

    Strengths are in percent of the mean diagonal of the centred Gram matrix.
    """
    x, y = tokens[fitted], targets[fitted]
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    gram = (x.T @ x).astype(np.float64) - len(x) * np.outer(mean_x, mean_x)
    cross = (x.T @ y).astype(np.float64) - len(x) * np.outer(mean_x, mean_y)
    percent = float(np.trace(gram)) / len(gram) / 100 + 1e-9
    test, truth = tokens[left_out] - mean_x, targets[left_out] - mean_y
    errors = []
    for strength in 10.0 ** np.arange(0, 4.1, 0.5):
        system = gram + strength * percent * np.identity(len(gram))
        weights = cho_solve(cho_factor(system, overwrite_a=True), cross).astype(np.float32)
        errors.append(np.square(truth - test @ weights).sum())
    return float(1 - min(errors) / np.square(truth).sum())
