"""The targets of the `distil` objective: features smoothed over the graph, and their clusters."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.config import ObjectiveConfig
from sanne.graph.graph import Adjacency, FloatArray
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit

_FIT_ROWS = 50_000  # rows that k-means is fitted on, at most
_ITERATIONS = 25


def smooth(adjacency: Adjacency, features: FloatArray, alpha: float, steps: int) -> FloatArray:
    """Personalised PageRank of the features: Z <- alpha X + (1 - alpha) S Z, S symmetric with self-loops."""
    spread = normalised(adjacency)
    smoothed = features
    for _ in range(steps):
        smoothed = (1 - alpha) * (spread @ smoothed) + alpha * features
    return smoothed.astype(np.float32)


def normalised(adjacency: Adjacency) -> Any:
    """D^-1/2 (A + I) D^-1/2 as a CSR matrix."""
    matrix = adjacency.to_scipy() + sp.identity(adjacency.num_nodes, dtype=np.float32, format="csr")
    out = np.asarray(matrix.sum(axis=1)).ravel()
    into = np.asarray(matrix.sum(axis=0)).ravel()
    return (sp.diags(out**-0.5) @ matrix @ sp.diags(into**-0.5)).tocsr().astype(np.float32)


def cluster_centres(smoothed: FloatArray, config: ObjectiveConfig, seed: int, scale: int) -> list[FloatArray]:
    """Centres (k, width) of every k-means run on one smoothed feature matrix; rows have length one."""
    stream = numpy_stream(seed, "cluster", scale)
    rows = unit(smoothed[np.any(smoothed != 0, axis=1)])
    if len(rows) == 0:
        rows = np.eye(1, smoothed.shape[1], dtype=np.float32)
    if len(rows) > _FIT_ROWS:
        rows = rows[stream.choice(len(rows), _FIT_ROWS, replace=False)]
    return [
        spherical_kmeans(rows, size, numpy_stream(seed, "cluster", scale, size, start))
        for size in config.cluster_sizes
        for start in range(config.cluster_seeds)
    ]


def spherical_kmeans(rows: FloatArray, count: int, stream: np.random.Generator) -> FloatArray:
    """Centres (count, width) of rows of length one by cosine; fewer rows than centres gives repeated centres."""
    centres = _spread_out(rows, count, stream)
    assigned = np.full(len(rows), -1)
    for _ in range(_ITERATIONS):
        nearest = np.argmax(rows @ centres.T, axis=1)
        if np.array_equal(nearest, assigned):
            break
        assigned = nearest
        member = sp.csr_matrix((np.ones(len(rows), np.float32), (assigned, np.arange(len(rows)))), (count, len(rows)))
        total = member @ rows
        used = np.linalg.norm(total, axis=1) > 1e-9
        centres[used] = unit(total[used])
    return centres


def _spread_out(rows: FloatArray, count: int, stream: np.random.Generator) -> FloatArray:
    """k-means++: each next centre is a row drawn in proportion to its distance from the nearest one so far."""
    chosen = [int(stream.integers(len(rows)))]
    distance = 1.0 - rows @ rows[chosen[0]]
    for _ in range(count - 1):
        mass = np.cumsum(np.maximum(distance, 0.0), dtype=np.float64)
        if mass[-1] > 1e-9:
            pick = min(int(np.searchsorted(mass, stream.random() * mass[-1], side="right")), len(rows) - 1)
        else:
            pick = int(stream.integers(len(rows)))
        chosen.append(pick)
        distance = np.minimum(distance, 1.0 - rows @ rows[pick])
    return rows[chosen].copy()
