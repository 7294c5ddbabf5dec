"""Limits that uvicorn lacks: the number of connections, the time for a request's head, the bytes of a request."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sanne.serve.http.errors import Refusal, body_too_large
from sanne.serve.limits import ServeLimits

_FULL = Refusal(503, "too_many_connections", "too many connections are open: try again later", retry_after=1)
_LINGER_BODIES = 4  # times the largest body: how much of a refused one is read and discarded
_BAD = Refusal(400, "bad_http", "this is not valid HTTP/1.1")


def limited_protocol(config: ServeLimits) -> type[asyncio.Protocol]:
    """uvicorn's protocol for one connection, with limits."""

    class LimitedProtocol(_LimitedProtocol):
        limits = config

    return LimitedProtocol


class _LimitedProtocol(HttpToolsProtocol):
    limits: ServeLimits
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True  # until a request's head is complete, and again after its body
    _rest_bytes = 0  # received after the head: body, framing of chunks, trailers
    _discarded = 0  # bytes of a body that has been answered already
    _fault = _BAD  # why the parser stopped
    _refused = False  # nothing more is read from this connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            self._refuse(_FULL, linger=False)
        else:
            self._set_timer(self.limits.header_seconds, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._refused:
            self._discard(data)
            return
        if self._in_head:
            self._head_bytes += len(data)
        else:
            self._rest_bytes += len(data)
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return
        if self._in_head:
            self._look_at_head()
        elif self.cycle.response_complete:
            self._discard(data)
        elif self._rest_bytes > self.limits.max_body_bytes + self.limits.max_header_bytes:
            self._refuse(body_too_large(self.limits.max_body_bytes))

    def _look_at_head(self) -> None:
        """Check the limits of an incomplete head."""
        if self._head_bytes > self.limits.max_header_bytes:
            self._refuse(self._head_too_large())
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._set_timer(self.limits.header_seconds, self._head_is_late)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which must not act as a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        head = len(self.url) + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)
        if head > self.limits.max_header_bytes:
            self._fault = self._head_too_large()
            raise ValueError(self._fault.message)  # stops the parser
        self._unset_timer()
        self._in_head = False
        self._rest_bytes = max(0, self._head_bytes - head)  # arrived together with the end of the head
        self._discarded = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unset_timer()
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_head and not self.transport.is_closing():
            # Refused in the middle: discard what still comes for a while, so that the answer arrives.
            self._set_timer(self.limits.linger_seconds, self._end)

    def timeout_keep_alive_handler(self) -> None:
        self._end()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._fault)

    def _head_too_large(self) -> Refusal:
        limit = self.limits.max_header_bytes
        return Refusal(431, "head_too_large", f"the request's head is larger than {limit:,} bytes")

    def _head_is_late(self) -> None:
        if self._head_bytes and not self.transport.get_write_buffer_size():
            limit = f"{self.limits.header_seconds:g} seconds"
            self._refuse(Refusal(408, "head_too_slow", f"the request's head must be complete within {limit}"), False)
        else:
            self._end()

    def _end(self) -> None:
        """Close, without waiting for a client that does not read its last answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal, linger: bool = True) -> None:
        """Answer and close; with `linger` only after a while, since closing on unread data can lose the answer."""
        self._unset_timer()
        self._refused = True
        answering = self.cycle is not None and not self.cycle.response_complete
        if self.pipeline:
            self.transport.abort()
        elif answering and (self._in_head or self.cycle.response_started):
            self.cycle.keep_alive = False  # closed after the answer that is being sent
        else:
            if answering:
                self.cycle.disconnected = True  # what the application still sends goes nowhere
                self.cycle.message_event.set()
            self.transport.write(refusal.as_http())
            if linger:
                self.transport.write_eof()
                self._set_timer(self.limits.linger_seconds, self.transport.abort)
            else:
                self.transport.close()

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > _LINGER_BODIES * self.limits.max_body_bytes:
            self.transport.abort()

    def _set_timer(self, seconds: float, action: Any) -> None:
        self._unset_timer()
        self._timer = self.loop.call_later(seconds, action)

    def _unset_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
