"""SDNE (Wang et al. 2016): an autoencoder of adjacency rows that also keeps linked nodes together.

The paper's loss over all pairs of nodes is estimated: a batch rebuilds the columns of its own neighbours and a
random share of the others, which stand for the rest, and draws one neighbour of each node to keep it near. So the
cost of a batch does not grow with the graph. There is no weight decay: validation chooses the epoch.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.paper.device import torch_stream
from sanne.seeds import numpy_stream
from sanne_lab.baselines.interface import Snapshot

_COLUMNS = 1024  # that a batch rebuilds besides its neighbours


@dataclass(frozen=True)
class _Settings:
    dim: int
    hidden: int
    first_order: float  # alpha: how much linked nodes attract each other
    edge_weight: float  # beta: how much an edge counts against an absent one
    learning_rate: float
    batch_size: int
    epochs: int
    every: int  # epochs from one candidate for validation to the next


class _AutoEncoder(nn.Module):
    """n -> hidden -> dim -> hidden -> n, with tanh between; both ends are tables with a row per node.

    A column's bias starts from how often it is 1. Else the first steps teach all rows alike that most columns are 0,
    and on a large graph that drives every vector to the same corner of tanh, for good.
    """

    def __init__(self, degrees: IntArray, settings: _Settings, stream: torch.Generator) -> None:
        super().__init__()
        nodes, hidden, dim = len(degrees), settings.hidden, settings.dim
        ones = torch.from_numpy(settings.edge_weight * np.maximum(degrees, 1) / nodes).float()
        self.inward = nn.EmbeddingBag.from_pretrained(_glorot(nodes, hidden, stream), False, mode="sum", sparse=True)
        self.outward = nn.Embedding.from_pretrained(_glorot(nodes, hidden, stream), False, sparse=True)
        self.outward_bias = nn.Embedding.from_pretrained(ones.log()[:, None], False, sparse=True)
        self.inward_bias = nn.Parameter(torch.zeros(hidden))
        self.encode_weight = nn.Parameter(_glorot(hidden, dim, stream))
        self.encode_bias = nn.Parameter(torch.zeros(dim))
        self.decode_weight = nn.Parameter(_glorot(dim, hidden, stream))
        self.decode_bias = nn.Parameter(torch.zeros(hidden))

    def optimisers(self, rate: float) -> list[torch.optim.Optimizer]:
        """Adam for the middle, and for those rows of the tables that a batch has read."""
        tables = [self.inward.weight, self.outward.weight, self.outward_bias.weight]
        middle = [self.inward_bias, self.encode_weight, self.encode_bias, self.decode_weight, self.decode_bias]
        return [torch.optim.SparseAdam(tables, rate), torch.optim.Adam(middle, rate)]

    def encode(self, rows: Any) -> Tensor:
        """Vectors of sparse adjacency rows, (rows, dim)."""
        ends, starts, shares = (
            torch.from_numpy(part.astype(kind))
            for part, kind in ((rows.indices, np.int64), (rows.indptr[:-1], np.int64), (rows.data, np.float32))
        )
        bags = self.inward(ends, starts, per_sample_weights=shares)
        hidden = torch.tanh(bags + self.inward_bias)
        return torch.tanh(hidden @ self.encode_weight + self.encode_bias)

    def rebuild(self, vectors: Tensor, columns: Tensor) -> Tensor:
        """Some columns of the rows that the vectors were made of, (rows, columns)."""
        hidden = torch.tanh(vectors @ self.decode_weight + self.decode_bias)
        return torch.sigmoid(hidden @ self.outward(columns).T + self.outward_bias(columns).T)


class SDNE:
    """A new node's row holds its edges to present nodes; it goes through the encoder like any other."""

    name = "sdne"

    def __init__(
        self,
        dim: int = 128,
        hidden: int = 512,
        first_order: float = 10.0,
        edge_weight: float = 10.0,
        learning_rate: float = 1e-3,
        batch_size: int = 256,
        epochs: int = 40,
        every: int = 5,
    ) -> None:
        self._settings = _Settings(dim, hidden, first_order, edge_weight, learning_rate, batch_size, epochs, every)

    @classmethod
    def grid(cls) -> list[Self]:
        """The weights of the loss's two parts."""
        return [cls(), cls(first_order=3.0), cls(first_order=30.0, edge_weight=30.0), cls(first_order=1.0)]

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self._settings)

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train on the rows in batches; node features are not read."""
        started, judging = time.perf_counter(), 0.0
        settings = self._settings
        rows = graph.adjacency("both").to_scipy()
        model = _AutoEncoder(np.diff(rows.indptr), settings, torch_stream(seed, "initialise"))
        optimisers = model.optimisers(settings.learning_rate)
        for epoch in range(1, settings.epochs + 1):
            stream = numpy_stream(seed, "shuffle", epoch)
            order = stream.permutation(graph.num_nodes)
            for first in range(0, len(order), settings.batch_size):
                loss = _loss(model, rows, order[first : first + settings.batch_size], settings, stream)
                model.zero_grad()
                loss.backward()
                for optimiser in optimisers:
                    optimiser.step()
            if epoch % settings.every == 0 or epoch == settings.epochs:
                paused = time.perf_counter()
                consider(_snapshot(model, graph, rows, epoch))
                judging += time.perf_counter() - paused
        return time.perf_counter() - started - judging


def _loss(model: _AutoEncoder, rows: Any, batch: IntArray, settings: _Settings, stream: np.random.Generator) -> Tensor:
    """The paper's two parts, per node of the batch."""
    mine = rows[batch]
    vectors = model.encode(mine)
    columns, shares = _columns(mine, stream)
    wanted = torch.from_numpy(mine[:, columns].toarray())
    found = model.rebuild(vectors, torch.from_numpy(columns))
    weights = torch.where(wanted > 0, settings.edge_weight**2, torch.from_numpy(shares))
    rebuilt = (weights * (found - wanted) ** 2).sum()
    ends, degrees = _one_neighbour_each(mine, stream)
    gaps = vectors[torch.from_numpy(degrees > 0)] - model.encode(rows[ends])
    kept_near = (torch.from_numpy(degrees[degrees > 0]) * (gaps**2).sum(dim=1)).sum()
    return (rebuilt + settings.first_order * kept_near) / len(batch)


