"""SANNE: the walk encoder joined with its objective."""

import numpy as np
import torch
from torch import Tensor, nn

import sanne.model.distil
import sanne.model.neighbours  # noqa: F401 (both register their objective)
from sanne.config import Config
from sanne.errors import InputError
from sanne.graph.graph import FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.objective import Objective, objective_kind
from sanne.seeds import derived_seed
from sanne.walks.batches import Batch


class WalkModel(nn.Module):
    """Walks of features in; a loss for training, or a vector per walk, out."""

    encoder: WalkEncoder
    objective: Objective
    axes: Tensor | None  # (size that the objective gives, dim), orthonormal columns; set after training

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        kind = objective_kind(config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "initialise"))
            self.encoder = WalkEncoder(config.model, width, config.walks.walk_length)
            self.objective = kind(config, width=width, num_nodes=num_nodes, seed=seed)
        self.register_buffer("axes", None)
        self.reduced_dim = config.model.dim if kind.reducible else 0  # 0: vectors stay as the objective makes them
        if self.reduced_dim > self.objective.vector_dim:
            raise InputError(
                f"dim ({self.reduced_dim}) is larger than the vectors of this model ({self.objective.vector_dim} "
                "numbers): choose a smaller one, or 0 to keep them as they are"
            )

    @property
    def vector_dim(self) -> int:
        return self.objective.vector_dim if self.axes is None else self.axes.shape[1]

    def fit_axes(self, vectors: FloatArray) -> None:
        """Reduce vectors to `reduced_dim` from now on, by the principal axes of these.

        The axes go through the origin, so that dot products and cosines stay as near as possible to what they were.
        """
        rows = vectors.astype(np.float64)
        _, columns = np.linalg.eigh(rows.T @ rows)
        axes = columns[:, ::-1][:, : self.reduced_dim]
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
        signed = np.ascontiguousarray(axes * np.sign(largest), np.float32)  # eigh leaves the signs open
        self.axes = torch.from_numpy(signed).to(next(self.parameters()).device)

    def allocate_axes(self) -> None:
        """Make room for the axes of a model that is to be read from a file."""
        if self.reduced_dim:
            self.axes = torch.zeros(self.objective.vector_dim, self.reduced_dim)

    def loss(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch of walks, `features` (B, N, width)."""
        return self.objective.loss(self.encoder, features, batch)

    def forward(self, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width) and the degrees of the starts, (B,)."""
        vectors = self.objective.read(self.encoder, features, degrees)
        return vectors if self.axes is None else vectors @ self.axes

    def uncertainty(self, vectors: FloatArray) -> FloatArray | None:
        """How undecided vectors are, (nodes,), from 0 to below 1; None if the objective cannot tell."""
        return self.objective.uncertainty(vectors if self.axes is None else vectors @ self.axes.cpu().numpy().T)

    def position_shares(self, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        return self.objective.position_shares(self.encoder, features)
