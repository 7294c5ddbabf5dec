"""What the page asks for beside the engine's own routes: the map, newcomers on it, and nodes by a search."""

import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from sanne.errors import FieldError, UnknownNodeError
from sanne.graph.graph import FloatArray, Graph
from sanne.serve.engine.engine import Engine
from sanne.serve.engine.nodes import NodeId
from sanne.serve.explorer.map import NO_COLOUR, NodeMap
from sanne.serve.explorer.search import NodeSearch
from sanne.serve.http.failures import JsonRoute
from sanne.serve.http.schemas import ErrorAnswer, Number, Strict
from sanne.serve.http.work import to_json

Read = Callable[[Callable[[], Any]], Awaitable[Any]]

_PLACED_AT_ONCE = 200  # newcomers; the page asks again for more
_LEARNED_AT_ONCE = 1000
_FOREVER = {"cache-control": "private, max-age=31536000, immutable"}
_NOT_KEPT = {"cache-control": "no-store"}


class MapInfo(BaseModel):
    """The map in words. Points are at /v1/map/points, ids at /v1/map/ids, newcomers at /v1/map/arrivals."""

    version: str = Field(description="Another one when points or colours are others.")
    kind: Literal["tsne", "pca"]
    progress: float | None = Field(description="Of a better map that is being made; null when there is none.")
    drawn: int = Field(description="Nodes on the map: all, or a fair sample.")
    total: int = Field(description="Nodes that the map stands for.")
    colouring: Literal["label", "community", "none"]
    classes: list[str] = Field(description="What the colours mean.")
    no_colour: int = Field(description="The colour of a node that has none.")
    arrived: int = Field(description="Nodes that were added since the map's own, whether still there or not.")
    deleted: int = Field(description="Nodes that were deleted; which ones: /v1/map/deleted.")
    reads: Literal["text", "features", "links"] = Field(description="What the model reads of a node.")
    feature_width: int | None = Field(description="Numbers in a row of features.")


class Arrival(BaseModel):
    id: str | int
    x: float
    y: float
    colour: int


class Arrivals(BaseModel):
    """Newcomers on the map, in the order in which they came."""

    version: str = Field(description="The map that the points are on.")
    next: int = Field(description="What to send as `after` to go on from here.")
    nodes: list[Arrival]


class PlacedNode(Strict):
    vector: list[Number]
    spread: Annotated[float, Field(ge=0, le=1e30)] | None = None


class PlaceQuery(Strict):
    """Vectors, from /v1/embed for example, to be put on the map."""

    nodes: list[PlacedNode] = Field(min_length=1, max_length=16)


class Place(BaseModel):
    x: float
    y: float
    colour: int
    reach: float = Field(description="How far off it would fall if its vector moved by its spread.")


class Places(BaseModel):
    version: str
    nodes: list[Place]


class FoundNode(BaseModel):
    id: str | int
    snippet: str | None = Field(description="A part of its text.")


class FoundNodes(BaseModel):
    nodes: list[FoundNode]
    complete: bool = Field(description="Whether all nodes were looked at.")


@dataclass
class _Newcomer:
    id: NodeId
    vector: FloatArray
    place: dict[str, Any] | None = None  # on the map of `Explorer._version`


