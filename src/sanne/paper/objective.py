"""The base class of objectives: training minimises one, and walks are read through it. New ones register here."""

from typing import ClassVar

from torch import Tensor, nn

from sanne.config import Config
from sanne.errors import InputError
from sanne.graph.graph import FloatArray
from sanne.paper.batches import Batch
from sanne.paper.encoder import WalkEncoder


class Objective(nn.Module):
    """Base class. A subclass sets `name` and `vector_dim` and defines `loss`, `read` and `position_shares`.

    The training loop, the model folder, inference and the estimates call these methods and never ask for the class.
    """

    name: ClassVar[str]
    vector_dim: int

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        self.config = config.objective
        self.seed = seed

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError for incompatible settings; called before any work."""
        dim, width = config.model.dim, config.model.encoder_dim
        if dim not in (0, width):
            raise InputError(
                f"with objective={cls.name!r} vectors have the encoder's width, so dim ({dim}) must equal encoder_dim "
                f"({width}): set both, or leave dim at 0"
            )

    def sparse_table(self) -> nn.Parameter | None:
        """A parameter with a row per node whose gradient is sparse, if there is one; it has its own optimiser."""
        return None

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch of walks, `features` (B, N, width)."""
        raise NotImplementedError

    def read(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width)."""
        raise NotImplementedError

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """How much of a walk's vector came from each of its positions, (B, N); rows sum to one."""
        raise NotImplementedError

    def present_vectors(self) -> FloatArray | None:
        """Trained vectors of the training nodes, (V, vector_dim); None: they are read from walks like any other."""
        return None


_OBJECTIVES: dict[str, type[Objective]] = {}
_NOT_TRAINED = {"hidden"}  # a model of its own, see model/hidden.py


def register_objective(kind: type[Objective]) -> type[Objective]:
    """Make an objective available under its name, as a value of the setting `objective`. Usable as a decorator."""
    if kind.name in _NOT_TRAINED or _OBJECTIVES.setdefault(kind.name, kind) is not kind:
        raise InputError(f"there is already an objective {kind.name!r}")
    return kind


def objective_kind(config: Config) -> type[Objective]:
    """The class that the setting `objective` names; its settings are checked."""
    name = config.objective.objective
    if name not in _OBJECTIVES:
        known = ", ".join(sorted(_NOT_TRAINED | _OBJECTIVES.keys()))
        raise InputError(f"unknown objective {name!r}: choose one of {known}, or import the module that registers it")
    _OBJECTIVES[name].check(config)
    return _OBJECTIVES[name]
