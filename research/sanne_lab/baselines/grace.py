"""GRACE (Zhu et al., 2020): a node's vectors in two views are told from those of all other nodes in both."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne_lab.baselines.neural import Inputs
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem
from sanne_lab.baselines.views import Convolutions


@dataclass(frozen=True)
class GRACE(EncoderSystem):
    """The authors' settings for Cora. Time and memory grow with the square of the number of nodes."""

    name = "grace"

    learning_rate: float = 5e-4
    dim: int = 128
    dropped_features: tuple[float, float] = (0.3, 0.4)
    dropped_edges: tuple[float, float] = (0.2, 0.4)
    temperature: float = 0.4
    weight_decay: float = 1e-5
    epochs: int = 200

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        citeseer = cls(1e-3, dim=256, dropped_features=(0.3, 0.2), dropped_edges=(0.2, 0.0), temperature=0.9)
        return [cls(), citeseer]  # the authors' for Citeseer

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Contrast(width, self)

    def optimiser(self, encoder: Encoder) -> torch.optim.Optimizer:
        return torch.optim.Adam(encoder.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)


class _Contrast(Encoder):
    def __init__(self, width: int, settings: GRACE) -> None:
        super().__init__()
        self._settings = settings
        dim = settings.dim
        self.convolutions = Convolutions(width, 2 * dim, dim, lambda size: nn.ReLU())
        self.projection = nn.Sequential(nn.Linear(dim, dim), nn.ELU(), nn.Linear(dim, dim))

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        views = [
            self.convolutions.view(inputs, *self.convolutions.damaged(inputs, *shares))
            for shares in zip(self._settings.dropped_features, self._settings.dropped_edges, strict=True)
        ]
        one, other = (nn.functional.normalize(self.projection(view)) for view in views)
        between = (one @ other.T / self._settings.temperature).exp()
        sums = between.sum(dim=1) + self._others(one), between.sum(dim=0) + self._others(other)
        return (torch.log(torch.stack(sums)).mean(dim=0) - between.diagonal().log()).mean()

    def encode(self, inputs: Inputs) -> torch.Tensor:
        vectors: torch.Tensor = self.convolutions(inputs)
        return vectors

    def _others(self, rows: torch.Tensor) -> torch.Tensor:
        """For each node the sum over all other nodes of the same view."""
        within = (rows @ rows.T / self._settings.temperature).exp()
        return within.sum(dim=1) - within.diagonal()
