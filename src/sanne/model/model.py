"""SANNE: the walk encoder joined with its objective."""

import torch
from torch import Tensor, nn

import sanne.model.distil
import sanne.model.neighbours  # noqa: F401 (both register their objective)
from sanne.config import Config
from sanne.graph.graph import FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.objective import Objective, objective_kind
from sanne.seeds import derived_seed
from sanne.walks.batches import Batch


class WalkModel(nn.Module):
    """Walks of features in; a loss for training, or a vector per walk, out."""

    encoder: WalkEncoder
    objective: Objective

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        kind = objective_kind(config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "initialise"))
            self.encoder = WalkEncoder(config.model, width, config.walks.walk_length)
            self.objective = kind(config, width=width, num_nodes=num_nodes, seed=seed)

    @property
    def vector_dim(self) -> int:
        return self.objective.vector_dim

    def loss(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch of walks, `features` (B, N, width)."""
        return self.objective.loss(self.encoder, features, batch)

    def forward(self, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width) and the degrees of the starts, (B,)."""
        return self.objective.read(self.encoder, features, degrees)

    def uncertainty(self, vectors: FloatArray) -> FloatArray | None:
        """How undecided vectors are, (nodes,), from 0 to below 1; None if the objective cannot tell."""
        return self.objective.uncertainty(vectors)

    def position_shares(self, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        return self.objective.position_shares(self.encoder, features)
