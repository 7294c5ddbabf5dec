"""GCN (Kipf and Welling, 2017): two graph convolutions, trained on classes."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import nn

from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.supervised import NetworkSystem


@dataclass(frozen=True)
class GCN(NetworkSystem):
    """Wider than the authors' 16 units, and with more dropout; only the first layer is kept small by weight decay."""

    name = "gcn"

    hidden: int = 64
    dropout: float = 0.8

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [
            cls(),
            cls(hidden=16, dropout=0.5),  # the authors'
            cls(dropout=0.5),
            cls(hidden=32),
            cls(weight_decay=5e-3, dropout=0.5),
        ]

    def make_network(self, width: int, classes: int) -> nn.Module:
        return _Network(width, self.hidden, classes, self.dropout)

    def optimiser(self, network: Any) -> torch.optim.Optimizer:
        first = [*network.words.parameters(), *network.first.parameters()]
        groups = [
            {"params": first, "weight_decay": self.weight_decay},
            {"params": list(network.second.parameters()), "weight_decay": 0.0},
        ]
        return torch.optim.Adam(groups, lr=self.learning_rate)


class _Network(nn.Module):
    def __init__(self, width: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        layers = geometric_layers()
        self.words = FirstLayer(width, hidden, dropout)
        self.first = layers.GCNConv(hidden, hidden, normalize=False)  # the edges come normalised
        self.first.lin = Nothing()  # its weights are those of `words`
        self.second = layers.GCNConv(hidden, classes, normalize=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        hidden = torch.relu(self.first(self.words(inputs.words), inputs.spread))
        scores: torch.Tensor = self.second(self.dropout(hidden), inputs.spread)
        return scores
