"""Limits that uvicorn lacks: the number of connections, and the time and the bytes of a request."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sanne.serve.http.errors import Refusal, body_too_large, head_too_large
from sanne.serve.limits import ServeLimits

_FULL = Refusal(503, "too_many_connections", "too many connections are open: try again later", retry_after=1)
_BAD = Refusal(400, "bad_http", "this is not valid HTTP/1.1")
_LINGER_SECONDS = 2.0  # closing on unread data can lose the answer, so that what still comes is read for a while ...
_LINGER_BODIES = 4  # ... and so many times the largest request


def limited_protocol(config: ServeLimits) -> type[asyncio.Protocol]:
    """uvicorn's protocol for one connection, with limits."""

    class Limited(LimitedProtocol):
        limits = config

    return Limited


class LimitedProtocol(HttpToolsProtocol):
    """A request must be whole within a time and a size; one that is not is answered here, and its connection closed."""

    limits: ServeLimits
    _timer: asyncio.TimerHandle | None = None
    _in_head = True  # until a request's head is complete, and again after its body
    _received = 0  # bytes of a request that is not yet whole
    _refused = False  # nothing more is read from this connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            transport.write(_FULL.as_http())
            transport.close()
        else:
            self._set_timer(self.limits.receive_seconds, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_timer(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        largest = self.limits.max_body_bytes + self.limits.max_header_bytes
        if self._received > _LINGER_BODIES * largest:
            self.transport.abort()
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return
        if self._in_head and self._received > self.limits.max_header_bytes:
            self.refuse(head_too_large(self.limits.max_header_bytes))
        elif self._received > largest and not self.cycle.response_complete:
            self.refuse(body_too_large(self.limits.max_body_bytes))
        elif self._received and self._timer is None:
            self._set_timer(self.limits.receive_seconds, self._late)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which must not act as a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._set_timer(None)
        self._in_head = True
        self._received = 0
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        self._end()

    def send_400_response(self, msg: str) -> None:
        self.refuse(_BAD)

    def refuse_unfinished(self, refusal: Refusal) -> None:
        """Refuse a request whose body is not whole yet."""
        if not self._in_head and not self.cycle.response_started:
            self.refuse(refusal)

    def refuse(self, refusal: Refusal) -> None:
        """Answer what is being received, unless an earlier request is still being answered, and close."""
        self._refused = True
        if self.pipeline:
            self.transport.abort()
            return
        if self.cycle is not None and not self.cycle.response_complete:
            if self._in_head or self.cycle.response_started:
                self.cycle.keep_alive = False  # closed after the answer that is being sent
                return
            self.cycle.disconnected = True  # what the application still sends goes nowhere
            self.cycle.message_event.set()
        self.transport.write(refusal.as_http())
        self.transport.write_eof()
        self._set_timer(_LINGER_SECONDS, self.transport.abort)

    def _late(self) -> None:
        self._timer = None
        answered = self.cycle is not None and self.cycle.response_complete and not self._in_head
        if not self._received or answered or self.transport.get_write_buffer_size():
            self._end()
        else:
            part = "head" if self._in_head else "body"
            limit = f"{self.limits.receive_seconds:g} seconds"
            self.refuse(Refusal(408, f"{part}_too_slow", f"send all of a request within {limit}"))

    def _end(self) -> None:
        """Close, without waiting for a client that does not read its last answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _set_timer(self, seconds: float | None, action: Callable[[], object] | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, action)  # type: ignore[arg-type]
