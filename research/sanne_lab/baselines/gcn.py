"""GCN (Kipf and Welling, 2017): two graph convolutions, trained on classes."""

from dataclasses import asdict, dataclass
from typing import Any, Self

import torch
from torch import nn

from sanne.graph.csr import Graph
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers
from sanne_lab.baselines.supervised import Schedule, fit_network


@dataclass(frozen=True)
class GCN:
    """Wider than the authors' 16 units, and with more dropout; only the first layer is kept small by weight decay."""

    name = "gcn"

    hidden: int = 64
    dropout: float = 0.8
    weight_decay: float = 5e-4
    learning_rate: float = 0.01
    epochs: int = 300
    patience: int = 50

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

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train on the whole graph, classes of the train nodes only."""

        def optimiser(network: _Network) -> torch.optim.Optimizer:
            first = [*network.words.parameters(), *network.first.parameters()]
            groups = [
                {"params": first, "weight_decay": self.weight_decay},
                {"params": list(network.second.parameters()), "weight_decay": 0.0},
            ]
            return torch.optim.Adam(groups, lr=self.learning_rate)

        return fit_network(
            lambda width, classes: _Network(width, self.hidden, classes, self.dropout),
            optimiser,
            Schedule(self.epochs, self.patience),
            graph,
            train,
            val,
            seed,
            features_from,
        )


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
