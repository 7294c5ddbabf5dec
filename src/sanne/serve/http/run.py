"""Runs the application under uvicorn: a bound socket, limits on connections, an end that finishes what was accepted."""

import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from sanne.errors import InputError
from sanne.serve.http.app import Api
from sanne.serve.http.connections import limited_protocol
from sanne.serve.limits import ServeLimits


class _Server(uvicorn.Server):
    """uvicorn's server, which at its end first says 503 to whoever is not yet accepted."""

    def __init__(self, config: uvicorn.Config, api: Api, on_start: Callable[[], Any]) -> None:
        super().__init__(config)
        self._api = api
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is there now stays: to look through it for garbage, now and then, would stop all threads for 300 ms.
        gc.collect()
        gc.freeze()
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._api.bodies.end_all()
        self._api.writer.refuse_new()
        self._api.reader.refuse_new()
        await super().shutdown(sockets)


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol named, asyncio turns Nagle's algorithm off; otherwise every answer is 40 ms late.
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
    """Where a bound socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can connect."""
    host = str(listener.getsockname()[0])
    return host.startswith("127.") or host == "::1"


def loopback_names(host: str) -> list[str]:
    """What a server that only this machine can reach is called."""
    return ["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host]


def run_app(app: FastAPI, listener: socket.socket, config: ServeLimits, on_start: Callable[[], Any]) -> None:
    """Serve until SIGTERM or SIGINT; `on_start` is called when connections are accepted."""
    settings = uvicorn.Config(
        app,
        http=limited_protocol(config),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",  # a warning for every request that is no HTTP would let anyone fill the log
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=config.keep_alive_seconds,  # type: ignore[arg-type]  # a timer, for which fractions do
        timeout_graceful_shutdown=config.shutdown_seconds,  # type: ignore[arg-type]
    )
    server = _Server(settings, app.state.api, on_start)
    with _ends_quietly():
        server.run([listener])


@contextmanager
def _ends_quietly() -> Iterator[None]:
    """uvicorn raises its signal again when it is done; by then there is nothing left to end."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
