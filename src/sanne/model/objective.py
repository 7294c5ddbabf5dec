"""What an objective is: training minimises it and trained walks are read through it. New ones register here."""

import time
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from sanne.config import Config
from sanne.errors import InputError
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.safe_files import Shapes
from sanne.walks.batches import Batch


class Objective(nn.Module):
    """Base class. A subclass sets `name` and `vector_dim` and defines `loss`, `num_terms`, `read`, `position_shares`.

    The training loop, the model folder, inference and the estimates call these methods and never ask for the class.
    """

    name: ClassVar[str]
    reducible: ClassVar[bool] = True  # whether vectors may be reduced to the setting `dim`
    vector_dim: int
    degree_power: float = 0.0  # the features of a visited node are divided by its degree to this power

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        self.config = config.objective
        self.seed = seed

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError for settings that do not go together; called before any work."""

    @classmethod
    def expected_shapes(cls, config: Config, width: int, num_nodes: int) -> Shapes:
        """Shapes of the large tensors, checked against a model file before memory is allocated for them."""
        return {}

    def prepare(self, adjacency: Adjacency, features: FloatArray) -> None:
        """Called once before training, with the features of all nodes (V, width)."""

    def probe(self, adjacency: Adjacency, features: FloatArray) -> dict[str, float]:
        """Prepare for a few training steps; returns the estimated seconds of `prepare` by stage."""
        started = time.perf_counter()
        self.prepare(adjacency, features)
        return {"preparation": time.perf_counter() - started}

    def prepared_digest(self) -> str:
        """Identifies what `prepare` computed, so that several processes can check that they agree."""
        return ""

    def finish(self) -> None:
        """Called once after training: drop what only training needs."""

    def preparation_bytes(self, num_nodes: int, num_arcs: int, width: int) -> int:
        """Estimated memory that `prepare` takes."""
        return 0

    def sparse_table(self) -> nn.Parameter | None:
        """A parameter with a row per node whose gradient is sparse, if there is one; it has its own optimiser."""
        return None

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch of walks, `features` (B, N, width)."""
        raise NotImplementedError

    def num_terms(self, batch: Batch) -> int:
        """How many terms `loss` is the mean of."""
        raise NotImplementedError

    def read(self, encoder: WalkEncoder, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from weighed features (B, N, width) and the starts' degrees (B,)."""
        raise NotImplementedError

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        raise NotImplementedError

    def present_vectors(self) -> FloatArray | None:
        """Trained vectors of the training nodes, (V, vector_dim); None: they are read from walks like any other."""
        return None

    def uncertainty(self, vectors: FloatArray) -> FloatArray | None:
        """How undecided vectors are, (nodes,), from 0 to below 1; None if the objective cannot tell."""
        return None

    def weigh(self, rows: FloatArray, degrees: npt.ArrayLike) -> FloatArray:
        """Features (..., width) as `read` takes them, given the nodes' degrees (...); a copy unless nothing changes."""
        return rows * visit_weights(degrees, self.degree_power)[..., None] if self.degree_power else rows


_OBJECTIVES: dict[str, type[Objective]] = {}


def register_objective(kind: type[Objective]) -> type[Objective]:
    """Make an objective available under its name, as a value of the setting `objective`. Usable as a decorator."""
    if _OBJECTIVES.setdefault(kind.name, kind) is not kind:
        raise InputError(f"there is already an objective {kind.name!r}")
    return kind


def objective_kind(config: Config) -> type[Objective]:
    """The class that the setting `objective` names; its settings are checked."""
    name = config.objective.objective
    if name not in _OBJECTIVES:
        known = ", ".join(sorted(_OBJECTIVES))
        raise InputError(f"unknown objective {name!r}: choose one of {known}, or import the module that registers it")
    _OBJECTIVES[name].check(config)
    return _OBJECTIVES[name]


def visit_weights(degrees: npt.ArrayLike, power: float) -> FloatArray:
    """Factors for the features of visited nodes, by their degrees.

    With power 1/2, walks see what symmetrically normalised smoothing sees: a hub says little about each visitor.
    """
    weights: FloatArray = np.maximum(np.asarray(degrees, np.float32), 1) ** np.float32(-power)
    return weights
