"""What clients send and get: the JSON of requests and answers. How much of it is allowed is for the server to say."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from sanne.errors import FieldError
from sanne.graph.graph import FloatArray
from sanne.graph.ids import control_character
from sanne.serve.engine.nodes import NewNode
from sanne.serve.engine.nodes import NodeId as EngineId

NAMED_BY_DEFAULT = 10  # nodes, for "explain": true


def _without_control_characters(node_id: EngineId) -> EngineId:
    if isinstance(node_id, str) and (character := control_character(node_id)) is not None:
        raise ValueError(f"the control character {character!r} stands in this id: leave it out")
    return node_id


# For the description; the check itself is `_without_control_characters`.
NO_CONTROL_CHARACTERS: dict[str, Any] = {"pattern": r"^[^\x00-\x1f\x7f-\x9f]+$"}

NodeId = Annotated[
    Annotated[str, Field(min_length=1, max_length=512, json_schema_extra=NO_CONTROL_CHARACTERS)]
    | Annotated[int, Field(ge=-(2**63), lt=2**63)],
    Field(description="Your name for a node: a string or a whole number."),
    AfterValidator(_without_control_characters),
]
Weight = Annotated[float, Field(ge=1e-30, le=1e30, description="How strongly walks prefer this link.")]
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Count = Annotated[StrictInt, Field(ge=0)]


class Strict(BaseModel):
    """No guessing: unknown fields, text for numbers and numbers that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Link(Strict):
    to: NodeId
    weight: Weight = 1.0


class SparseRow(Strict):
    """The numbers of a row that are not zero, and their places, counted from 0."""

    indices: list[Annotated[int, Field(ge=0, lt=2**31)]]
    values: list[Number]

    @model_validator(mode="after")
    def _same_length(self) -> "SparseRow":
        if len(self.indices) != len(self.values):
            raise ValueError(f"{len(self.indices)} indices but {len(self.values)} values: give one value per index")
        if len(set(self.indices)) != len(self.indices):
            raise ValueError("an index stands there twice: give each once")
        return self


class NodeContent(Strict):
    """A node without its name: text or features, whichever the model reads, and links."""

    text: str | None = None
    features: list[Number] | SparseRow | None = None
    links: list[NodeId | Link] = Field(default=[], description="Known nodes, or others of this request.")

    @model_validator(mode="after")
    def _one_kind(self) -> "NodeContent":
        if self.text is not None and self.features is not None:
            raise ValueError("text and features: give the one that the model reads, or neither")
        return self

    def to_new_node(self, id: EngineId, field: str, width: int | None) -> NewNode:
        """As the engine takes it; `field` is where this stands in the request, `width` the model's features."""
        links = tuple((link.to, link.weight) if isinstance(link, Link) else (link, 1.0) for link in self.links)
        return NewNode(id, self.text, _row(self.features, f"{field}.features", width), links)


class Node(NodeContent):
    id: NodeId


class Nodes(Strict):
    """Nodes to be embedded. They may link to known nodes and to one another."""

    nodes: list[Node] = Field(min_length=1)
    explain: StrictBool | Count = Field(
        default=False, description=f"How many nodes to name that each vector drew on; true: {NAMED_BY_DEFAULT}."
    )
    similar: Count = Field(default=0, description="How many of the nearest nodes to name.")

    @property
    def named(self) -> int:
        """`explain` as a number."""
        return NAMED_BY_DEFAULT if self.explain is True else int(self.explain)


class Edge(Strict):
    src: NodeId
    dst: NodeId
    weight: Weight = 1.0


class Edges(Strict):
    """Edges between nodes that are there. One that is there already gets the new weight."""

    edges: list[Edge] = Field(min_length=1)


class SimilarQuery(Strict):
    """What to look for: a vector, or a node as it would be described to /v1/embed."""

    vector: list[Number] | None = None
    node: NodeContent | None = None
    k: Annotated[StrictInt, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _one_kind(self) -> "SimilarQuery":
        if (self.vector is None) == (self.node is None):
            raise ValueError("give either vector or node")
        return self


class Refresh(Strict):
    """How many nodes to read again at most."""

    limit: Annotated[StrictInt, Field(ge=1)] = 1000


class Share(BaseModel):
    id: str | int
    share: float


class Similar(BaseModel):
    id: str | int
    similarity: float = Field(description="Cosine of the two vectors.")


class Embedded(BaseModel):
    id: str | int
    vector: list[float]
    spread: float | None = Field(description="Length of the vector's standard error over its walks.")
    explanation: list[Share] | None = Field(default=None, description="What the vector was made of, if asked for.")
    similar: list[Similar] | None = Field(default=None, description="The nearest nodes, if asked for.")


class EmbeddedNodes(BaseModel):
    nodes: list[Embedded]


class Neighbour(BaseModel):
    id: str | int
    weight: float


class KnownNode(BaseModel):
    id: str | int
    vector: list[float]
    spread: float | None
    neighbours: list[Neighbour] = Field(description="The first of them.")
    degree: int = Field(description="How many neighbours there are.")
    label: str | int | None
    text: str | None
    added: bool = Field(description="Whether it came after the fit.")
    stale: bool = Field(description="Whether something changed nearby since its vector was read.")


class SimilarNodes(BaseModel):
    similar: list[Similar]


class Deleted(BaseModel):
    id: str | int
    deleted: bool


class AddedEdges(BaseModel):
    edges: int


class Refreshed(BaseModel):
    refreshed: int = Field(description="Nodes that were read again.")
    stale: int = Field(description="Nodes that still wait for it.")


class Health(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ready"]
    nodes: int
    edges: int
    dim: int
    reads: Literal["text", "features", "links"] = Field(description="What the model reads of a node.")
    feature_width: int | None = Field(description="Numbers in a row of features.")


class ErrorPart(BaseModel):
    code: str
    message: str
    field: str | None = Field(default=None, description="The part of the request at fault.")


class ErrorAnswer(BaseModel):
    error: ErrorPart


def _row(features: list[float] | SparseRow | None, field: str, width: int | None) -> FloatArray | None:
    if features is None:
        return None
    if not isinstance(features, SparseRow):
        return np.array(features, np.float32)
    if width is None:
        raise FieldError(field, "the model does not read features")
    row = np.zeros(width, np.float32)
    if features.indices and (largest := max(features.indices)) >= width:
        raise FieldError(
            f"{field}.indices", f"{largest} is out of range: the model reads {width} numbers, 0 to {width - 1}"
        )
    row[features.indices] = features.values
    return row
