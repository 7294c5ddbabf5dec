"""What the graph neural baselines share: features and edges as tensors, a first layer over sparse words, seeds."""

import contextlib
import ctypes
import functools
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.features.choose import fit_features
from sanne.features.numeric import check_rows
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.paper.device import torch_threads
from sanne.seeds import derived_seed

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of malloc.h
_DENSE = 0.05  # a matrix with a larger share of non-zeros is multiplied faster as a dense one


def geometric_layers() -> Any:
    """torch_geometric.nn, imported only where a baseline needs it, without its own deprecation warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch_geometric.nn as layers
    return layers


@contextlib.contextmanager
def seeded(seed: int, *counters: int) -> Iterator[None]:
    """Torch draws from this seed inside the block, on one thread; outside, its state is as before."""
    with torch.random.fork_rng(devices=[]), torch_threads(1):
        _keep_large_blocks()  # steps over the whole graph
        torch.manual_seed(derived_seed(seed, "initialise", *counters))
        yield


@functools.cache
def _keep_large_blocks() -> None:
    """Ask the C library (glibc) to keep freed blocks of any size, such as arrays over all nodes.

    Requesting them again costs a third of the time, keeping them up to 40% more memory (DGI on Pubmed).
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_MMAP_MAX, 0)


class Words:
    """Rows of features, (nodes, width); sparse rows are kept both ways round, for the product and its gradient."""

    def __init__(self, matrix: Any) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self.dense: torch.Tensor | None = None
        self._lengths = torch.from_numpy(_lengths(matrix))
        if not sp.issparse(matrix):
            self.dense = torch.from_numpy(np.ascontiguousarray(matrix, np.float32))
            return
        rows = sp.csr_matrix(matrix, dtype=np.float32)
        order = sp.csr_matrix((np.arange(rows.nnz), rows.indices, rows.indptr), rows.shape).T.tocsr()
        self._by_row = sparse_tensor(rows)
        self._by_column = sparse_tensor(rows.T.tocsr())
        self._order = torch.from_numpy(order.data)  # values by row -> values by column
        if rows.nnz > _DENSE * max(rows.shape[0] * rows.shape[1], 1):
            self.dense = torch.from_numpy(rows.toarray())

    def product(self, weights: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """rows @ weights, (nodes, outputs); `dropout` is the share of the features that are dropped first."""
        few = weights.shape[1] < 128 or self.dense is None
        if not hasattr(self, "_by_row") or not few:
            dense = self.dense
            assert dense is not None
            return (nn.functional.dropout(dense, dropout) if dropout else dense) @ weights
        by_row, by_column = self._by_row, self._by_column
        if dropout:
            values = nn.functional.dropout(by_row.values(), dropout)
            by_row, by_column = with_values(by_row, values), with_values(by_column, values[self._order])
        found: torch.Tensor = _Product.apply(by_row, by_column, weights)  # type: ignore[no-untyped-call]
        return found

    def lengths(self) -> torch.Tensor:
        """The Euclidean length of every row."""
        return self._lengths


class _Product(torch.autograd.Function):
    """A sparse matrix times a dense one; the gradient takes the transposed matrix as given, not made every time."""

    @staticmethod
    def forward(ctx: Any, by_row: torch.Tensor, by_column: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        ctx.by_column = by_column
        return by_row @ dense

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None, torch.Tensor]:
        return None, None, ctx.by_column @ gradients[0].contiguous()


class FirstLayer(nn.Module):
    """The weights of a network's first layer, applied to `Words`; Glorot's start."""

    def __init__(self, width: int, outputs: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, outputs)))
        self.dropout = dropout

    def forward(self, words: Words) -> torch.Tensor:
        return words.product(self.weight, self.dropout if self.training else 0.0)


class Nothing(nn.Identity):
    """In the place of a convolution's weights, where `FirstLayer` was applied already."""

    def reset_parameters(self) -> None:
        """Nothing to start anew."""


