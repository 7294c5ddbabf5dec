"""Vectors for nodes that have no attributes: where short walks from a node lead.

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
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils.extmath import randomized_svd

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.graph.csr import FloatArray, Graph, IntArray
from sanne.seeds import derived_seed, numpy_stream

_STEPS = 5  # the longest walk
_JUMP = 0.1  # a node's weight on jumping anywhere, beside one for each of its links, in mean degrees
_DENSE = 512  # nodes; up to here all eigenvectors are computed
_TOLERANCE = 1e-3  # of eigenvalues
_LANDMARKS = 2048  # columns of the rows, at most: the nodes with most links
_FIT_ROWS = 16_384  # rows that the SVD is fitted on, at most
_BLOCK = 8192  # rows computed together


class WalkProfile:
    """A fitted map from a node's known neighbours to a dense vector (zero where none is known)."""

    name = "structure"

    def __init__(
        self,
        known_ids: list[Any],
        places: FloatArray,
        landmarks: FloatArray,
        components: FloatArray,
        jump: float,
        feature_scale: float,
    ) -> None:
        _check_parts(known_ids, places, landmarks, components)
        self._known_ids = known_ids
        self._places = places  # (known nodes, rank): eigenvectors, divided by the root of the degree
        self._landmarks = landmarks  # (rank, landmarks): how walks from each eigenvector spread
        self._components = components  # (landmarks, width)
        self._jump = jump
        self._scale = feature_scale
        self.width = int(components.shape[1])

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Find the leading eigenvectors, the landmarks, and the components of the rows of a graph."""
        links = _links(graph)
        degrees = np.asarray(links.sum(axis=1)).ravel()
        jump = _JUMP * max(float(degrees.mean()), 1e-9)
        roots = ((degrees + jump) ** -0.5).astype(np.float32)
        values, vectors = _leading(links, roots, jump, config.feature_dim, seed)
        places = roots[:, None] * vectors
        spread = np.mean([values**step for step in range(_STEPS)], axis=0) * (degrees + jump).sum()
        chosen = np.argsort(-degrees, kind="stable")[:_LANDMARKS]
        landmarks = spread[:, None] * places[chosen].T
        fitted = cls(
            graph.node_ids.tolist(),
            np.ascontiguousarray(places, np.float32),
            np.ascontiguousarray(landmarks, np.float32),
            np.eye(len(chosen), 1, dtype=np.float32),  # until the rows are known
            jump,
            config.feature_scale,
        )
        sample = numpy_stream(seed, "features").permutation(graph.num_nodes)[:_FIT_ROWS]
        rows = np.concatenate(list(fitted._rows(links[np.sort(sample)])))
        rank = min(config.feature_dim, *rows.shape)
        _, _, axes = randomized_svd(rows, rank, n_iter=2, random_state=derived_seed(seed, "features") % 2**32)
        return cls(
            fitted._known_ids,
            fitted._places,
            fitted._landmarks,
            np.ascontiguousarray(axes.T, np.float32),
            jump,
            config.feature_scale,
        )

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width)."""
        links = _links(graph, nodes) @ _to_known(graph, self._known_ids)
        vectors = np.concatenate([rows @ self._components for rows in self._rows(links)])
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        result: FloatArray = (vectors * (self._scale / np.maximum(length, 1e-12))).astype(np.float32)
        return result

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
        """What must be saved: a JSON part and an array part."""
        description = {"known_ids": self._known_ids, "jump": self._jump, "feature_scale": self._scale}
        return description, {"places": self._places, "landmarks": self._landmarks, "components": self._components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        """The reverse of `state`."""
        return cls(
            description["known_ids"],
            arrays["places"],
            arrays["landmarks"],
            arrays["components"],
            float(description["jump"]),
            float(description["feature_scale"]),
        )


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


def _links(graph: Graph, nodes: IntArray | None = None) -> Any:
    """A CSR matrix (nodes, all nodes): one for each neighbour, whatever the weight and direction of its edge."""
    links = graph.adjacency("both").to_scipy()
    links = links if nodes is None else links[np.asarray(nodes)]
    return sp.csr_matrix((np.ones(links.nnz, np.float32), links.indices, links.indptr), links.shape)


def _to_known(graph: Graph, known_ids: list[Any]) -> Any:
    """A CSR matrix (nodes, known nodes): one where a node of this graph is a known one."""
    same_kind = graph.has_integer_ids == (bool(known_ids) and isinstance(known_ids[0], int))
    known = pa.array(known_ids if same_kind else [str(item) for item in known_ids])
    here = pa.array(graph.node_ids if same_kind else graph.node_ids.astype(str))
    column = pc.fill_null(pc.index_in(here, known), -1).to_numpy(zero_copy_only=False)
    found = np.flatnonzero(column >= 0)
    ones = np.ones(len(found), np.float32)
    return sp.csr_matrix((ones, (found, column[found])), shape=(graph.num_nodes, len(known_ids)))


def _check_parts(known_ids: list[Any], places: FloatArray, landmarks: FloatArray, components: FloatArray) -> None:
    """Refuse parts that do not fit together, as a damaged file may hold."""
    shapes = [part.shape for part in (places, landmarks, components)]
    fits = all(len(shape) == 2 for shape in shapes) and shapes[0][1] == shapes[1][0] and shapes[1][1] == shapes[2][0]
    if not fits or not isinstance(known_ids, list) or len(known_ids) != len(places):
        raise InputError(f"the parts of the structural map do not fit together: {shapes}")
