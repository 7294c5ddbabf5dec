"""Where nodes are on the map: t-SNE of a sample, the others near those that they resemble."""

import contextlib
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np
import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]

from sanne.draw.reduce import between, tsne_points
from sanne.seeds import numpy_stream

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Progress = Callable[[float], None]

FITTED_AT_MOST = 20_000  # nodes that t-SNE sees
DRAWN_AT_MOST = 1_000_000  # nodes on the map
_NICE = 5  # the layout has a lower priority than requests


def drawn_rows(count: int, seed: int) -> Rows:
    """The rows on the map in random order: any first part of them is a random sample, and t-SNE's come first."""
    return numpy_stream(seed, "plot").permutation(count)[:DRAWN_AT_MOST].astype(np.int64)


def lay_out(reference: Floats, others: Floats, seed: int, report: Progress) -> Floats:
    """Points, those of the reference first."""
    points = np.asarray(tsne_points(reference, seed, report), np.float32)
    return np.concatenate([points, between(reference, points, others)])


def lay_out_apart(server: Connection, seed: int) -> None:
    """The same in a process of low priority: receives the nodes, sends its progress and then the result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with threadpoolctl.threadpool_limits(1), contextlib.suppress(BrokenPipeError):  # the server is gone
        reference, others = server.recv()
        server.send(lay_out(reference, others, seed, server.send))
