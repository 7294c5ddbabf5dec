"""What every system in a comparison offers: fit on a training graph, vectors for present and for new nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sanne.graph.csr import FloatArray, Graph, IntArray


@dataclass(frozen=True)
class Snapshot:
    """A system at one point of its training; nothing is computed before it is asked for."""

    epoch: int
    present: Callable[[], FloatArray]  # vectors of the training graph's nodes, in its order
    new: Callable[[Graph, IntArray], FloatArray]  # vectors of nodes of a larger graph, by index


class System(Protocol):
    """A system to compare."""

    name: str

    def settings(self) -> dict[str, Any]:
        """All that decides its result besides data and seed, ready for JSON."""
        ...

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train on a graph; hand every state worth judging to `consider`; return the seconds of training alone."""
        ...
