"""Vectors for nodes that came after training, from those of their neighbours: for systems that only know ids."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne_lab.baselines.interface import Snapshot, kept


def linked(graph: Graph) -> npt.NDArray[np.bool_]:
    """Which nodes have an edge at all."""
    found: npt.NDArray[np.bool_] = np.diff(graph.adjacency("both").indptr) > 0
    return found


def fill_unlinked(graph: Graph, vectors: FloatArray) -> FloatArray:
    """The vectors, where nodes without edges have the mean of the others: nothing was learnt about them."""
    known = linked(graph)
    filled = vectors.copy()
    filled[~known] = vectors[known].mean(axis=0) if known.any() else 0.0
    return filled


def fit_known(train: Callable[[], FloatArray], graph: Graph, consider: Callable[[Snapshot], None]) -> float:
    """Train vectors of the nodes that are there, hand them over; new nodes get their neighbours' mean. The seconds."""
    started = time.perf_counter()
    vectors = train()
    seconds = time.perf_counter() - started

    def new(larger: Graph, nodes: IntArray) -> FloatArray:
        return neighbours_mean(graph, vectors, larger, nodes)

    consider(Snapshot(0, present=kept(vectors), new=new))
    return seconds


def neighbours_mean(graph: Graph, vectors: FloatArray, larger: Graph, nodes: IntArray) -> FloatArray:
    """Vectors of nodes of a larger graph: present ones keep theirs, new ones take their known neighbours' mean.

    A new node whose neighbours are all new waits until one of them has a vector; one that no path leads to from
    a present node gets the mean of all. A present node without edges in training is no source: its own vector
    says nothing.
    """
    places = larger.nodes_of(graph.node_ids)
    filled = np.tile(vectors.mean(axis=0), (larger.num_nodes, 1)).astype(np.float32)
    filled[places] = vectors
    known = np.zeros(larger.num_nodes, bool)
    known[places[linked(graph)]] = True
    waiting = np.ones(larger.num_nodes, bool)
    waiting[places] = False
    arcs = larger.adjacency("both").to_scipy()
    while True:
        rows = np.flatnonzero(waiting)
        mean, reached = _mean_over_known(arcs[rows], filled, known)
        if not reached.any():
            return filled[nodes]
        filled[rows[reached]] = mean[reached]
        known[rows[reached]] = True
        waiting[rows[reached]] = False


def _mean_over_known(
    arcs: Any, vectors: FloatArray, known: npt.NDArray[np.bool_]
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """The weighted mean of each row's known neighbours, and which rows have one."""
    arcs = arcs @ sp.diags(known.astype(np.float32))
    total = np.asarray(arcs.sum(axis=1)).ravel()
    mean: FloatArray = (arcs @ vectors) / np.maximum(total, 1e-12)[:, None]
    return mean, total > 0
