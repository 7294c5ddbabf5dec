"""The HTTP application: routes over the engine. All computation runs in worker threads."""

import contextlib
import ctypes
import gc
import inspect
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import anyio.to_thread
import numpy as np
import orjson
import pyarrow as pa
from fastapi import Body, FastAPI, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute

from sanne.errors import FieldError
from sanne.serve.engine.engine import Answer, Engine
from sanne.serve.http import schemas
from sanne.serve.http.batching import Kind, Worker
from sanne.serve.http.errors import Refusal, add_error_handlers, check_parameters
from sanne.serve.http.guard import Guard
from sanne.serve.http.metrics import Measure, Metrics
from sanne.serve.http.openapi import describe
from sanne.serve.http.pages import REFERENCE, add_page
from sanne.serve.http.work import EmbedRequest, Work, known_json, nodes_json, predictions_json, similar_json, to_json
from sanne.serve.limits import ServeLimits
from sanne.serve.live.features import NewNode

PathId = Annotated[str, Path(description="A node's id.", min_length=1, json_schema_extra=schemas.NO_CONTROL_CHARACTERS)]
Force = Annotated[Literal["", "true", "false"], Query(description="Delete the node however many links it has.")]


@dataclass(frozen=True)
class Route:
    """An endpoint.

    `handler` takes parameters as FastAPI reads them and gives a Response; functions that are not async run in a thread,
    one at a time. `answer` is the model of its JSON, or a dictionary of other content by media type.
    """

    method: str
    path: str
    handler: Callable[..., Any]
    answer: Any


