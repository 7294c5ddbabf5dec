"""What goes into the engine and what comes out: nodes, answers, and what is known of a node."""

from dataclasses import dataclass

from sanne.graph.graph import FloatArray

NodeId = str | int


@dataclass(frozen=True, eq=False)
class NewNode:
    """A node as its sender describes it.

    `features` is a dense row of `Engine.feature_width` numbers. A node with neither text nor features is read by its
    links alone. A link names a known node or another node of the same group, and has a weight.
    """

    id: NodeId
    text: str | None = None
    features: FloatArray | None = None
    links: tuple[tuple[NodeId, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Answer:
    """A node's vector, how sure it is, and on request why, and what is near."""

    id: NodeId
    vector: FloatArray  # (dim,)
    spread: float  # length of the vector's standard error; not a number where a model uses a single walk
    explanation: list[tuple[NodeId, float]] | None = None  # (node, share of the vector), largest first
    similar: list[tuple[NodeId, float]] | None = None  # (node, cosine), nearest first


@dataclass(frozen=True, eq=False)
class NodeInfo:
    """What is known of a node that is there."""

    id: NodeId
    vector: FloatArray
    spread: float  # not a number where the vector came from the paper's table
    neighbours: list[tuple[NodeId, float]]  # (node, weight), the first `NEIGHBOURS_SHOWN`
    degree: int  # how many neighbours there are; in a directed graph, in the direction that walks take
    label: str | int | None
    text: str | None
    added: bool  # since the fit
    stale: bool  # something changed nearby since its vector was computed: `refresh` brings it up to date