class Explorer:
    """The map and the search, kept up with what the engine was told.

    `graph` and `store` are what the engine was opened with; `labels` are the graph's in words, if it has any. Nothing
    is computed until somebody looks: a server without visitors has no map to make.
    """

    def __init__(self, engine: Engine, graph: Graph, store: str | Path, labels: npt.NDArray[Any] | None = None) -> None:
        self.engine = engine
        self.search = NodeSearch(graph, engine.texts_since)
        self._graph = graph
        self._store = Path(store)
        self._labels = graph.labels if labels is None else labels
        self._map: NodeMap | None = None
        self._newcomers: list[_Newcomer | None] = []  # None: it came and went
        self._version = ""  # of the map that newcomers were placed on
        self._lock = threading.RLock()

    @property
    def map(self) -> NodeMap:
        """The map; at first it is made, in a plain form at once, and a better one in the background."""
        with self._lock:
            if self._map is None:
                vectors = np.load(self._store / "vectors.npy", mmap_mode="r")  # as all began: the map stays as it is
                self._map = NodeMap(self._store, vectors, self._labels)
                self._map.start()
            return self._map

    def close(self) -> None:
        """Give up a map that is being made."""
        if self._map is not None:
            self._map.close()

    def info(self) -> bytes:
        """As in MapInfo."""
        layout = self.map.layout
        return to_json(
            {
                "version": layout.version,
                "kind": layout.kind,
                "progress": self.map.progress,
                "drawn": len(layout.rows),
                "total": self.map.total,
                "colouring": layout.colouring,
                "classes": layout.classes,
                "no_colour": NO_COLOUR,
                "arrived": self.engine.num_arrived,
                "deleted": self.engine.num_gone,
                "reads": self.engine.reads,
                "feature_width": self.engine.feature_width,
            }
        )

    def ids(self) -> bytes:
        """The ids of the drawn nodes."""
        return to_json(np.asarray(self._graph.node_ids[self.map.layout.rows]).tolist())

    def points(self) -> tuple[bytes, str]:
        """x and y of all points as 32-bit floats, then all colours as 16-bit integers, smallest byte first."""
        layout = self.map.layout
        return layout.points.astype("<f4").tobytes() + layout.colours.astype("<u2").tobytes(), layout.version

    def arrivals(self, after: int) -> bytes:
        """As in Arrivals."""
        with self._lock:
            while len(self._newcomers) < min(after + _PLACED_AT_ONCE, self.engine.num_arrived):
                self._learn()
            known = self._newcomers[after : after + _PLACED_AT_ONCE]
            there = [newcomer for newcomer in known if newcomer is not None]
            version = self._place_newcomers(there)
            nodes = [{"id": newcomer.id, **(newcomer.place or {})} for newcomer in there]
        return to_json({"version": version, "next": after + len(known), "nodes": nodes})

    def place(self, query: PlaceQuery) -> bytes:
        """As in Places."""
        for number, node in enumerate(query.nodes):
            if len(node.vector) != self.engine.dim:
                field = f"nodes[{number}].vector"
                raise FieldError(field, f"{len(node.vector)} numbers, where the model has {self.engine.dim}")
        vectors = np.array([node.vector for node in query.nodes], np.float32)
        points, colours = self.map.place(vectors)
        nodes = [
            {**_place(point, colour), "reach": self.map.reach(vector, node.spread or 0.0, point)}
            for point, colour, vector, node in zip(points, colours, vectors, query.nodes, strict=True)
        ]
        return to_json({"version": self.map.layout.version, "nodes": nodes})

    def find(self, query: str, limit: int) -> bytes:
        """As in FoundNodes."""
        hits, complete = self.search.find(query, limit)
        nodes = [{"id": hit.id, "snippet": hit.snippet} for hit in hits]
        return to_json({"nodes": nodes, "complete": complete})

    def router(self, read: Read) -> APIRouter:
        """The routes; `read` runs what computes in a thread of its own."""
        router = APIRouter(route_class=JsonRoute)
        errors: dict[int | str, dict[str, Any]] = {"default": {"model": ErrorAnswer}, 422: {"model": ErrorAnswer}}
        binary: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}

        async def info() -> Response:
            """What the map is, and how far it is."""
            return Response(await read(self.info), media_type="application/json", headers=_NOT_KEPT)

        async def points(version: str = "") -> Response:
            """The points: x and y as 32-bit floats for all, then colours as 16-bit integers for all."""
            body, now = await read(self.points)
            headers = {"x-map-version": now, **(_FOREVER if version == now else _NOT_KEPT)}
            return Response(body, media_type="application/octet-stream", headers=headers)

        async def ids() -> Response:
            """The ids of the points, in the same order."""
            return Response(await read(self.ids), media_type="application/json", headers=_NOT_KEPT)

        async def arrivals(after: Annotated[int, Query(ge=0, lt=2**31)] = 0) -> Response:
            """Nodes that were added, with their points."""
            body = await read(lambda: self.arrivals(after))
            return Response(body, media_type="application/json", headers=_NOT_KEPT)

        async def deleted() -> Response:
            """The ids of nodes that are on the map no more."""
            body = await read(lambda: to_json(self.engine.gone()))
            return Response(body, media_type="application/json", headers=_NOT_KEPT)

        async def place(request: PlaceQuery) -> Response:
            """Where vectors would stand on the map."""
            return Response(await read(lambda: self.place(request)), media_type="application/json")

        async def find(
            q: Annotated[str, Query(max_length=200)], limit: Annotated[int, Query(ge=1, le=50)] = 10
        ) -> Response:
            """Nodes by a part of their id, or by words of their text."""
            return Response(await read(lambda: self.find(q, limit)), media_type="application/json", headers=_NOT_KEPT)

        for method, path, handler, answer in (
            ("GET", "/v1/map", info, MapInfo),
            ("GET", "/v1/map/ids", ids, list[str | int]),
            ("GET", "/v1/map/arrivals", arrivals, Arrivals),
            ("GET", "/v1/map/deleted", deleted, list[str | int]),
            ("POST", "/v1/map/place", place, Places),
            ("GET", "/v1/search", find, FoundNodes),
        ):
            router.add_api_route(path, handler, methods=[method], response_model=answer, responses=errors)
        router.add_api_route(
            "/v1/map/points", points, methods=["GET"], response_class=Response, responses=errors | binary
        )
        return router

    def _learn(self) -> None:
        """Ask the engine for nodes that were added since the last time; of very many, for some at a time."""
        for node_id in self.engine.arrived(len(self._newcomers), _LEARNED_AT_ONCE):
            newcomer = None
            with contextlib.suppress(UnknownNodeError):  # gone in the meantime
                if node_id is not None:
                    info = self.engine.node(node_id)
                    newcomer = _Newcomer(node_id, info.vector)
            self._newcomers.append(newcomer)

    def _place_newcomers(self, newcomers: list[_Newcomer]) -> str:
        """Place those who have no point yet; all are placed anew where the map is another one."""
        layout = self.map.layout
        if layout.version != self._version:
            self._version = layout.version
            for newcomer in self._newcomers:
                if newcomer is not None:
                    newcomer.place = None
        waiting = [newcomer for newcomer in newcomers if newcomer.place is None]
        if waiting:
            points, colours = self.map.place(np.array([newcomer.vector for newcomer in waiting]))
            for newcomer, point, colour in zip(waiting, points, colours, strict=True):
                newcomer.place = _place(point, colour)
        return self._version


def _place(point: Any, colour: Any) -> dict[str, Any]:
    return {"x": float(point[0]), "y": float(point[1]), "colour": int(colour)}
