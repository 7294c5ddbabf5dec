"""Read a scipy sparse adjacency matrix as a graph."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import LARGEST_WEIGHT, SMALLEST_WEIGHT, Graph, usable_weights


def read_scipy(matrix: Any, *, weight: str | bool | None = None, directed: bool = False) -> Graph:
    """The graph of a square matrix: an entry (i, j) is an edge from i to j; ids are 0..n-1.

    Stored zeros are no edges. The values are weights unless all are 1; `weight` says so either way.
    Undirected, (i, j) and (j, i) are one edge, with the larger of the two weights.
    """
    entries = sp.coo_matrix(matrix)
    if entries.shape[0] != entries.shape[1]:
        raise InputError(f"an adjacency matrix is square, not {entries.shape[0]} x {entries.shape[1]}")
    if entries.dtype.kind not in "iufb":
        raise InputError(f"an adjacency matrix holds numbers, not {entries.dtype}")
    stored = entries.data != 0
    rows, columns, values = entries.row[stored], entries.col[stored], entries.data[stored].astype(np.float64)
    use = bool((values != 1).any()) if weight is None else bool(weight)
    bad = np.flatnonzero(~usable_weights(values))
    if use and len(bad):
        first = int(bad[0])
        raise InputError(
            f"entry ({rows[first]}, {columns[first]}) of the adjacency matrix is {values[first]:g}; "
            f"an edge weight is a positive number, from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: "
            "correct it or leave the entry out"
        )
    ids = np.arange(entries.shape[0])
    return Graph.from_edges(rows, columns, values if use else None, node_ids=ids, directed=directed)
