"""The JSON of requests and responses. Limits on their size are the server's (`ServeLimits`)."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator

from sanne.errors import FieldError
from sanne.graph.graph import FloatArray
from sanne.graph.ids import control_character
from sanne.serve.live.features import NewNode
from sanne.serve.live.features import NodeId as EngineId

EXPLAINED_BY_DEFAULT = 10  # nodes, for "explain": true


def _without_control_characters(node_id: EngineId) -> EngineId:
    if isinstance(node_id, str) and (character := control_character(node_id)) is not None:
        raise ValueError(f"this id has the control character {character!r}: leave it out")
    return node_id


# For the description only; `_without_control_characters` checks.
NO_CONTROL_CHARACTERS: dict[str, Any] = {"pattern": r"^[^\x00-\x1f\x7f-\x9f]+$"}

NodeId = Annotated[
    Annotated[str, Field(min_length=1, max_length=512, json_schema_extra=NO_CONTROL_CHARACTERS)]
    | Annotated[int, Field(ge=-(2**63), lt=2**63)],
    Field(description="Your name for a node: a string or an integer."),
    AfterValidator(_without_control_characters),
]
Weight = Annotated[float, Field(ge=1e-30, le=1e30, description="How much walks prefer this link.")]
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
Count = Annotated[StrictInt, Field(ge=0)]


class Strict(BaseModel):
    """Refuses unknown fields, strings instead of numbers, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Link(Strict):
    to: NodeId
    weight: Weight = 1.0


class SparseRow(Strict):
    """The non-zero numbers of a row and their indices, counted from 0."""

    indices: list[Annotated[int, Field(ge=0, lt=2**31)]]
    values: list[Number]

    @model_validator(mode="after")
    def _same_length(self) -> "SparseRow":
        if len(self.indices) != len(self.values):
            raise ValueError(f"{len(self.indices)} indices but {len(self.values)} values: give one value per index")
        if len(set(self.indices)) != len(self.indices):
            raise ValueError("an index appears twice: give each once")
        return self


class NodeContent(Strict):
    """A node without its id: text or features, whichever the model reads, and links."""

    text: str | None = None
    features: list[Number] | SparseRow | None = None
    links: list[NodeId | Link] = Field(default=[], description="Existing nodes, or other nodes of this request.")

    def to_new_node(self, id: EngineId, field: str, width: int | None) -> NewNode:
        """Convert to the engine's form; `field` is the path in the request, `width` the number of features."""
        links = tuple((link.to, link.weight) if isinstance(link, Link) else (link, 1.0) for link in self.links)
        return NewNode(id, self.text, _row(self.features, f"{field}.features", width), links)


class Guest(NodeContent):
    id: NodeId | None = Field(default=None, description="Only needed if other nodes of this request link to it.")


class Node(Guest):
    id: NodeId


class Wanted(Strict):
    """What to return about each node."""

    explain: StrictBool | Count = Field(
        default=False,
        description=f"List this many nodes that contributed to each vector; true: {EXPLAINED_BY_DEFAULT}.",
    )
    similar: Count = Field(default=0, description="List this many of the nearest nodes.")
    predict: StrictBool = Field(default=False, description="Predict labels, if the model has a classifier.")
    vectors: StrictBool = Field(default=True, description="false: leave the vectors out of the response.")

    @property
    def explained(self) -> int:
        """`explain` as a number."""
        return EXPLAINED_BY_DEFAULT if self.explain is True else int(self.explain)


class Guests(Wanted):
    """Nodes to embed. They may link to existing nodes and to one another."""

    nodes: list[Guest] = Field(min_length=1)


class Nodes(Wanted):
    """Nodes to add. They may link to existing nodes and to one another."""

    nodes: list[Node] = Field(min_length=1)


class PredictQuery(Strict):
    """Existing nodes, fitted or added, whose labels to predict."""

    ids: list[NodeId] = Field(min_length=1)


class Edge(Strict):
    src: NodeId
    dst: NodeId
    weight: Weight = 1.0


class Edges(Strict):
    """Edges between existing nodes. An existing edge gets the new weight, a repeated one the last."""

    edges: list[Edge] = Field(min_length=1)


class SimilarQuery(Strict):
    """What to search for: a vector, or a node described as for /v1/embed."""

    vector: list[Number] | None = None
    node: NodeContent | None = None
    k: Annotated[StrictInt, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _one_kind(self) -> "SimilarQuery":
        if (self.vector is None) == (self.node is None):
            raise ValueError("give either vector or node")
        return self


class Refresh(Strict):
    """How many vectors to recompute at most."""

    limit: Annotated[StrictInt, Field(ge=1)] = 1000


class Named(BaseModel):
    id: str | int


class Share(Named):
    share: float


class Similar(Named):
    similarity: float = Field(description="Cosine of the two vectors.")


class Neighbour(Named):
    weight: float


class Likely(BaseModel):
    label: str | int
    probability: float


class Prediction(BaseModel):
    labels: list[Likely] = Field(description="The label, or all labels that are likely enough, likeliest first.")
    runner_up: Likely | None = Field(description="The likeliest of the other labels.")


Uncertainty = Annotated[
    float | None,
    Field(description="How undecided the vector is, from 0 to below 1; null if the model cannot tell."),
]


class About(BaseModel):
    uncertainty: Uncertainty
    note: str | None = Field(default=None, description="A remark on the vector, such as that the node has no links.")


class AboutNode(Named, About):
    pass


class Predicted(Prediction, AboutNode):
    """The labels of an existing node."""


class Predictions(BaseModel):
    nodes: list[Predicted]


class Embedded(AboutNode):
    vector: list[float] | None = Field(default=None, description="Left out if the request has vectors: false.")
    explanation: list[Share] | None = Field(
        default=None, description="The nodes that contributed to the vector, if asked for."
    )
    similar: list[Similar] | None = Field(default=None, description="The nearest nodes, if asked for.")
    prediction: Prediction | None = Field(default=None, description="Labels, if asked for.")


class EmbeddedNodes(BaseModel):
    nodes: list[Embedded]


class KnownNode(AboutNode):
    vector: list[float]
    neighbours: list[Neighbour] = Field(description="The first 50.")
    degree: int = Field(description="Number of neighbours.")
    label: str | int | None
    text: str | None
    added: bool = Field(description="Whether it was added after the fit.")
    stale: bool = Field(description="Whether something nearby changed since its vector was computed.")


class SimilarNodes(About):
    similar: list[Similar]


class Deleted(Named):
    deleted: bool


class AddedEdges(BaseModel):
    edges: int = Field(description="How many distinct edges were stored.")


class Refreshed(BaseModel):
    refreshed: int = Field(description="Vectors that were recomputed.")
    stale: int = Field(description="Vectors that are still out of date.")


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
