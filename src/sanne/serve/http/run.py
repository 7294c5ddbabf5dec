"""Runs the application under uvicorn: a bound socket, limits on connections, graceful shutdown."""

import asyncio
import gc
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sanne.device import one_blas_thread
from sanne.errors import InputError
from sanne.serve.http.app import Api
from sanne.serve.limits import ServeLimits

_MOST_BODIES = 4  # times the largest body, so that a client that sends too much gets the response


class _Server(uvicorn.Server):
    """uvicorn's server; on shutdown it answers 503 to new requests."""

    def __init__(self, config: uvicorn.Config, api: Api, on_start: Callable[[], Any]) -> None:
        super().__init__(config)
        self._api = api
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What exists now stays: collecting it from time to time would stop all threads for 300 ms.
        gc.collect()
        gc.freeze()
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._api.writer.refuse_new()
        await super().shutdown(sockets)


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio turns off Nagle's algorithm, which would delay responses by 40 ms, only for a named protocol.
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise InputError(f"cannot listen on {host} port {port} ({error}): choose another --host or --port") from None
    return listener


def url_of(listener: socket.socket) -> str:
    """The address of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def loopback_names(host: str) -> list[str]:
    """The names of a server that only this machine can reach."""
    return ["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host]


def run_app(app: FastAPI, listener: socket.socket, config: ServeLimits, on_start: Callable[[], Any]) -> None:
    """Serve until SIGTERM or SIGINT; `on_start` is called when connections are accepted."""
    settings = uvicorn.Config(
        app,
        http=type("Limited", (LimitedProtocol,), {"limits": config}),
        limit_concurrency=config.max_connections,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",  # a warning for every malformed request would let anyone fill the log
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=config.keep_alive_seconds,  # type: ignore[arg-type]  # a timer, which takes fractions too
        timeout_graceful_shutdown=config.shutdown_seconds,  # type: ignore[arg-type]
    )
    server = _Server(settings, app.state.api, on_start)
    with _ignored_signals(), one_blas_thread():  # products in requests are too small for more threads
        server.run([listener])


@contextmanager
def _ignored_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises again when it is done."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose request takes too long or too many bytes; `Guard` responds in milder cases."""

    limits: ServeLimits
    _timer: asyncio.TimerHandle | None = None
    _in_head = True  # until a request's headers are complete, and again after its body
    _received = 0  # bytes of a request that has not fully arrived

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        most = self.limits.max_header_bytes if self._in_head else _MOST_BODIES * self.limits.max_body_bytes
        if self._received > most:
            self.transport.abort()
        elif self._received and self._timer is None:
            self._start_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which must not be treated as a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_head, self._received = True, 0
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # even if a client does not read its last response

    def _start_timer(self) -> None:
        # A little later than the guard, which can still report the error.
        self._timer = self.loop.call_later(self.limits.receive_seconds + 1, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
