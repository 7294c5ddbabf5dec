"""The HTTP application: routes over the engine. Everything that computes happens in worker threads."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Body, FastAPI, Path, Query, Response

from sanne.errors import FieldError
from sanne.serve.engine.engine import Engine
from sanne.serve.engine.nodes import Answer, NewNode
from sanne.serve.explorer import pages
from sanne.serve.http.batching import Worker
from sanne.serve.http.errors import Refusal
from sanne.serve.http.failures import JsonRoute, add_failures
from sanne.serve.http.guard import Guard, OpenBodies
from sanne.serve.http.memory import give_back
from sanne.serve.http.metrics import Measure, Metrics, RouteNames
from sanne.serve.http.openapi import describe
from sanne.serve.http.schemas import (
    NO_CONTROL_CHARACTERS,
    AddedEdges,
    Deleted,
    Edges,
    Embedded,
    EmbeddedNodes,
    ErrorAnswer,
    Health,
    KnownNode,
    NodeContent,
    Nodes,
    Ready,
    Refresh,
    Refreshed,
    SimilarNodes,
    SimilarQuery,
)
from sanne.serve.http.work import Described, Work, known_json, node_json, nodes_json, similar_json, to_json
from sanne.serve.limits import ServeLimits

FREE_PATHS = ("/healthz", "/readyz", *pages.PATHS)  # need no token
_READS_WAITING = 256

PathId = Annotated[str, Path(description="A node's id.", min_length=1, json_schema_extra=NO_CONTROL_CHARACTERS)]


class Api:
    """What the routes share, and the routes themselves."""

    def __init__(self, engine: Engine, config: ServeLimits, known_ids: Sequence[Any] = ()) -> None:
        self.engine = engine
        self.config = config
        self.known_ids = known_ids
        self.metrics = Metrics()
        self.bodies = OpenBodies(config)
        self.work = Work(engine)
        report = self.metrics.count_batch
        seconds = config.max_queue_seconds
        self.writer = Worker(
            "sanne-compute",
            max_queue=config.max_queue_nodes,
            max_batch=config.max_batch_nodes,
            max_seconds=seconds,
            report=report,
            idle=give_back,
        )
        self.reader = Worker("sanne-read", max_queue=_READS_WAITING, max_batch=1, max_seconds=seconds, report=report)
        self._add_gauges()

    def _add_gauges(self) -> None:
        gauge = self.metrics.gauge
        gauge("queue_nodes", "Nodes that wait to be computed.", lambda: self.writer.waiting)
        gauge("queue_reads", "Look-ups that wait.", lambda: self.reader.waiting)
        gauge("open_bodies", "Requests that are still being sent.", lambda: len(self.bodies))
        gauge("nodes", "Nodes in the graph.", lambda: self.work.statistics["nodes"])
        gauge("edges", "Edges in the graph.", lambda: self.work.statistics["edges"])
        gauge("stale_nodes", "Nodes that a refresh would read again.", lambda: self.work.statistics["stale"])

    async def warm_up(self) -> None:
        """Compute something, so that the first client does not wait for kernels to be loaded."""
        request = Described((NewNode(self._unused_id()),), 1, 1, nodes_json)
        with contextlib.suppress(Refusal):  # on a machine that is too busy it may wait for too long
            await self.writer.run(self.work.embed, request)

    async def embed(self, request: Nodes) -> Response:
        """Vectors of nodes that are not there, from their text or features and their links. Nothing is kept."""
        return await self._described(request, self.work.embed)

    async def add(self, request: Nodes) -> Response:
        """Like /v1/embed, and the nodes stay: they can be linked to, found and walked through from now on."""
        return await self._described(request, self.work.add)

    async def _described(self, request: Nodes, kind: Any) -> Response:
        self._check_count(len(request.nodes), self.config.max_nodes, "nodes")
        self._check_count(request.named, self.config.max_similar, "explain")
        self._check_count(request.similar, self.config.max_similar, "similar")
        nodes = tuple(self._new_node(node.id, node, f"nodes[{i}]") for i, node in enumerate(request.nodes))
        described = Described(nodes, request.named, request.similar, nodes_json)
        return _json(await self.writer.run(kind, described, len(nodes)))

    async def node(self, node_id: PathId) -> Response:
        """What is known of a node: vector, spread, neighbours, label, text."""
        return _json(await self._read(lambda: known_json(self.engine.node(node_id))))

    async def replace(self, node_id: PathId, request: NodeContent) -> Response:
        """Give a node that is there another text or other features, and other links."""
        node = self._new_node(node_id, request, "")
        return _json(await self._change(lambda: node_json(self.engine.replace(node))))

    async def delete(self, node_id: PathId) -> Response:
        """Remove a node and its edges."""

        def run() -> bytes:
            known = self.engine.node(node_id).id  # a number, where ids are numbers
            answer = to_json({"id": known, "deleted": True})
            self.engine.delete(known)
            return answer

        return _json(await self._change(run))

    async def add_edges(self, request: Edges) -> Response:
        """Add edges between nodes that are there. Walks see them at once; vectors follow with /v1/refresh."""
        self._check_count(len(request.edges), self.config.max_nodes, "edges")
        edges = [(edge.src, edge.dst, edge.weight) for edge in request.edges]
        await self._change(partial(self.engine.add_edges, edges))
        return _json(to_json({"edges": len(edges)}))

    async def similar(self, node_id: PathId, k: Annotated[int, Query(ge=1)] = 10) -> Response:
        """The nodes nearest to a node."""
        self._check_count(k, self.config.max_similar, "k")
        return _json(await self._read(lambda: similar_json(self.engine.similar_to(node_id, k))))

    async def similar_query(self, request: SimilarQuery) -> Response:
        """The nodes nearest to a vector, or to a node as it is described."""
        self._check_count(request.k, self.config.max_similar, "k")
        if request.node is not None:
            node = self._new_node(self._unused_id(), request.node, "node")
            described = Described((node,), 0, request.k, _similar_of_first)
            return _json(await self.writer.run(self.work.embed, described))
        vector = np.array(request.vector, np.float32)
        if vector.shape != (self.engine.dim,):
            raise FieldError("vector", f"{vector.size} numbers, where the model's vectors have {self.engine.dim}")
        return _json(await self._read(lambda: similar_json(self.engine.similar_to_vector(vector, request.k))))

    async def refresh(self, request: Annotated[Refresh, Body()] = Refresh()) -> Response:  # noqa: B008
        """Read nodes near recent changes again, so that their vectors follow."""
        done = 0
        while done < request.limit:  # in parts, so that other requests come in between
            part = min(request.limit - done, self.config.max_batch_nodes)
            try:
                found = await self._change(partial(self.engine.refresh, part), part)
            except Refusal:
                if not done:
                    raise
                break
            done += found
            if not found:
                break
        return _json(to_json({"refreshed": done, "stale": self.work.statistics["stale"]}))

    async def health(self) -> Response:
        """Whether the process answers."""
        return _json(b'{"status":"ok"}')

    async def ready(self) -> Response:
        """Whether work is accepted, and what the model reads."""
        if not (self.writer.alive and self.reader.alive):
            raise Refusal(503, "not_ready", "the server is starting or shutting down", retry_after=5)
        engine, statistics = self.engine, self.work.statistics
        answer = {"status": "ready", "nodes": statistics["nodes"], "edges": statistics["edges"], "dim": engine.dim}
        return _json(to_json(answer | {"reads": engine.reads, "feature_width": engine.feature_width}))

    async def show_metrics(self) -> Response:
        """Counters in the format of Prometheus."""
        return Response(self.metrics.as_text(), media_type="text/plain; version=0.0.4")

    async def _change(self, call: Callable[[], Any], size: int = 1) -> Any:
        return await self.writer.run(self.work.change, call, size)

    async def _read(self, call: Callable[[], Any]) -> Any:
        return await self.reader.run(self.work.read, call)

    def _new_node(self, id: str | int, node: NodeContent, field: str) -> NewNode:
        self._check_count(len(node.links), self.config.max_links, f"{field}.links".lstrip("."))
        return node.to_new_node(id, field, self.engine.feature_width)

    def _unused_id(self) -> str | int:
        whole = len(self.known_ids) > 0 and isinstance(self.known_ids[0], int)
        return -1 - secrets.randbits(62) if whole else f"query {secrets.token_hex(16)}"

    @staticmethod
    def _check_count(count: int, limit: int, field: str) -> None:
        if count > limit:
            raise FieldError(field, f"{count:,}, where {limit:,} is the limit: ask for less at a time")

    def router(self) -> APIRouter:
        """All routes."""
        router = APIRouter(route_class=JsonRoute)
        errors: dict[int | str, dict[str, Any]] = {"default": {"model": ErrorAnswer}, 422: {"model": ErrorAnswer}}
        for method, path, handler, answer in (
            ("POST", "/v1/embed", self.embed, EmbeddedNodes),
            ("POST", "/v1/nodes", self.add, EmbeddedNodes),
            ("GET", "/v1/nodes/{node_id:path}", self.node, KnownNode),
            ("PUT", "/v1/nodes/{node_id:path}", self.replace, Embedded),
            ("DELETE", "/v1/nodes/{node_id:path}", self.delete, Deleted),
            ("POST", "/v1/edges", self.add_edges, AddedEdges),
            ("GET", "/v1/similar/{node_id:path}", self.similar, SimilarNodes),
            ("POST", "/v1/similar", self.similar_query, SimilarNodes),
            ("POST", "/v1/refresh", self.refresh, Refreshed),
            ("GET", "/healthz", self.health, Health),
            ("GET", "/readyz", self.ready, Ready),
        ):
            router.add_api_route(path, handler, methods=[method], response_model=answer, responses=errors)
        text: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
        router.add_api_route(
            "/metrics", self.show_metrics, methods=["GET"], response_class=Response, responses=errors | text
        )
        return router


def make_app(
    engine: Engine,
    config: ServeLimits | None = None,
    *,
    token: str | None = None,
    hosts: Sequence[str] | None = None,
    known_ids: Sequence[Any] = (),
) -> FastAPI:
    """The application; the engine is closed with it. `known_ids` are some nodes of the graph, for the examples.

    `app.state.api` has the queue and the counters. With a token, only FREE_PATHS answer without it. With `hosts`,
    only requests that call the server by one of these names are answered.
    """
    config = config or ServeLimits()
    api = Api(engine, config, known_ids)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        api.metrics.routes = RouteNames(app.openapi()["paths"])
        api.writer.start()
        api.reader.start()
        await api.warm_up()
        yield
        await api.writer.close()
        await api.reader.close()
        engine.close()

    app = FastAPI(
        title="sanne", lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False, openapi_url=None
    )
    app.state.api = api
    app.include_router(api.router())
    add_failures(app)
    describe(app, engine, config, known_ids)
    app.add_middleware(
        Guard,
        config=config,
        bodies=api.bodies,
        full=api.writer.refusal,
        token=token,
        free=FREE_PATHS,
        hosts=hosts,
    )
    app.add_middleware(Measure, metrics=api.metrics)
    return app


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _similar_of_first(answers: list[Answer]) -> bytes:
    return similar_json(answers[0].similar or [])
