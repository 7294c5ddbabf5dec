"""SANNE: the walk encoder joined with its objective."""

from typing import Protocol

import torch
from torch import Tensor, nn

from sanne.config import Config
from sanne.graph.graph import FloatArray
from sanne.model.distil import ClusterDistillation
from sanne.model.encoder import WalkEncoder
from sanne.model.neighbours import NeighbourSoftmax
from sanne.seeds import derived_seed
from sanne.walks.batches import Batch


class Objective(Protocol):
    """What training minimises and how a trained walk is read."""

    vector_dim: int
    degree_power: float  # of `visit_weights`, by which the features that `read` is given are multiplied

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch of walks, `features` (B, N, width)."""
        ...

    def num_terms(self, batch: Batch) -> int:
        """How many terms that loss is the mean of."""
        ...

    def read(self, encoder: WalkEncoder, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width) and the degrees of the starts, (B,)."""
        ...

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        ...


class WalkModel(nn.Module):
    """Walks of features in; a loss for training, or a vector per walk, out."""

    encoder: WalkEncoder
    objective: NeighbourSoftmax | ClusterDistillation

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "initialise"))
            self.encoder = WalkEncoder(config.model, width, config.walks.walk_length)
            if config.objective.objective == "neighbours":
                self.objective = NeighbourSoftmax(num_nodes, config.model.dim, config.objective, seed)
            else:
                self.objective = ClusterDistillation(
                    width, config.model.dim, config.walks.walk_length, config.objective, seed
                )

    @property
    def vector_dim(self) -> int:
        return self.objective.vector_dim

    def loss(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch of walks, `features` (B, N, width)."""
        return self.objective.loss(self.encoder, features, batch)

    def forward(self, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width) and the degrees of the starts, (B,)."""
        return self.objective.read(self.encoder, features, degrees)

    def doubt(self, vectors: FloatArray) -> FloatArray | None:
        """How undecided nodes' vectors are, (nodes,), from 0 to below 1; None where the objective has no clusters."""
        return self.objective.doubt(vectors) if isinstance(self.objective, ClusterDistillation) else None

    def position_shares(self, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        return self.objective.position_shares(self.encoder, features)
