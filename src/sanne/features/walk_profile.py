"""Where short walks from a node lead, as a vector: for nodes that have no attributes.

A row holds, for some well-linked nodes (landmarks), how much more often walks of 1 to `_STEPS` steps from a node come
there than chance would have it, as a logarithm: what DeepWalk's skip-gram factorises (Qiu et al. 2018, NetMF). Walks
are not drawn: their chances are read from the leading eigenvectors of the graph. An SVD of the rows gives the vectors.

A node that arrives later is described by its links to known nodes, through the same map: its walks go on from those.
Walks may also jump to any node, the more so where there are few links: else small components, each closed in itself,
would take up all leading eigenvectors.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils.extmath import randomized_svd

from sanne.errors import InputError
from sanne.features.links import KnownNodes
from sanne.features.text import checked_factor
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import derived_seed, numpy_stream
from sanne.vectors.normalise import unit

_RANK = 128  # eigenvectors
_STEPS = 5  # the longest walk
_JUMP = 0.1  # a node's weight on jumping anywhere, beside one for each of its links, in mean degrees
_DENSE = 512  # nodes; up to here all eigenvectors are computed
_TOLERANCE = 1e-3  # of eigenvalues
_LANDMARKS = 2048  # columns of the rows, at most: the nodes with most links
_FIT_ROWS = 16_384  # rows that the SVD is fitted on, at most
_BLOCK = 8192  # rows computed together


class WalkProfile:
    """A fitted map from a node's known neighbours to a dense vector (zero where none is known)."""

    def __init__(
        self, known: KnownNodes, places: FloatArray, landmarks: FloatArray, components: FloatArray, jump: float
    ) -> None:
        shapes = [part.shape for part in (places, landmarks, components)]
        if components.ndim != 2 or [shape[:1] for shape in shapes] != [(len(known),), *(s[1:] for s in shapes[:2])]:
            raise InputError(f"the parts of walk profiles of {len(known)} known nodes do not fit together: {shapes}")
        self._known = known
        self._places = places  # (known nodes, rank): eigenvectors, divided by the root of the degree
        self._landmarks = landmarks  # (rank, landmarks): how walks from each eigenvector spread
        self._components = components  # (landmarks, width)
        self._jump = jump
        self.width = int(components.shape[1])

    @classmethod
    def fit(cls, graph: Graph, width: int, seed: int) -> Self:
        """Find the leading eigenvectors, the landmarks, and the components of the rows."""
        known = KnownNodes(graph.node_ids.tolist())
        links = known.links(graph, None)
        degrees = np.asarray(links.sum(axis=1)).ravel()
        jump = _JUMP * max(float(degrees.mean()), 1e-9)
        roots = ((degrees + jump) ** -0.5).astype(np.float32)
        values, vectors = _leading(links, roots, jump, _RANK, seed)
        places = roots[:, None] * vectors
        spread = np.mean([values**step for step in range(_STEPS)], axis=0) * (degrees + jump).sum()
        chosen = np.argsort(-degrees, kind="stable")[:_LANDMARKS]
        landmarks = spread[:, None] * places[chosen].T
        parts = (np.ascontiguousarray(places, np.float32), np.ascontiguousarray(landmarks, np.float32))
        plain = cls(known, *parts, np.eye(len(chosen), 1, dtype=np.float32), jump)  # has rows, but no components yet
        sample = numpy_stream(seed, "features").permutation(len(degrees))[:_FIT_ROWS]
        rows = np.concatenate(list(plain._rows(links[np.sort(sample)])))
        rank = min(width, *rows.shape)
        _, _, axes = randomized_svd(rows, rank, n_iter=2, random_state=derived_seed(seed, "features") % 2**32)
        return cls(known, *parts, np.ascontiguousarray(axes.T, np.float32), jump)

    def transform(self, graph: Graph, nodes: IntArray | None) -> FloatArray:
        """Vectors of length one, (nodes, width); zeros for a node without known neighbours."""
        links = self._known.links(graph, nodes)
        return unit(np.concatenate([rows @ self._components for rows in self._rows(links)])).astype(np.float32)

    def _rows(self, links: Any) -> Iterator[npt.NDArray[np.float32]]:
        """Logarithms of how often walks come to the landmarks, against chance, some nodes at a time."""
        anywhere = self._places.mean(axis=0)
        for first in range(0, max(links.shape[0], 1), _BLOCK):
            block = links[first : first + _BLOCK]
            degrees = np.asarray(block.sum(axis=1))  # (nodes, 1)
            started = (block @ self._places + self._jump * anywhere) / (degrees + self._jump)  # (nodes, rank)
            rows = np.log(np.maximum(started.astype(np.float32) @ self._landmarks, 1.0))
            yield np.where(degrees > 0, rows, np.float32(0))

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        arrays = {"places": self._places, "landmarks": self._landmarks, "components": self._components}
        return {"known_ids": self._known.ids, "jump": self._jump}, arrays

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        known, jump = KnownNodes(description["known_ids"]), checked_factor(description["jump"])
        return cls(known, arrays["places"], arrays["landmarks"], arrays["components"], jump)


def _leading(links: Any, roots: FloatArray, jump: float, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues, negative ones as zero, and the eigenvectors of links and jumps between normalised nodes.

    The matrix is R (A + jump / n) R, with R the diagonal of `roots`; jumps are a product of two vectors.
    """
    n = len(roots)
    scaled = (sp.diags(roots) @ links @ sp.diags(roots)).tocsr().astype(np.float32)
    share = np.float32(jump / n)
    if n <= max(_DENSE, 2 * count):
        values, vectors = np.linalg.eigh(scaled.toarray() + share * np.outer(roots, roots))
    else:
        matrix = LinearOperator(
            (n, n), matvec=lambda x: scaled @ x.ravel() + share * roots * (roots @ x.ravel()), dtype=np.float32
        )
        start = numpy_stream(seed, "features", 1).normal(size=n).astype(np.float32)
        values, vectors = eigsh(matrix, count, which="LA", tol=_TOLERANCE, v0=start)
    largest = np.argsort(-values, kind="stable")[:count]
    return np.maximum(values[largest], 0), vectors[:, largest]
