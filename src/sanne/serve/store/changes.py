"""What a store keeps: the nodes and edges that are not as in the base graph, each as it is now."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sanne.graph.graph import FloatArray


@dataclass(frozen=True, eq=False)
class NodeRow:
    """A node that was added or replaced, or a node of the base of which only the vector was refreshed."""

    id: str
    kind: Literal["added", "replaced", "refreshed"]
    vector: FloatArray
    uncertainty: float
    text: str | None = None
    features: FloatArray | None = None  # as they were sent


@dataclass(eq=False)
class Changes:
    """What is to be written, by id. A node that is written as replaced or refreshed stays added if it was added."""

    nodes: dict[str, NodeRow] = field(default_factory=dict)
    edges: dict[tuple[str, str], float] = field(default_factory=dict)  # zero: removed
    deleted: dict[str, bool] = field(default_factory=dict)  # with all their edges; whether they are of the base
    stale: dict[str, bool | None] = field(default_factory=dict)  # whether their own edges changed; None: not any more

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges or self.deleted or self.stale)

    def copy(self) -> "Changes":
        return Changes(dict(self.nodes), dict(self.edges), dict(self.deleted), dict(self.stale))


class Contents(Protocol):
    """What a store has; reading it may raise StoreError."""

    def deleted(self) -> Iterator[str]:
        """The ids of deleted nodes of the base."""

    def nodes(self) -> Iterator[list[NodeRow]]:
        """Nodes, some at a time, in the order in which they were added."""

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """Edges that are not as in the base, with their weights; zero: removed."""

    def stale(self) -> Iterator[tuple[str, bool]]:
        """Nodes whose vectors are out of date, and whether their own edges changed."""