class Api:
    """The endpoints, and what they share."""

    def __init__(self, engine: Engine, config: ServeLimits) -> None:
        self.engine = engine
        self.config = config
        self.free_paths = {"/healthz", "/readyz"}  # need no token
        self.metrics = Metrics()
        self.work = Work(engine)
        self.writer = Worker(
            "sanne-compute",
            max_queue=config.max_queue_nodes,
            max_batch=config.max_batch_nodes,
            max_seconds=config.max_queue_seconds,
            report=self.metrics.count_batch,
            idle=release_memory,
        )
        gauge = self.metrics.gauge
        gauge("queue_nodes", "Nodes waiting to be computed.", lambda: self.writer.waiting)
        gauge("nodes", "Nodes in the graph.", lambda: self.work.statistics["nodes"])
        gauge("edges", "Edges in the graph.", lambda: self.work.statistics["edges"])
        gauge("stale_nodes", "Nodes that a refresh would recompute.", lambda: self.work.statistics["stale"])

    @property
    def routes(self) -> list[Route]:
        """All endpoints; the page adds its own."""
        text = {"text/plain": {"schema": {"type": "string"}}}
        return [
            Route("POST", "/v1/embed", self.embed, schemas.EmbeddedNodes),
            Route("POST", "/v1/nodes", self.add, schemas.EmbeddedNodes),
            Route("GET", "/v1/nodes/{node_id:path}", self.node, schemas.KnownNode),
            Route("PUT", "/v1/nodes/{node_id:path}", self.replace, schemas.Embedded),
            Route("DELETE", "/v1/nodes/{node_id:path}", self.delete, schemas.Deleted),
            Route("POST", "/v1/edges", self.add_edges, schemas.AddedEdges),
            Route("GET", "/v1/similar/{node_id:path}", self.similar, schemas.SimilarNodes),
            Route("POST", "/v1/similar", self.similar_query, schemas.SimilarNodes),
            Route("POST", "/v1/predict", self.predict, schemas.Predictions),
            Route("POST", "/v1/refresh", self.refresh, schemas.Refreshed),
            Route("GET", "/healthz", self.health, schemas.Health),
            Route("GET", "/readyz", self.ready, schemas.Ready),
            Route("GET", "/metrics", self.show_metrics, text),
        ]

    def warm_up(self) -> None:
        """Compute something, so that the first client does not wait for kernels to load."""
        self.work.embed.run([EmbedRequest((NewNode(_unused_id()),), 1, 1, nodes_json)])

    async def embed(self, request: schemas.Guests) -> Response:
        """Embed new nodes, from their text or features and their links. Nothing is stored."""
        return await self._embed(request, self.work.embed)

    async def add(self, request: schemas.Nodes) -> Response:
        """Embed new nodes and store them. From now on they can be linked to and found, and walks pass through them."""
        return await self._embed(request, self.work.add)

    async def _embed(self, request: schemas.Guests | schemas.Nodes, kind: Kind) -> Response:
        self._check_count(len(request.nodes), self.config.max_nodes, "nodes")
        self._check_count(request.explained, self.config.max_similar, "explain")
        self._check_count(request.similar, self.config.max_similar, "similar")
        nodes = tuple(
            self._new_node(f"nodes[{i}]" if node.id is None else node.id, node, f"nodes[{i}]")
            for i, node in enumerate(request.nodes)
        )
        classifier = self.engine.classifier if request.predict else None
        write = partial(nodes_json, vectors=request.vectors, classifier=classifier)
        payload = EmbedRequest(nodes, request.explained, request.similar, write)
        return json_response(await self.writer.run(kind, payload, len(nodes)))

    def node(self, node_id: PathId) -> Response:
        """Show what is known about a node: vector, uncertainty, neighbours, label, text."""
        return json_response(known_json(self.engine.node(node_id)))

    async def replace(self, node_id: PathId, request: schemas.NodeContent) -> Response:
        """Change the text or features and the links of an existing node."""
        node = self._new_node(node_id, request, "")
        return json_response(await self.writer.run(self.work.replace, node))

    async def delete(self, node_id: PathId, force: Force = "false") -> Response:
        """Remove a node and its edges. A node with many links needs ?force."""
        links = (await run_in_threadpool(self.engine.node, node_id)).degree
        if force == "false" and links > self.config.max_deleted_links:
            raise Refusal(409, "hub", f"{node_id!r} has {links:,} links: add ?force to delete it and them")
        return json_response(await self.writer.run(self.work.delete, node_id))

    async def add_edges(self, request: schemas.Edges) -> Response:
        """Add edges between existing nodes. Walks see them at once; /v1/refresh updates the vectors."""
        self._check_count(len(request.edges), self.config.max_nodes, "edges")
        edges = [(edge.src, edge.dst, edge.weight) for edge in request.edges]
        return json_response(await self.writer.run(self.work.edges, edges))

    def similar(self, node_id: PathId, k: Annotated[int, Query(ge=1)] = 10) -> Response:
        """Find the nodes nearest to a node."""
        self._check_count(k, self.config.max_similar, "k")
        found = self.engine.similar_to(node_id, k)
        about = self.engine.node(node_id)
        return json_response(similar_json(found, about.uncertainty, about.note))

    async def similar_query(self, request: schemas.SimilarQuery) -> Response:
        """Find the nodes nearest to a vector, or to a node described in the request."""
        self._check_count(request.k, self.config.max_similar, "k")
        if request.node is not None:
            node = self._new_node(_unused_id(), request.node, "node")
            payload = EmbedRequest((node,), 0, request.k, _similar_of_first)
            return json_response(await self.writer.run(self.work.embed, payload))
        vector = np.array(request.vector, np.float32)
        if vector.shape != (self.engine.dim,):
            raise FieldError("vector", f"{vector.size} numbers, but the model's vectors have {self.engine.dim}")
        found = await run_in_threadpool(self.engine.similar_to_vector, vector, request.k)
        return json_response(similar_json(found, float(self.engine.uncertainty_of(vector[None])[0])))

    def predict(self, request: schemas.PredictQuery) -> Response:
        """Predict the labels of existing nodes, with the classifier that `sanne predict --save` stored."""
        self._check_count(len(request.ids), self.config.max_nodes, "ids")
        classifier = self.engine.classifier
        return json_response(predictions_json(classifier, [self.engine.node(id) for id in request.ids]))

    async def refresh(self, request: Annotated[schemas.Refresh, Body()] = schemas.Refresh()) -> Response:  # noqa: B008
        """Recompute the vectors of nodes near recent changes."""
        done = 0
        while done < request.limit:  # in parts, so that other requests come in between
            part = min(request.limit - done, self.config.max_batch_nodes)
            try:
                found = await self.writer.run(self.work.refresh, part, part)
            except Refusal:
                if not done:
                    raise
                break
            done += found
            if not found:
                break
        return json_response(to_json({"refreshed": done, "stale": self.work.statistics["stale"]}))

    async def health(self) -> Response:
        """Tell whether the process is alive."""
        return json_response(b'{"status":"ok"}')

    async def ready(self) -> Response:
        """Tell whether requests are accepted, and what the model reads."""
        if not self.writer.alive:
            raise Refusal(503, "not_ready", "the server is starting or shutting down", retry_after=5)
        engine, statistics = self.engine, self.work.statistics
        answer = {"status": "ready", "nodes": statistics["nodes"], "edges": statistics["edges"], "dim": engine.dim}
        return json_response(to_json(answer | {"reads": engine.reads, "feature_width": engine.feature_width}))

    async def show_metrics(self) -> Response:
        """Show metrics in Prometheus format."""
        return Response(self.metrics.as_text(), media_type="text/plain; version=0.0.4")

    def _new_node(self, id: str | int, node: schemas.NodeContent, field: str) -> NewNode:
        self._check_count(len(node.links), self.config.max_links, f"{field}.links".lstrip("."))
        return node.to_new_node(id, field, self.engine.feature_width)

    @staticmethod
    def _check_count(count: int, limit: int, field: str) -> None:
        if count > limit:
            raise FieldError(field, f"{count:,} is above the limit of {limit:,}: ask for less at a time")


