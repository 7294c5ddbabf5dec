"""What a feature map is: it turns nodes into the vectors that the encoder reads. New ones register here."""

from abc import ABC, abstractmethod
from typing import Any, Literal, Self, TypeVar

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph, IntArray

Reads = Literal["text", "counts", "numbers", "nothing"]


class FeatureMap(ABC):
    """A fitted map from a graph's nodes to vectors; new nodes go through the same map.

    A map declares what it reads of a node besides its links. The server and the command line look at `reads`,
    never at the name or at what is inside.
    """

    name: str  # a value of the setting `features`, and what the model folder calls it
    width: int
    reads: Reads
    directional: bool = False  # whether only the direction of a vector counts, as with words
    costly: bool = False  # whether vectors are worth keeping; only for maps where a node's does not depend on others

    @property
    def base_name(self) -> str:
        """The value of the setting `features` that it stands for."""
        return self.name

    @property
    def link_columns(self) -> slice:
        """Which numbers of a vector depend on the node's links; the others only on the node itself."""
        return slice(0, 0)

    @property
    def reads_links(self) -> bool:
        """Whether some number of a vector depends on the node's links."""
        return self.link_columns.stop > self.link_columns.start

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        """The numbers of `link_columns` for some nodes, from their links alone."""
        raise NotImplementedError

    def rows_stay_on_disk(self, graph: Graph) -> bool:
        """Whether a graph's rows are mapped from a file and cheap to transform, so that they are never held at once."""
        return False

    @classmethod  # noqa: B027 (a map may have nothing to check)
    def check(cls, graph: Graph) -> None:
        """Raise an InputError if a graph lacks what the map reads; called before `fit`."""

    @classmethod
    @abstractmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Learn the map from a graph."""

    @classmethod
    def fit_columns(cls, graph: Graph, config: FeatureConfig, seed: int) -> tuple[Self, Any]:
        """A fitted map and the `columns` of the graph's nodes."""
        fitted = cls.fit(graph, config, seed)
        return fitted, fitted.columns(graph)

    @classmethod
    def fit_transform(cls, graph: Graph, config: FeatureConfig, seed: int) -> tuple[Self, FloatArray]:
        """A fitted map and the vectors of the graph's nodes."""
        fitted, columns = cls.fit_columns(graph, config, seed)
        return fitted, fitted.reduced(columns)

    @property
    def num_columns(self) -> int:
        """How many `columns` there are."""
        return self.width

    def columns(self, graph: Graph, nodes: IntArray | None = None) -> Any:
        """What nodes have before it is reduced to `width` numbers, (count, columns), sparse or dense."""
        return self.transform(graph, nodes)

    def reduced(self, columns: Any) -> FloatArray:
        """The vectors of nodes from what `columns` gave."""
        vectors: FloatArray = columns
        return vectors

    @property
    def basis(self) -> FloatArray | None:
        """What `reduced` multiplies columns by, (columns, width); None: it takes them as they are."""
        return None

    @property
    def column_names(self) -> list[Any] | None:
        """What each column counts, a word or the id of a node; None where nobody named them.

        The last name stands for all columns from there on.
        """
        return None

    @abstractmethod
    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        """Vectors of some nodes (all by default), (count, width); perhaps read-only."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """What must be saved: a JSON part and an array part."""

    @classmethod
    @abstractmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        """The reverse of `state`; an InputError for parts that do not fit together, as a damaged file may hold."""


_MAPS: dict[str, type[FeatureMap]] = {}
Map = TypeVar("Map", bound=FeatureMap)


def register_features(kind: type[Map]) -> type[Map]:
    """Make a map available under its name, as a value of the setting `features`. Usable as a decorator."""
    if _MAPS.setdefault(kind.name, kind) is not kind:
        raise InputError(f"there is already a feature map {kind.name!r}")
    return kind


def feature_kind(name: str) -> type[FeatureMap]:
    """The class that a name stands for."""
    if name not in _MAPS:
        known = ", ".join(sorted(_MAPS))
        raise InputError(f"unknown features {name!r}: choose one of {known}, or import the module that registers it")
    return _MAPS[name]
