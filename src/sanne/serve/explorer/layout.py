"""Where nodes are on the map: t-SNE of a sample, the others near those that they resemble."""

import contextlib
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]

from sanne.draw.reduce import tsne_points
from sanne.evaluate.clustering import find_communities
from sanne.seeds import numpy_stream
from sanne.vectors.search import best_rows

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Colours = npt.NDArray[np.uint16]
Progress = Callable[[float], None]

FITTED_AT_MOST = 20_000  # nodes that t-SNE sees
DRAWN_AT_MOST = 200_000  # nodes on the map
COMMUNITIES = 8
_BLOCK = 512  # rows compared with the reference together
_NEIGHBOURS = 9
_NICE = 5  # the layout has a lower priority than requests


def drawn_rows(count: int, seed: int) -> Rows:
    """The rows on the map in random order: any first part of them is a random sample, and t-SNE's come first."""
    return numpy_stream(seed, "plot").permutation(count)[:DRAWN_AT_MOST].astype(np.int64)


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


def lay_out(reference: Floats, others: Floats, seed: int, report: Progress) -> tuple[Floats, Colours]:
    """Points and communities, those of the reference first."""
    communities = find_communities(reference, min(COMMUNITIES, len(reference)), num_starts=2, seed=seed)
    points = np.asarray(tsne_points(reference, seed, report), np.float32)
    others_in = communities[nearest(reference, others, 1)[0][:, 0]]
    return (
        np.concatenate([points, between(reference, points, others)]),
        np.concatenate([communities, others_in]).astype(np.uint16),
    )


def lay_out_apart(server: Connection, seed: int) -> None:
    """The same in a process of low priority: receives the nodes, sends its progress and then the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with threadpoolctl.threadpool_limits(1), contextlib.suppress(BrokenPipeError):  # the server is gone
        reference, others = server.recv()
        server.send(lay_out(reference, others, seed, server.send))
