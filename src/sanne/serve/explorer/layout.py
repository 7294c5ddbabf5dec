"""Where nodes stand on the map: t-SNE of a sample, the others beside those that they are like.

t-SNE takes a while, so that the server runs this file as a process of its own:
`python -m sanne.serve.explorer.layout FOLDER` reads `reference.npy` and `others.npy` there, prints how far it is, and
writes `points.npy` and `communities.npy`.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.draw.reduce import tsne_package
from sanne.evaluate.clustering import find_communities
from sanne.seeds import derived_seed, numpy_stream

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Progress = Callable[[float], None]

FITTED_AT_MOST = 20_000  # nodes that t-SNE sees
DRAWN_AT_MOST = 200_000  # nodes on the map
COMMUNITIES = 8
FEWEST = 10  # nodes; below, t-SNE has no neighbourhoods
_WIDTH = 50  # principal axes that neighbours are looked for in
_BLOCK = 512  # rows compared with the reference together
_PERPLEXITY, _NEIGHBOURS = 30.0, 15
_ALIKE = 1e-5  # an extent below which there is none, but for the rounding of numbers
_STEPS = 150  # of a newcomer to its place ...
_ROOM = 0.5  # ... on which it gets no further than this part of half the map
_CELLS = 150  # of the grid for newcomers, in either direction
_CALLS = 30  # of progress, over t-SNE's 750 steps


def drawn_rows(count: int, seed: int) -> Rows:
    """The rows on the map in random order, so that any first part of them is a fair sample; t-SNE's come first."""
    return numpy_stream(seed, "plot").permutation(count)[:DRAWN_AT_MOST].astype(np.int64)


class Reduction:
    """Directions of vectors on their first principal axes."""

    def __init__(self, mean: Floats, axes: Floats) -> None:
        self._mean = mean
        self._axes = axes

    @classmethod
    def of(cls, vectors: Floats) -> Self:
        """The axes of these vectors."""
        units = _directions(vectors)
        mean = units.mean(axis=0)
        axes = np.linalg.eigh((units - mean).T @ (units - mean))[1][:, ::-1][:, :_WIDTH]
        signs = np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)
        return cls(mean, np.asarray(axes * signs, np.float32))

    def __call__(self, vectors: Floats) -> Floats:
        return np.asarray((_directions(vectors) - self._mean) @ self._axes, np.float32)


def _directions(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def flat_points(reduced: Floats) -> Floats:
    """The first two axes: a map that is there at once."""
    wide = np.pad(reduced, ((0, 0), (0, max(0, 2 - reduced.shape[1]))))
    return centred(wide[:, :2])


def centred(points: npt.ArrayLike) -> Floats:
    """Points around the middle of their frame, as openTSNE wants them when others are placed among them."""
    array = np.asarray(points, np.float64)
    return np.asarray(array - (array.max(axis=0) + array.min(axis=0)) / 2, np.float32)


def tsne_points(reference: Floats, seed: int, progress: Progress) -> Floats:
    """A t-SNE map, or two axes where t-SNE can tell nothing apart."""
    count = len(reference)
    if count < FEWEST or reference.shape[1] < 2 or np.ptp(reference[:, 0]) < _ALIKE:
        return flat_points(reference)
    calls = 0

    def report(iteration: int, error: float, embedding: Any) -> None:
        nonlocal calls
        calls += 1
        progress(min(1.0, calls / _CALLS))

    tsne = tsne_package().TSNE(
        perplexity=min(_PERPLEXITY, (count - 1) / 3),
        initialization="pca",
        random_state=derived_seed(seed, "plot") % 2**31,
        theta=0.8,  # twice as fast as 0.5, and the eye sees no difference
        n_jobs=1,
        callbacks=report,
        callbacks_every_iters=25,
    )
    points = centred(tsne.fit(np.asarray(reference, np.float64)))
    return points if np.isfinite(points).all() else flat_points(reference)


def nearest(reference: Floats, rows: Floats, count: int) -> tuple[Rows, Floats]:
    """For each row the `count` nearest rows of the reference, and their distances, nearest first."""
    count = min(count, len(reference))
    squares = (reference**2).sum(axis=1)
    found = np.empty((len(rows), count), np.int64)
    distances = np.empty((len(rows), count), np.float32)
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK]
        scores = squares - 2 * (block @ reference.T)
        near = np.argpartition(scores, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(scores, near, 1), axis=1, kind="stable")
        near = np.take_along_axis(near, order, 1)
        square = np.take_along_axis(scores, near, 1) + (block**2).sum(axis=1, keepdims=True)
        found[first : first + _BLOCK] = near
        distances[first : first + _BLOCK] = np.sqrt(np.maximum(square, 0))
    return found, distances


