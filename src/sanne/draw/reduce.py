"""Vectors in two dimensions: principal axes, then t-SNE, with the settings of both; places for further vectors."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.errors import import_extra
from sanne.seeds import derived_seed
from sanne.vectors.normalise import unit
from sanne.vectors.search import best_rows

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[Any]  # float32 or float64; results have the type of the vectors

FEWEST = 10  # points; below, t-SNE has no neighbourhoods
WIDTH = 50  # principal axes that t-SNE reads
SMALLEST_EXTENT = 1e-5  # points closer together than this differ by rounding only
_PERPLEXITY = 30.0
_STEPS_A_REPORT = 25
_MANY = 10_000  # points, from which t-SNE interpolates forces on a grid and takes half as many steps
_BLOCK = 512  # rows compared with the reference together
_NEIGHBOURS = 9


class PrincipalAxes:
    """Projects directions of vectors on the first principal axes of a sample."""

    def __init__(self, mean: Floats, axes: Floats) -> None:
        self._mean = mean
        self._axes = axes

    @classmethod
    def of(cls, vectors: Floats, count: int = WIDTH) -> Self:
        """The first axes of these vectors, with signs that do not depend on the solver."""
        directions = unit(vectors)
        mean = directions.mean(axis=0)
        axes = np.linalg.eigh((directions - mean).T @ (directions - mean))[1][:, ::-1][:, :count]
        signs = np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
        return cls(mean, (axes * signs).astype(vectors.dtype))

    def __call__(self, vectors: Floats) -> Floats:
        return np.asarray((unit(vectors) - self._mean) @ self._axes)


def first_two(reduced: Floats) -> Floats:
    """Points on the first two axes; vectors of size one get a second coordinate of zero."""
    return np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))[:, :2]


def tsne_points(reduced: Floats, seed: int, progress: Callable[[float], None] | None = None) -> Floats:
    """A t-SNE map, or the first two axes where t-SNE cannot tell points apart; the same for the same seed.

    `progress` is called with the share of the work that is done.
    """
    count = len(reduced)
    if count < FEWEST or reduced.shape[1] < 2 or np.ptp(reduced[:, 0]) < SMALLEST_EXTENT:
        return first_two(reduced)
    many = count >= _MANY
    early, late = (125, 250) if many else (250, 500)
    calls = 0

    def report(iteration: int, error: float, embedding: Any) -> None:
        nonlocal calls
        calls += 1
        assert progress is not None
        progress(min(1.0, calls * _STEPS_A_REPORT / (early + late)))

    tsne = tsne_package().TSNE(
        perplexity=min(_PERPLEXITY, (count - 1) / 3),
        initialization="pca",
        random_state=derived_seed(seed, "plot") % 2**31,
        early_exaggeration_iter=early,
        n_iter=late,
        negative_gradient_method="fft" if many else "bh",
        theta=0.8,  # twice as fast as 0.5, and the eye sees no difference
        n_jobs=1,  # with more, the sums change with the order of work
        callbacks=None if progress is None else report,
        callbacks_every_iters=_STEPS_A_REPORT,
    )
    points = np.asarray(tsne.fit(np.asarray(reduced, np.float64)), np.float64)
    return points if np.isfinite(points).all() else first_two(reduced)


def tsne_package() -> Any:
    """The openTSNE package, if it is installed."""
    return import_extra("openTSNE", "plot", "a t-SNE map")


def nearest(reference: Floats, rows: Floats, count: int) -> tuple[Rows, Floats]:
    """For each row the `count` nearest rows of the reference, and their distances, nearest first."""
    count = min(count, len(reference))
    squares = (reference**2).sum(axis=1)
    found = np.empty((len(rows), count), np.int64)
    distances = np.empty((len(rows), count), np.float32)
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK]
        scores = squares - 2 * (block @ reference.T)
        near = np.array([best_rows(-row, count) for row in scores])
        square = np.take_along_axis(scores, near, 1) + (block**2).sum(axis=1, keepdims=True)
        found[first : first + _BLOCK] = near
        distances[first : first + _BLOCK] = np.sqrt(np.maximum(square, 0))
    return found, distances


def between(reference: Floats, points: Floats, rows: Floats) -> Floats:
    """Points for rows among those of their nearest neighbours, most of which are close together; the map stays.

    A weighted mean: less the farther a neighbour is, and the farther its point is from the median of the points.
    """
    found, distances = nearest(reference, rows, _NEIGHBOURS)
    near = points[found]  # (rows, neighbours, 2)
    offsets = np.linalg.norm(near - np.median(near, axis=1, keepdims=True), axis=2)
    usual_distance, usual_offset = np.median(distances, axis=1), np.median(offsets, axis=1)
    weights = np.exp(-((distances / np.maximum(usual_distance, 1e-6)[:, None]) ** 2))
    weights *= np.exp(-((offsets / np.maximum(usual_offset, 1e-6)[:, None]) ** 2))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray((weights[:, :, None] * near).sum(axis=1), np.float32)