def make_app(
    engine: Engine, config: ServeLimits | None = None, *, token: str | None = None, hosts: Sequence[str] | None = None
) -> FastAPI:
    """The application; the engine is closed with it.

    `app.state.api` has the queue and the counters. With a token, only its `free_paths` are open without it. With
    `hosts`, only requests that address the server by one of these names are accepted.
    """
    config = config or ServeLimits()
    api = Api(engine, config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        describe(app.openapi(), engine, config)
        api.warm_up()
        api.writer.start()
        # Look-ups run in one thread: more would keep the interpreter lock from the event loop.
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        yield
        await api.writer.close()
        engine.close()

    app = FastAPI(
        title="sanne",
        version="1",
        description="Vectors for new nodes of a graph, with their uncertainty, an explanation, and similar nodes.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.router.route_class = _StrictRoute
    app.state.api = api
    add_routes(app, api.routes)
    add_page(app, "/docs", REFERENCE, "/docs")
    add_error_handlers(app)
    app.add_middleware(Guard, config=config, full=api.writer.refusal, token=token, free=api.free_paths, hosts=hosts)
    app.add_middleware(Measure, metrics=api.metrics)
    return app


def add_routes(app: FastAPI, routes: Iterable[Route]) -> None:
    """Add endpoints to an application before it runs."""
    errors: dict[int | str, dict[str, Any]] = {
        "default": {"model": schemas.ErrorAnswer},
        422: {"model": schemas.ErrorAnswer},
    }
    for route in routes:
        described: dict[str, Any] = {"response_model": route.answer, "responses": errors}
        if isinstance(route.answer, dict):
            described = {"response_class": Response, "responses": errors | {200: {"content": route.answer}}}
        first, _, rest = (inspect.getdoc(route.handler) or "").partition(". ")
        described |= {"summary": first[:1].upper() + first[1:].rstrip(".") + ".", "description": rest}
        app.add_api_route(route.path, route.handler, methods=[route.method], **described)


def json_response(body: bytes, headers: dict[str, str] | None = None) -> Response:
    """A response from ready-made JSON."""
    return Response(body, media_type="application/json", headers=headers)


def _unused_id() -> str:
    return f"query {secrets.token_hex(16)}"


def _similar_of_first(answers: list[Answer]) -> bytes:
    return similar_json(answers[0].similar or [], answers[0].uncertainty, answers[0].note)


class _JsonRequest(Request):
    """A request whose JSON is parsed fast and strictly: no NaN, no lone surrogates."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class _StrictRoute(APIRoute):
    """A route that parses JSON strictly, and refuses parameters that it does not have."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        known = [parameter.alias for parameter in self.dependant.query_params]

        async def strict(request: Request) -> Response:
            if self.include_in_schema:  # any other is a page, which takes none
                check_parameters(request.query_params, known)
            return await handler(_JsonRequest(request.scope, request.receive))

        return strict


def release_memory() -> None:
    """Return unused memory to the system: Python's garbage, Arrow's pool, and free blocks that malloc keeps."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, TypeError, AttributeError):  # not every C library has this
        ctypes.CDLL(None).malloc_trim(0)