class Inputs:
    """A graph as a network reads it, or the part of it that decides what some nodes get."""

    def __init__(self, matrix: Any, arcs: Any, spread: Any) -> None:
        self._matrix = matrix  # features, (nodes, width)
        self._arcs = arcs  # A, CSR
        self._spread = spread  # D^-1/2 (A + I) D^-1/2, CSR
        self.num_nodes = int(arcs.shape[0])

    @cached_property
    def words(self) -> Words:
        """The features."""
        return Words(self._matrix)

    @cached_property
    def spread(self) -> torch.Tensor:
        """D^-1/2 (A + I) D^-1/2, sparse rows."""
        return sparse_tensor(self._spread)

    @cached_property
    def neighbour_mean(self) -> torch.Tensor:
        """D^-1 A, sparse rows; a node without neighbours has an empty one."""
        sums = np.asarray(self._arcs.sum(axis=1)).ravel()
        return sparse_tensor(sp.diags(1.0 / np.maximum(sums, 1e-12)) @ self._arcs)

    @cached_property
    def edges(self) -> torch.Tensor:
        """Arcs and self-loops, (2, arcs + nodes): from the first row to the second, ordered by the second."""
        arcs = self._spread.tocoo()
        return torch.from_numpy(np.stack([arcs.col, arcs.row]).astype(np.int64))

    @cached_property
    def weights(self) -> torch.Tensor:
        """A weight for each of `edges`; a self-loop's is 1."""
        loops = sp.identity(self.num_nodes, dtype=np.float32, format="csr")
        return torch.from_numpy((self._arcs + loops).tocsr().data)

    def around(self, nodes: IntArray, hops: int) -> tuple["Inputs", IntArray]:
        """The part within `hops` steps of some nodes, and their rows there: a network of so many layers sees no more.

        Weights of edges are those of the whole graph, so that the nodes get what they get there.
        """
        near = np.zeros(self.num_nodes, np.float32)
        near[nodes] = 1
        for _ in range(hops):
            near = (self._spread @ near > 0).astype(np.float32)
        kept = np.flatnonzero(near)
        part = Inputs(self._matrix[kept], self._arcs[kept][:, kept], self._spread[kept][:, kept])
        return part, np.searchsorted(kept, nodes)


class Reader:
    """Turns graphs into `Inputs`: word counts as rows that sum to one, as is usual; all else through a fitted map."""

    def __init__(self, width: int, feature_map: FeatureMap | None) -> None:
        self.width = width
        self._map = feature_map

    @classmethod
    def fit(cls, graph: Graph, features_from: Graph | None, seed: int) -> Self:
        """Fit the feature map, if one is needed, on `features_from` (or else on the graph)."""
        features: Any = graph.features
        if _are_words(features):
            return cls(features.shape[1], None)
        config = FeatureConfig(features="auto" if features is None or graph.texts is None else "numeric")
        feature_map = fit_features(features_from or graph, config, seed)
        return cls(feature_map.width, feature_map)

    def features(self, graph: Graph) -> Any:
        """The features of a graph's nodes, dense or sparse."""
        if self._map is not None:
            return self._map.transform(graph)
        features: Any = graph.features
        if not _are_words(features) or features.shape[1] != self.width:
            found = "none" if features is None else f"{features.shape[1]} columns of features"
            raise InputError(f"the system was fitted on {self.width} columns of word counts, this graph has {found}")
        sums = np.asarray(features.sum(axis=1), np.float32).ravel()
        check_rows(graph, None, np.isfinite(sums))
        return (sp.diags(1.0 / np.maximum(sums, 1e-12)) @ features).tocsr().astype(np.float32)

    def read(self, graph: Graph) -> Inputs:
        """Features and edges; every edge goes both ways."""
        arcs = graph.adjacency("both").to_scipy()
        return Inputs(self.features(graph), arcs, _normalised(arcs))


def _normalised(arcs: Any) -> Any:
    """D^-1/2 (A + I) D^-1/2 of arcs that go both ways, CSR."""
    matrix = arcs + sp.identity(arcs.shape[0], dtype=np.float32, format="csr")
    roots = sp.diags(np.asarray(matrix.sum(axis=1)).ravel() ** -0.5)
    return (roots @ matrix @ roots).tocsr().astype(np.float32)


def _lengths(matrix: Any) -> FloatArray:
    squares = matrix.multiply(matrix) if sp.issparse(matrix) else np.square(matrix)
    return np.sqrt(np.asarray(squares.sum(axis=1), np.float32).ravel())


def _are_words(features: Any) -> bool:
    return bool(sp.issparse(features) and features.shape[1] and (features.nnz == 0 or features.data.min() >= 0))


def sparse_tensor(matrix: Any) -> torch.Tensor:
    """A scipy CSR matrix as a torch one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support", UserWarning)
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=False,
        )


def with_values(matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """A sparse matrix with other values at the same places."""
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, size=matrix.shape, check_invariants=False
    )


def without_some_edges(inputs: Inputs, share: float) -> torch.Tensor:
    """The edges, normalised anew, without a share of the arcs; self-loops stay."""
    source, target = inputs.edges
    kept = ((torch.rand(len(source)) >= share) | (source == target)) * inputs.weights
    into, out = (torch.zeros(inputs.num_nodes).index_add_(0, end, kept) for end in (target, source))
    return with_values(inputs.spread, kept * into[target].rsqrt() * out[source].rsqrt())
