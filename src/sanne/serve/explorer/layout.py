"""Where nodes are on the map: t-SNE of a sample, the others near those that they resemble.

t-SNE takes a while, so the server runs this file in a process of its own: `python -m sanne.serve.explorer.layout
FOLDER SEED` reads `reference.npy` and `others.npy` there, prints its progress, and writes `points.npy` and
`communities.npy`.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.draw.reduce import FEWEST, SMALLEST_EXTENT, tsne_package, tsne_points
from sanne.evaluate.clustering import find_communities
from sanne.seeds import numpy_stream
from sanne.vectors.search import best_rows

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Progress = Callable[[float], None]

FITTED_AT_MOST = 20_000  # nodes that t-SNE sees
DRAWN_AT_MOST = 200_000  # nodes on the map
COMMUNITIES = 8
_BLOCK = 512  # rows compared with the reference together
_NEIGHBOURS = 15
_STEPS = 150  # of a new node to its place ...
_ROOM = 0.5  # ... on which it moves by at most this part of half the map
_CELLS = 150  # of the grid for new nodes, in either direction


def drawn_rows(count: int, seed: int) -> Rows:
    """The rows on the map in random order: any first part of them is a random sample, and t-SNE's come first."""
    return numpy_stream(seed, "plot").permutation(count)[:DRAWN_AT_MOST].astype(np.int64)


def centred(points: npt.ArrayLike) -> Floats:
    """Points around the middle of their frame, as openTSNE wants them when others are placed among them."""
    array = np.asarray(points, np.float64)
    return np.asarray(array - (array.max(axis=0) + array.min(axis=0)) / 2, np.float32)


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
    """Points for rows at the weighted mean of the points of their nearest neighbours: quick, for very many."""
    found, distances = nearest(reference, rows, _NEIGHBOURS)
    scale = np.maximum(distances[:, [min(4, distances.shape[1] - 1)]], 1e-6)
    weights = np.exp(-((distances / scale) ** 2))
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray((weights[:, :, None] * points[found]).sum(axis=1), np.float32)


class Placer:
    """Places new nodes on a map that does not move, with openTSNE if it is a t-SNE map of some extent."""

    def __init__(self, reference: Floats, points: Floats, *, tsne: bool) -> None:
        self._reference = reference
        self._points = points
        self._half = float(np.abs(points).max())
        narrow = np.ptp(points, axis=0).min() < max(0.01 * self._half, SMALLEST_EXTENT)
        self._map = None if not tsne or narrow or len(reference) < FEWEST else _tsne_map(reference, points)

    def __call__(self, rows: Floats) -> Floats:
        """(count, 2) for (count, width); not for two threads at once."""
        if len(rows) == 0:
            return np.empty((0, 2), np.float32)
        if self._map is None:
            return between(self._reference, self._points, rows)
        # Outside its grid openTSNE reads memory that is not its own: with steps this short no node gets there.
        longest = _ROOM * self._half / _STEPS
        placed = self._map.transform(rows, perplexity=_NEIGHBOURS / 3, n_iter=_STEPS, max_step_norm=longest)
        return np.asarray(placed, np.float32)


def _tsne_map(reference: Floats, points: Floats) -> Any:
    """openTSNE's map object, rebuilt from the points, with neighbours found exactly."""
    import scipy.sparse as sp

    package = tsne_package()

    class Exact(package.affinity.Affinities):  # type: ignore[misc, name-defined]
        """Affinities of new nodes to those of the map; affinities within the map are no longer needed."""

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
        negative_gradient_method="fft",  # its grid is made once: placing a node takes some 30 ms
        n_interpolation_points=3,
        min_num_intervals=50,
        ints_in_interval=max(1.0, 4 * half / _CELLS),
        dof=1,
        n_jobs=1,
    )
    remade.prepare_interpolation_grid(padding=2.0)  # as much room again on each side
    return remade


def lay_out(folder: Path, seed: int, report: Progress) -> None:
    """Compute points and communities for the nodes of a folder."""
    reference, others = np.load(folder / "reference.npy"), np.load(folder / "others.npy")
    communities = find_communities(reference, min(COMMUNITIES, len(reference)), num_starts=2, seed=seed)
    points = centred(tsne_points(reference, seed, report))
    np.save(folder / "points.npy", np.concatenate([points, between(reference, points, others)]))
    others_in = communities[nearest(reference, others, 1)[0][:, 0]] if len(others) else communities[:0]
    np.save(folder / "communities.npy", np.concatenate([communities, others_in]).astype(np.uint16))


def main() -> None:
    """Lay out the nodes of the folder given as the first argument."""
    parent = os.getppid()

    def report(share: float) -> None:
        if os.getppid() != parent:
            sys.exit(1)  # the server is gone
        sys.stdout.write(f"{share:.3f}\n")  # what the server reads
        sys.stdout.flush()

    lay_out(Path(sys.argv[1]), int(sys.argv[2]), report)


if __name__ == "__main__":
    main()