def between(reference: Floats, points: Floats, rows: Floats) -> Floats:
    """Points for rows at the weighted mean of the points of those they are nearest to: quick, for very many."""
    found, distances = nearest(reference, rows, _NEIGHBOURS)
    scale = np.maximum(distances[:, [min(4, distances.shape[1] - 1)]], 1e-6)
    weights = np.exp(-((distances / scale) ** 2))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray((weights[:, :, None] * points[found]).sum(axis=1), np.float32)


class Placer:
    """Puts newcomers on a map that stays as it is, by openTSNE where it is a t-SNE map of some extent."""

    def __init__(self, reference: Floats, points: Floats, *, tsne: bool) -> None:
        self._reference = reference
        self._points = points
        self._half = float(np.abs(points).max())
        narrow = np.ptp(points, axis=0).min() < max(0.01 * self._half, _ALIKE)
        self._map = None if not tsne or narrow or len(reference) < FEWEST else _tsne_map(reference, points)

    def __call__(self, rows: Floats) -> Floats:
        """(count, 2) for (count, width); not for two threads at once."""
        if len(rows) == 0:
            return np.empty((0, 2), np.float32)
        if self._map is None:
            return between(self._reference, self._points, rows)
        # Beyond its grid openTSNE reads memory that is not its own: with steps this short nobody gets there.
        longest = _ROOM * self._half / _STEPS
        placed = self._map.transform(rows, perplexity=_NEIGHBOURS / 3, n_iter=_STEPS, max_step_norm=longest)
        return np.asarray(placed, np.float32)


def _tsne_map(reference: Floats, points: Floats) -> Any:
    """openTSNE's own map, made again from the points, with neighbours found exactly."""
    import scipy.sparse as sp

    package = tsne_package()

    class Exact(package.affinity.Affinities):  # type: ignore[misc, name-defined]
        """Affinities of newcomers to the nodes of the map; those among the nodes are no longer needed."""

        def __init__(self) -> None:
            super().__init__()
            self.P = sp.csr_matrix((len(reference), len(reference)))

        def to_new(self, data: Any, perplexity: float = 5, return_distances: bool = False) -> Any:
            found, distances = nearest(reference, np.asarray(data, np.float32), int(3 * perplexity))
            affinities = package.affinity.joint_probabilities_nn(
                found,
                distances,
                [min(perplexity, found.shape[1] / 3)],
                symmetrize=False,
                normalization="point-wise",
                n_reference_samples=len(reference),
            )
            return (affinities, found, distances) if return_distances else affinities

    half = float(np.abs(points).max())
    remade = package.TSNEEmbedding(
        np.asarray(points, np.float64),
        Exact(),
        negative_gradient_method="fft",  # its grid is made once: a newcomer is placed within some 30 ms
        n_interpolation_points=3,
        min_num_intervals=50,
        ints_in_interval=max(1.0, 4 * half / _CELLS),
        dof=1,
        n_jobs=1,
    )
    remade.prepare_interpolation_grid(padding=2.0)  # as much room again on every side
    return remade


def lay_out(folder: Path, seed: int, report: Progress) -> None:
    """Give the nodes of a folder their points and communities."""
    reference, others = np.load(folder / "reference.npy"), np.load(folder / "others.npy")
    communities = find_communities(reference, min(COMMUNITIES, len(reference)), num_starts=2, seed=seed)
    points = tsne_points(reference, seed, report)
    np.save(folder / "points.npy", np.concatenate([points, between(reference, points, others)]))
    others_in = communities[nearest(reference, others, 1)[0][:, 0]] if len(others) else communities[:0]
    np.save(folder / "communities.npy", np.concatenate([communities, others_in]).astype(np.uint16))


def main() -> None:
    """Lay out the nodes of a folder."""
    parent = os.getppid()

    def report(share: float) -> None:
        if os.getppid() != parent:
            sys.exit(1)  # nobody waits for this any more
        sys.stdout.write(f"{share:.3f}\n")  # what the server reads
        sys.stdout.flush()

    lay_out(Path(sys.argv[1]), int(sys.argv[2]), report)


if __name__ == "__main__":
    main()