def _columns(rows: Any, stream: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """The columns to rebuild and how many columns each stands for."""
    near = np.unique(rows.indices).astype(np.int64)
    others = np.setdiff1d(np.arange(rows.shape[1]), near)
    drawn = others if len(others) <= _COLUMNS else stream.choice(others, _COLUMNS, replace=False)
    share = len(others) / max(len(drawn), 1)
    shares = np.concatenate((np.ones(len(near)), np.full(len(drawn), share)))
    return np.concatenate((near, drawn)), shares.astype(np.float32)


def _one_neighbour_each(rows: Any, stream: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """A random neighbour of each row that has any, and every row's number of neighbours."""
    degrees = np.diff(rows.indptr)
    linked = degrees > 0
    picks = rows.indptr[:-1][linked] + (stream.random(int(linked.sum())) * degrees[linked]).astype(np.int64)
    return rows.indices[picks], degrees.astype(np.float32)


def _snapshot(model: _AutoEncoder, graph: Graph, rows: Any, epoch: int) -> Snapshot:
    frozen = copy.deepcopy(model)

    def vectors(of: Any) -> FloatArray:
        with torch.no_grad():
            found: FloatArray = frozen.encode(of).numpy()
        return found

    def new(larger: Graph, nodes: IntArray) -> FloatArray:
        to_present = larger.adjacency("both").to_scipy()[nodes][:, larger.nodes_of(graph.node_ids)]
        return vectors(to_present)

    return Snapshot(epoch, present=lambda: vectors(rows), new=new)


def _glorot(inward: int, outward: int, stream: torch.Generator) -> Tensor:
    limit = (6.0 / (inward + outward)) ** 0.5
    return (torch.rand(inward, outward, generator=stream) * 2 - 1) * limit
