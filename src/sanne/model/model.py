"""What a model is, whatever it learns: nodes of a graph in, vectors out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from sanne.config import Config
from sanne.features.base import FeatureMap
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.model.safe_files import Shapes
from sanne.walks.diffusion import Diffusion, Surroundings

Contribution = tuple[IntArray, npt.NDArray[np.float64]]  # nodes that a vector drew on and their shares, largest first


Seen = tuple[list[Surroundings], FloatArray, FloatArray]


class Asked(Protocol):
    """Nodes to be read, in a graph that may be changing; nodes are known by their numbers in it."""

    count: int

    def walks(self, num_walks: int) -> IntArray:
        """`num_walks` walks from each node asked for, (count * num_walks, walk_length)."""

    def along(self, walks: IntArray) -> FloatArray:
        """Features along these walks, (walks, walk_length, width)."""

    def around(self, restarts: tuple[float, ...], steps: int) -> list[Surroundings]:
        """Where endless many walks of each node go."""
        raise NotImplementedError

    def rows(self, nodes: IntArray) -> FloatArray:
        """Features of nodes that these walks visit."""
        raise NotImplementedError

    def see(self, restarts: tuple[float, ...], steps: int, columns: int) -> Seen:
        """Where these walks go, what they see there of the first columns of features, (count, restarts and the first
        step, columns), and all features of the nodes themselves.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Reading:
    """Vectors (count, dim), how uncertain they are (count,), and the nodes that they drew on if that was wanted."""

    vectors: FloatArray
    uncertainty: FloatArray
    contributions: list[Contribution]


@dataclass(frozen=True, eq=False)
class Pull:
    """How far a vector is drawn in its own direction, in parts of its length: one in all."""

    around: Surroundings
    rows: FloatArray  # (nodes around, feature columns)
    columns: FloatArray  # (restarts, feature columns): by one unit of a column that walks with this restart see
    degree: float  # by what is said of the node's degree


class Model(ABC):
    """Base class. Training, the model folder, inference and server call these methods and never ask for the class."""

    vector_dim: int
    nodes_at_once: int  # how many it reads at a time
    reads_whole: bool = False  # whether `read_whole` gives vectors
    untrained_if_isolated: bool = False  # whether the present vectors of nodes without links say nothing

    @classmethod
    @abstractmethod
    def fit_features(
        cls, graph: Graph, features_from: Graph, config: Config, seed: int
    ) -> tuple[FeatureMap, FloatArray]:
        """The features that the model reads: a map fitted on `features_from`, and the rows of `graph`."""

    @classmethod
    @abstractmethod
    def empty(cls, config: Config, feature_map: FeatureMap, num_nodes: int, seed: int, shapes: Shapes | None) -> Self:
        """A model to be fitted, or filled with tensors of these shapes from a file: a LookupError, ValueError or
        InputError if they cannot be those of such a model, before memory is taken for them.
        """

    @abstractmethod
    def arrays(self) -> dict[str, FloatArray]:
        """All that was fitted, by names: what the model folder keeps."""

    @abstractmethod
    def fill(self, arrays: dict[str, FloatArray]) -> None:
        """Take over arrays of the names and shapes that `arrays` gives."""

    @abstractmethod
    def read(self, asked: Asked, explain: int = 0) -> Reading:
        """Vectors of some nodes; with `explain`, so many nodes that each drew on."""

    def read_whole(self, diffusion: Diffusion, features: FloatArray) -> FloatArray:
        """Vectors of all nodes of a graph, or of a part of one, at once."""
        raise NotImplementedError

    def present_vectors(self) -> FloatArray | None:
        """The vectors of the training nodes, where training has made them; None: they are read like others."""
        return None

    def pull(self, asked: Asked) -> Pull | None:
        """What draws the vector of the first node asked for to where it is; None: the model cannot tell."""
        return None

    @abstractmethod
    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        """How undecided vectors are, (nodes,), from 0 to below 1; not a number if the model cannot tell."""


@dataclass(frozen=True)
class Run:
    """Where training keeps its checkpoint and how it reports progress."""

    checkpoint: Path | None = None
    resume: bool = False
    progress: bool | None = None  # None: a bar on a terminal only


def largest_shares(nodes: IntArray, shares: npt.NDArray[np.float64], count: int) -> Contribution:
    """The nodes with the largest shares."""
    largest = np.argsort(-shares, kind="stable")[:count]
    return nodes[largest], shares[largest]
