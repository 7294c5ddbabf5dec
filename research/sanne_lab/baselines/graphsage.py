"""GraphSAGE without classes (Hamilton et al., 2017): nodes that meet on short walks get similar vectors."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne.seeds import derived_seed, numpy_stream
from sanne.walks.sample import WalkSampler
from sanne_lab.baselines.neural import FirstLayer, Inputs, geometric_layers
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem


@dataclass(frozen=True)
class GraphSAGE(EncoderSystem):
    """Means over all neighbours, not over a sample; fewer negatives than the authors' 20."""

    name = "graphsage"

    dim: int = 128
    hidden: int = 128
    walk_length: int = 5
    negatives: int = 2  # for each pair
    pairs: int = 2048  # an epoch
    dropout: float = 0.0

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [
            cls(),
            cls(negatives=1),
            cls(dim=256, hidden=256),
            cls(negatives=5, epochs=60),
            cls(negatives=20, epochs=60),
        ]

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Sage(width, self, graph, seed)


class _Pairs:
    """Pairs of nodes from walks, and negatives by degree to the power 3/4."""

    def __init__(self, settings: GraphSAGE, graph: Graph, seed: int) -> None:
        adjacency = graph.adjacency("both")
        self._settings, self._seed = settings, seed
        self._sampler = WalkSampler(adjacency, walk_length=settings.walk_length, seed=derived_seed(seed, "shuffle"))
        degrees = np.diff(adjacency.indptr)
        self._starts = np.flatnonzero(degrees) if degrees.any() else np.arange(graph.num_nodes)
        share = np.maximum(degrees, 1) ** 0.75
        self._cumulated = np.cumsum(share / share.sum())

    def __deepcopy__(self, memo: Any) -> "_Pairs":
        return self  # a snapshot of the encoder draws nothing

    def draw(self, epoch: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Nodes and nodes met on their walks, (pairs,) each, and negatives (pairs, negatives) of an epoch."""
        count = self._settings.pairs
        stream = numpy_stream(self._seed, "negatives", epoch)
        starts = stream.choice(self._starts, count)
        walks = self._sampler.walks(starts, epoch, np.arange(count))
        met = walks[np.arange(count), stream.integers(1, self._settings.walk_length, count)]
        drawn = np.searchsorted(self._cumulated, stream.random((count, self._settings.negatives)))
        negatives = np.minimum(drawn, len(self._cumulated) - 1)
        return torch.from_numpy(starts), torch.from_numpy(met.astype(np.int64)), torch.from_numpy(negatives)


class _Sage(Encoder):
    def __init__(self, width: int, settings: GraphSAGE, graph: Graph, seed: int) -> None:
        super().__init__()
        layers = geometric_layers()
        self._pairs = _Pairs(settings, graph, seed)
        self.own = FirstLayer(width, settings.hidden, settings.dropout)
        self.neighbours = FirstLayer(width, settings.hidden, settings.dropout)
        self.bias = nn.Parameter(torch.zeros(settings.hidden))
        self.second = layers.SAGEConv(settings.hidden, settings.dim, aggr="sum")  # the edges come divided by degree
        self.dropout = nn.Dropout(settings.dropout)

    def encode(self, inputs: Inputs) -> torch.Tensor:
        # The first SAGEConv, its weights applied before the mean: the same result, over sparse words.
        mean = inputs.neighbour_mean @ self.neighbours(inputs.words)
        hidden = torch.relu(self.own(inputs.words) + mean + self.bias)
        return nn.functional.normalize(self.second(self.dropout(hidden), inputs.neighbour_mean), dim=1)

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        vectors = self.encode(inputs)
        nodes, met, negatives = self._pairs.draw(epoch)
        attracted = (vectors[nodes] * vectors[met]).sum(dim=1)
        repelled = torch.einsum("nd,nkd->nk", vectors[nodes], vectors[negatives])
        return -nn.functional.logsigmoid(attracted).mean() - nn.functional.logsigmoid(-repelled).sum(dim=1).mean()
