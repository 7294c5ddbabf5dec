"""Vectors in two dimensions: principal components, then t-SNE; placing further vectors on the map."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import import_extra
from sanne.seeds import derived_seed
from sanne.vectors.normalise import unit

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[Any]  # float32 or float64; results have the type of the vectors

FEWEST = 10  # points; t-SNE needs this many
WIDTH = 50  # principal axes that t-SNE reads
SMALLEST_EXTENT = 1e-5  # points closer together than this differ only by rounding
FITTED_AT_MOST = 100_000  # points that t-SNE sees; others are placed between them
_ATTRACTED = 15  # neighbours that t-SNE pulls together
_FEW, _PERPLEXITY = 500, 30.0  # points, below which t-SNE weighs neighbours by distance, with this perplexity
_STEPS_A_REPORT = 25
_MANY = 10_000  # points, from which t-SNE interpolates forces on a grid and takes half as many steps
_NEIGHBOURS = 9
_CELL, _CELLS = 250, 12  # rows in a part of the reference, and parts that are looked at, for many rows


class PrincipalAxes:
    """Projects directions of vectors on the first principal axes of a sample."""

    def __init__(self, sample: Floats) -> None:
        """The first axes of these vectors, with signs that do not depend on the solver."""
        directions = unit(sample)
        self._mean = directions.mean(axis=0)
        axes = np.linalg.eigh((directions - self._mean).T @ (directions - self._mean))[1][:, ::-1][:, :WIDTH]
        signs = np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
        self._axes = (axes * signs).astype(sample.dtype)

    def __call__(self, vectors: Floats) -> Floats:
        parts = np.array_split(vectors, len(vectors) // _MANY + 1)
        return np.concatenate([(unit(np.asarray(part, self._axes.dtype)) - self._mean) @ self._axes for part in parts])


def lay_out(reduced: Floats, seed: int, progress: Callable[[float], Any]) -> Floats:
    """A t-SNE map of rows in random order: of all, or of the first ones, with the others placed near similar rows.

    `progress` is called with the share of the work that is done.
    """
    points = tsne_points(reduced[:FITTED_AT_MOST], seed, progress)
    if len(reduced) <= FITTED_AT_MOST:
        return points
    return np.concatenate([points, between(reduced[:FITTED_AT_MOST], points, reduced[FITTED_AT_MOST:])])


def first_two(reduced: Floats) -> Floats:
    """Points on the first two axes; vectors of size one get a second coordinate of zero."""
    return np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))[:, :2]


def tsne_points(reduced: Floats, seed: int, progress: Callable[[float], Any]) -> Floats:
    """A t-SNE map, or the first two components where t-SNE cannot tell points apart; the same for the same seed."""
    count = len(reduced)
    if count < FEWEST or reduced.shape[1] < 2 or np.ptp(reduced[:, 0]) < SMALLEST_EXTENT:
        return first_two(reduced)
    many = count >= _MANY
    early, late = (125, 250) if many else (250, 500)
    calls = 0

    def report(iteration: int, error: float, embedding: Any) -> None:
        nonlocal calls
        calls += 1
        progress(min(1.0, calls * _STEPS_A_REPORT / (early + late)))

    # Equal weights for all neighbours: on 63,436 Debian packages this takes 40% of the time that a perplexity of 30
    # does, and packages have more neighbours of their own section. With few nodes the map would collapse.
    rows, state = np.asarray(reduced, np.float64), derived_seed(seed, "plot") % 2**31
    package = tsne_package()
    start = package.initialization.pca(rows, random_state=state)
    if count < _FEW:
        perplexity = min(_PERPLEXITY, (count - 1) / 3)
        pulls = package.affinity.PerplexityBasedNN(rows, perplexity=perplexity, random_state=state)
    else:
        pulls = package.affinity.Uniform(rows, k_neighbors=_ATTRACTED, random_state=state)
    tsne = package.TSNE(
        random_state=state,
        early_exaggeration_iter=early,
        n_iter=late,
        negative_gradient_method="fft" if many else "bh",
        theta=0.8,  # twice as fast as 0.5, without a visible difference
        n_jobs=1,  # more would make sums depend on the order of work
        callbacks=report,
        callbacks_every_iters=_STEPS_A_REPORT,
    )
    points = np.asarray(tsne.fit(affinities=pulls, initialization=start), np.float64)
    return points if np.isfinite(points).all() else first_two(reduced)


def tsne_package() -> Any:
    """The openTSNE package, if it is installed."""
    return import_extra("openTSNE", "plot", "a t-SNE map")


def nearest(reference: Floats, rows: Floats, count: int) -> tuple[Rows, Floats]:
    """For each row `count` nearest rows of the reference, and their distances, nearest first.

    For very many rows, only the parts of the reference around each are searched, so a near one may be missed.
    """
    if len(rows) <= _MANY:
        return _nearest_of_all(reference, rows, count)
    middles = reference[: len(reference) // _CELL + 1]
    home, homes = (_nearest_of_all(middles, some, 1)[0][:, 0] for some in (rows, reference))
    around = _nearest_of_all(middles, middles, _CELLS)[0]
    found = np.empty((len(rows), min(count, len(reference))), np.int64)
    distances = np.empty(found.shape, np.float32)
    for cell in np.unique(home).tolist():
        own, part = np.flatnonzero(home == cell), np.flatnonzero(np.isin(homes, around[cell]))
        near, distances[own] = _nearest_of_all(reference[part], rows[own], count)
        found[own] = part[near]
    return found, distances


def _nearest_of_all(reference: Floats, rows: Floats, count: int) -> tuple[Rows, Floats]:
    from sklearn.neighbors import NearestNeighbors  # takes a while to import, and few commands need it

    search = NearestNeighbors(n_neighbors=min(count, len(reference)), algorithm="brute").fit(reference)
    distances, found = search.kneighbors(rows)
    return found, distances


def between(reference: Floats, points: Floats, rows: Floats) -> Floats:
    """Points for new rows among those of their nearest neighbours; the map itself does not change.

    A weighted mean: neighbours count less the farther they are, and the farther their point is from the median point.
    """
    found, distances = nearest(reference, rows, _NEIGHBOURS)
    near = points[found]  # (rows, neighbours, 2)
    offsets = np.linalg.norm(near - np.median(near, axis=1, keepdims=True), axis=2)
    usual_distance, usual_offset = np.median(distances, axis=1), np.median(offsets, axis=1)
    weights = np.exp(-((distances / np.maximum(usual_distance, 1e-6)[:, None]) ** 2))
    weights *= np.exp(-((offsets / np.maximum(usual_offset, 1e-6)[:, None]) ** 2))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray((weights[:, :, None] * near).sum(axis=1), np.float32)
