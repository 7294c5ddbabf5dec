"""BGRL (Thakoor et al., 2022): one view's vectors predict those that a slower copy of the encoder has for another."""

import copy
import math
from dataclasses import dataclass
from typing import Self

import torch
from torch import nn

from sanne.graph.graph import Graph
from sanne_lab.baselines.neural import Inputs
from sanne_lab.baselines.unsupervised import Encoder, EncoderSystem
from sanne_lab.baselines.views import Convolutions


@dataclass(frozen=True)
class BGRL(EncoderSystem):
    """The authors' settings for Coauthor CS, but 400 epochs at a constant rate: their 10,000 take hours."""

    name = "bgrl"

    dim: int = 256
    hidden: int = 512  # also of the predictor
    dropped_features: tuple[float, float] = (0.3, 0.4)
    dropped_edges: tuple[float, float] = (0.3, 0.2)
    momentum: float = 0.99  # of the copy, at the start; 1 at the end
    weight_decay: float = 1e-5
    epochs: int = 400

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        photo = cls(dim=128, hidden=256, dropped_features=(0.1, 0.2), dropped_edges=(0.4, 0.1))  # the authors' for it
        return [cls(), photo]

    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        return _Bootstrap(width, self)

    def optimiser(self, encoder: Encoder) -> torch.optim.Optimizer:
        trained = [weight for weight in encoder.parameters() if weight.requires_grad]
        return torch.optim.AdamW(trained, lr=self.learning_rate, weight_decay=self.weight_decay)


class _Bootstrap(Encoder):
    def __init__(self, width: int, settings: BGRL) -> None:
        super().__init__()
        self._settings = settings
        self.online = Convolutions(
            width, settings.hidden, settings.dim, lambda size: nn.Sequential(nn.BatchNorm1d(size), nn.PReLU())
        )
        self.slow = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = nn.Sequential(
            nn.Linear(settings.dim, settings.hidden), nn.PReLU(), nn.Linear(settings.hidden, settings.dim)
        )

    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        self._follow(epoch)
        views = [
            self.online.damaged(inputs, *shares)
            for shares in zip(self._settings.dropped_features, self._settings.dropped_edges, strict=True)
        ]
        predicted = [self.predictor(self.online.view(inputs, *view)) for view in views]
        with torch.no_grad():
            targets = [self.slow.view(inputs, *view) for view in views]
        cosines = [
            nn.functional.cosine_similarity(one, other).mean()
            for one, other in zip(predicted, targets[::-1], strict=True)
        ]
        return 2 - torch.stack(cosines).sum()

    def encode(self, inputs: Inputs) -> torch.Tensor:
        vectors: torch.Tensor = self.online(inputs)
        return vectors

    @torch.no_grad()
    def _follow(self, epoch: int) -> None:
        """Move the slow copy towards the encoder, less and less."""
        step = (1 - self._settings.momentum) * (math.cos(math.pi * epoch / self._settings.epochs) + 1) / 2
        for slow, fast in zip(self.slow.parameters(), self.online.parameters(), strict=True):
            slow.lerp_(fast, step)
