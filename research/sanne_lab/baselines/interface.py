"""What every system in a comparison offers: fit on a training graph, then vectors or classes, for new nodes too."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from sanne.config import FeatureConfig
from sanne.graph.graph import FloatArray, Graph, IntArray


@dataclass(frozen=True)
class Snapshot:
    """A system at one point of its training; nothing is computed before it is asked for."""

    epoch: int
    present: Callable[[], FloatArray]  # vectors of the training graph's nodes, in its order
    new: Callable[[Graph, IntArray], FloatArray]  # vectors of nodes of a larger graph, by index
    # how unsure those are, by name of the measure, where a system can tell
    unsure: Callable[[Graph, IntArray], dict[str, FloatArray]] | None = None
    some_present: Callable[[IntArray], FloatArray] | None = None  # some rows of `present`, where that is less work

    def rows(self, nodes: IntArray) -> FloatArray:
        """Vectors of some of the training graph's nodes, by index."""
        return self.present()[nodes] if self.some_present is None else self.some_present(nodes)


def kept(vectors: FloatArray) -> Callable[[], FloatArray]:
    """`present` of a system that holds its vectors; they are read-only, since every caller gets the same array."""
    vectors.flags.writeable = False
    return lambda: vectors


def feature_settings(config: FeatureConfig) -> dict[str, Any]:
    """Settings of a feature map, for a record; without those of the views, which only the model `hidden` reads."""
    views = ("hidden_splits", "half_dim", "link_dim")
    return {name: value for name, value in asdict(config).items() if name not in views}


class System(Protocol):
    """A system that gives vectors, and needs no classes for it."""

    name: str

    def settings(self) -> dict[str, Any]:
        """All that decides its result besides data and seed, ready for JSON."""
        ...

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train on a graph; hand every state worth judging to `consider`; return the seconds of training alone."""
        ...


@dataclass(frozen=True)
class Labelled:
    """Nodes of the training graph, by index, and their classes 0, 1, ..."""

    nodes: IntArray
    classes: IntArray


@dataclass(frozen=True)
class Fitted:
    """A trained classifier; `epoch` is the one that validation chose."""

    epoch: int
    present: Callable[[IntArray], IntArray]  # classes of nodes of the training graph, by index
    new: Callable[[Graph, IntArray], IntArray]  # classes of nodes of a larger graph, by index


@runtime_checkable
class Classifier(Protocol):
    """A system that is trained on classes and gives classes."""

    name: str

    def settings(self) -> dict[str, Any]:
        """All that decides its result besides data and seed, ready for JSON."""
        ...

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train on the `train` nodes, stop by the `val` nodes; also the seconds of training alone."""
        ...
