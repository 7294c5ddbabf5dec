"""The engine behind the server: model, live graph and store joined. No HTTP here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from sanne.errors import SanneError
from sanne.graph.csr import FloatArray, Graph
from sanne.serve.nodes import Answer, NewNode, NodeId, NodeInfo

Found = list[tuple[NodeId, float]]


class Engine:
    """Embeds, keeps and finds nodes. One thread computes or changes at a time; reads may come from any thread.

    `UnknownNodeError`: no such node (404). `NodeExistsError`: the id is taken (409). `FieldError`: something in the
    request is wrong, its `field` says where (422). `StoreError`: the store cannot be used.
    """

    dim: int
    reads: Literal["text", "features", "links"]  # what the model reads of a node besides its links
    feature_width: int | None  # numbers in a row of features, if it reads features

    @classmethod
    def open(cls, model_folder: str | Path, graph: Graph, store_folder: str | Path) -> Self:
        """Load the model and what the store kept; a new store is made where there is none."""
        raise NotImplementedError

    def embed(
        self, groups: Sequence[Sequence[NewNode]], *, explain: Sequence[int], similar: Sequence[int]
    ) -> list[list[Answer] | SanneError]:
        """Answers for several requests, computed together; nothing is kept, and groups do not see each other.

        `explain[i]` and `similar[i]` say how many nodes to name for each node of group i (0: none). A group that is
        wrong gives its error in its place.
        """
        raise NotImplementedError

    def add(
        self, groups: Sequence[Sequence[NewNode]], *, explain: Sequence[int], similar: Sequence[int]
    ) -> list[list[Answer] | SanneError]:
        """Like `embed`, and the nodes stay: they are durable when this returns, all groups in one commit."""
        raise NotImplementedError

    def replace(self, node: NewNode) -> Answer:
        """Give a node that is there other attributes and links (in a directed graph, links from it)."""
        raise NotImplementedError

    def delete(self, id: NodeId) -> None:
        """Remove a node and its edges."""
        raise NotImplementedError

    def add_edges(self, edges: Sequence[tuple[NodeId, NodeId, float]]) -> None:
        """Add edges between nodes that are there; an edge that is there already gets the new weight."""
        raise NotImplementedError

    def node(self, id: NodeId) -> NodeInfo:
        """What is known of a node."""
        raise NotImplementedError

    def similar_to(self, id: NodeId, k: int) -> Found:
        """The `k` nodes nearest to a node, itself left out, as (id, cosine)."""
        raise NotImplementedError

    def similar_to_vector(self, vector: FloatArray, k: int) -> Found:
        """The `k` nodes nearest to a vector, as (id, cosine)."""
        raise NotImplementedError

    def refresh(self, limit: int | None = None) -> int:
        """Read nodes near changes again, at most `limit`; returns how many. Their vectors are durable afterwards."""
        raise NotImplementedError

    def statistics(self) -> dict[str, Any]:
        """Counts: nodes, edges, added, deleted, stale, dim, reads, journal_rows."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the store."""
        raise NotImplementedError
