"""CCA-SSG (Zhang et al., 2021): two damaged views of a graph get correlated vectors with independent columns."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers, without_some_edges
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem


@dataclass(frozen=True)
class CCASSG(EncoderSystem):
    """The authors' settings for Cora."""

    name = "cca-ssg"

    dim: int = 512
    layers: int = 2
    independence: float = 1e-3  # weight of the second part of the objective, lambda
    dropped_features: float = 0.1
    dropped_edges: float = 0.4
    epochs: int = 40

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [
            cls(),
            cls(layers=1, independence=5e-4, dropped_features=0.0, epochs=20),  # the authors' for Citeseer
            cls(dropped_features=0.3, dropped_edges=0.5, epochs=100),  # the authors' for Pubmed
        ]

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Views(width, self)


class _Views(Encoder):
    def __init__(self, width: int, settings: CCASSG) -> None:
        super().__init__()
        layers = geometric_layers()
        self._settings = settings
        self.words = FirstLayer(width, settings.dim)
        # The edges come normalised.
        self.convolutions = nn.ModuleList(
            layers.GCNConv(settings.dim, settings.dim, normalize=False) for _ in range(settings.layers)
        )
        self.convolutions[0].lin = Nothing()  # its weights are those of `words`

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        one, other = self._view(inputs), self._view(inputs)
        together = (one * other).sum() / len(one)
        return -together + self._settings.independence * (_dependence(one) + _dependence(other))

    def encode(self, inputs: Inputs) -> torch.Tensor:
        return self._through(self.words(inputs.words), inputs.spread)

    def _view(self, inputs: Inputs) -> torch.Tensor:
        """Vectors of a view without some words and edges, every column with mean 0 and deviation 1."""
        kept = torch.rand(len(self.words.weight)) >= self._settings.dropped_features
        hidden = inputs.words.product(self.words.weight * kept[:, None])
        vectors = self._through(hidden, without_some_edges(inputs, self._settings.dropped_edges))
        return (vectors - vectors.mean(dim=0)) / (vectors.std(dim=0) + 1e-9)

    def _through(self, hidden: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        for number, convolution in enumerate(self.convolutions):
            hidden = convolution(torch.relu(hidden) if number else hidden, spread)
        return hidden


def _dependence(vectors: torch.Tensor) -> torch.Tensor:
    """How far the columns' correlations are from the identity, squared."""
    correlations = vectors.T @ vectors / len(vectors)
    return (correlations - torch.eye(len(correlations))).square().sum()
