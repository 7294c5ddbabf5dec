"""GAT (Velickovic et al., 2018): two layers of graph attention, trained on classes."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.supervised import NetworkSystem


@dataclass(frozen=True)
class GAT(NetworkSystem):
    """The authors' settings, but for a larger learning rate, which needs half as many epochs.

    Dropout is of features and of attention.
    """

    name = "gat"
    judge_every = 2

    hidden: int = 8  # a head
    heads: int = 8
    output_heads: int = 1
    epochs: int = 200
    patience: int = 60

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [
            cls(),
            cls(output_heads=8, weight_decay=1e-3),  # the authors' for Pubmed
            cls(hidden=16),
            cls(learning_rate=0.005, epochs=400, patience=100),  # the authors'
            cls(dropout=0.4),
        ]

    def make_network(self, width: int, classes: int) -> nn.Module:
        return _Network(width, classes, self)


class _Network(nn.Module):
    def __init__(self, width: int, classes: int, settings: GAT) -> None:
        super().__init__()
        layers = geometric_layers()
        units, dropout = settings.hidden * settings.heads, settings.dropout
        self.words = FirstLayer(width, units, dropout)
        # The edges come with self-loops.
        self.first = layers.GATConv(units, settings.hidden, heads=settings.heads, dropout=dropout, add_self_loops=False)
        self.first.lin = Nothing()  # its weights are those of `words`
        self.second = layers.GATConv(
            units, classes, heads=settings.output_heads, concat=False, dropout=dropout, add_self_loops=False
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        hidden = nn.functional.elu(self.first(self.words(inputs.words), inputs.edges))
        scores: torch.Tensor = self.second(self.dropout(hidden), inputs.edges)
        return scores
