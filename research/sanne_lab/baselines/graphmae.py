"""GraphMAE (Hou et al., 2022): hides the features of half of the nodes and restores them from the rest."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem


@dataclass(frozen=True)
class GraphMAE(EncoderSystem):
    """The authors' objective around graph convolutions, not their graph attention: to save time (not compared)."""

    name = "graphmae"

    dim: int = 512
    layers: int = 2
    masked: float = 0.5  # share of the nodes
    replaced: float = 0.05  # share of the masked nodes that get another node's features, not the mask
    sharpness: float = 3.0  # gamma of the scaled cosine error
    dropout: float = 0.2
    weight_decay: float = 2e-4

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [
            cls(),
            cls(sharpness=1.0, replaced=0.1, weight_decay=2e-5),  # the authors' for Citeseer
            cls(masked=0.75, replaced=0.0, weight_decay=1e-5),  # the authors' for Pubmed
            cls(layers=1),
        ]

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Autoencoder(width, self)

    def optimiser(self, encoder: Encoder) -> torch.optim.Optimizer:
        return torch.optim.Adam(encoder.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)


class _Autoencoder(Encoder):
    def __init__(self, width: int, settings: GraphMAE) -> None:
        super().__init__()
        layers = geometric_layers()
        self._settings = settings
        dim = settings.dim
        self.words = FirstLayer(width, dim, settings.dropout)
        self.mask = nn.Parameter(torch.zeros(dim))
        # The edges come normalised.
        self.convolutions = nn.ModuleList(layers.GCNConv(dim, dim, normalize=False) for _ in range(settings.layers))
        self.convolutions[0].lin = Nothing()  # its weights are those of `words`
        self.activations = nn.ModuleList(nn.PReLU() for _ in range(settings.layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.bridge = nn.Linear(dim, dim, bias=False)
        self.decoder = layers.GCNConv(dim, dim, normalize=False, bias=False)
        self.decoder.lin = Nothing()  # its weights are `back`, applied where they are needed
        self.back = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, dim)))

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        count = inputs.num_nodes
        masked = torch.randperm(count)[: max(1, round(self._settings.masked * count))]
        hidden = self.words(inputs.words)
        vectors = self._through(self._hide(hidden, masked), inputs.spread)
        # Masked again, so that the decoder restores a node from its neighbours.
        vectors = self.bridge(vectors).index_fill(0, masked, 0.0)
        return self._error(self.decoder(vectors, inputs.spread)[masked], inputs, masked)

    def encode(self, inputs: Inputs) -> torch.Tensor:
        return self._through(self.words(inputs.words), inputs.spread)

    def _hide(self, hidden: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
        """The first layer's rows, those of the masked nodes replaced by the mask or by another node's."""
        swapped = masked[: int(self._settings.replaced * len(masked))]
        found = hidden.index_copy(0, masked, self.mask.expand(len(masked), -1))
        return found.index_copy(0, swapped, hidden[torch.randint(len(hidden), (len(swapped),))])

    def _through(self, hidden: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        for number, (convolution, activation) in enumerate(zip(self.convolutions, self.activations, strict=True)):
            hidden = activation(convolution(self.dropout(hidden) if number else hidden, spread))
        return hidden

    def _error(self, decoded: torch.Tensor, inputs: Inputs, masked: torch.Tensor) -> torch.Tensor:
        """Scaled cosine error between features x and `back @ decoded`.

        Both the product with x and the length come from small matrices: the restored features, wide as the
        vocabulary, are never made.
        """
        agreement = (decoded * inputs.words.product(self.back)[masked]).sum(dim=1)
        length = ((decoded @ (self.back.T @ self.back)) * decoded).sum(dim=1).clamp(min=1e-12).sqrt()
        cosine = agreement / (length * inputs.words.lengths()[masked].clamp(min=1e-12))
        return (1 - cosine).clamp(min=0).pow(self._settings.sharpness).mean()
