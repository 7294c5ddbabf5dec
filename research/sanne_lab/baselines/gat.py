"""GAT (Velickovic et al., 2018): two layers of graph attention, trained on classes."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import torch
from torch import nn

from sanne.graph.csr import Graph
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.supervised import Schedule, fit_network


@dataclass(frozen=True)
class GAT:
    """The authors' settings, but for a larger learning rate, which needs half as many epochs."""

    name = "gat"

    hidden: int = 8  # a head
    heads: int = 8
    output_heads: int = 1
    dropout: float = 0.6  # of features and of attention
    weight_decay: float = 5e-4
    learning_rate: float = 0.01
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

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train on the whole graph, classes of the train nodes only."""

        def optimiser(network: _Network) -> torch.optim.Optimizer:
            return torch.optim.Adam(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)

        return fit_network(
            lambda width, classes: _Network(width, classes, self),
            optimiser,
            Schedule(self.epochs, self.patience, every=2),
            graph,
            train,
            val,
            seed,
            features_from,
        )


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
