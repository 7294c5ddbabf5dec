"""Prometheus metrics: requests, latency, batches, the queue, nodes and edges."""

import time
from collections.abc import Callable, Sequence

from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_DISCONNECTED = "disconnected"  # instead of a status, if the client left
_OTHER = "other"  # instead of a route, for paths without one
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sanne_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.seconds = self._histogram("request_seconds", "Time to answer.", "route", _SECONDS)
        self.batch_requests = self._histogram("batch_requests", "Requests computed together.", "kind", _SIZES)
        self.batch_nodes = self._histogram("batch_nodes", "Nodes computed together.", "kind", _SIZES)
        self.batch_seconds = self._histogram("batch_seconds", "Time to compute a batch.", "kind", _SECONDS)
        self.waited = self._histogram("queue_seconds", "Longest wait in a batch.", "kind", _SECONDS)

    def _histogram(self, name: str, description: str, label: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"sanne_{name}", description, [label], buckets=buckets, registry=self.registry)

    def gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        """A number that is looked up when the metrics are read."""
        Gauge(f"sanne_{name}", description, registry=self.registry).set_function(value)

    def count_batch(self, kind: str, requests: int, nodes: int, seconds: float, waited: float) -> None:
        """Called by a worker after every batch."""
        self.batch_requests.labels(kind).observe(requests)
        self.batch_nodes.labels(kind).observe(nodes)
        self.batch_seconds.labels(kind).observe(seconds)
        self.waited.labels(kind).observe(waited)

    def as_text(self) -> bytes:
        """The content of /metrics."""
        return generate_latest(self.registry)


class Measure:
    """ASGI middleware: counts and times every request, including refused ones."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = _DISCONNECTED

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        started = time.perf_counter()
        try:
            await self.app(scope, receive, watched)
        except Exception:
            status = "500"
            raise
        finally:
            route = _route_of(scope)
            method = scope["method"] if scope["method"] in _METHODS else _OTHER
            self._metrics.requests.labels(method, route, status).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)


def _route_of(scope: Scope) -> str:
    """The path of the route that a request is for, so that clients cannot add labels."""
    routes = (route for route in scope["app"].routes if isinstance(route, APIRoute))
    return next((route.path_format for route in routes if route.path_regex.match(scope["path"])), _OTHER)
