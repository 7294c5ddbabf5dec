"""DGI (Velickovic et al., 2019): tells a graph's node vectors from those of the same graph with shuffled features."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem


@dataclass(frozen=True)
class DGI(EncoderSystem):
    """The authors' encoder: one graph convolution."""

    name = "dgi"

    dim: int = 512
    epochs: int = 160

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [cls(), cls(epochs=400), cls(dim=256)]

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Infomax(width, self.dim)


class _Infomax(Encoder):
    """The convolution's weights are applied before the features are shuffled, once for both: the same result."""

    def __init__(self, width: int, dim: int) -> None:
        super().__init__()
        self.words = FirstLayer(width, dim)
        self.infomax = geometric_layers().DeepGraphInfomax(
            dim,
            encoder=_Convolution(dim),
            summary=lambda vectors, *inputs: torch.sigmoid(vectors.mean(dim=0)),
            corruption=lambda hidden, spread: (hidden[torch.randperm(len(hidden))], spread),
        )

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        found: torch.Tensor = self.infomax.loss(*self.infomax(self.words(inputs.words), inputs.spread))
        return found

    def encode(self, inputs: Inputs) -> torch.Tensor:
        vectors: torch.Tensor = self.infomax.encoder(self.words(inputs.words), inputs.spread)
        return vectors


class _Convolution(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.convolution = geometric_layers().GCNConv(dim, dim, normalize=False)  # the edges come normalised
        self.convolution.lin = Nothing()  # its weights are those of `words`
        self.activation = nn.PReLU(dim)

    def forward(self, hidden: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.activation(self.convolution(hidden, spread))
        return vectors
