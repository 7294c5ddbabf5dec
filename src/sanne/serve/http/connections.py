"""Limits that uvicorn lacks: the time and the bytes in which a request must have arrived."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sanne.serve.limits import ServeLimits

_MOST_BODIES = 4  # times the largest body, so that a client that sends too much hears of it


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose request takes too long or too many bytes; `Guard` answers milder cases."""

    limits: ServeLimits
    _timer: asyncio.TimerHandle | None = None
    _in_head = True  # until a request's head is complete, and again after its body
    _received = 0  # bytes of a request that is not yet whole

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
        if self._in_head:  # otherwise it is a trailer, which must not act as a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._in_head, self._received = True, 0
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # also where a client does not read its last answer

    def _start_timer(self) -> None:
        # A little later than the guard, which can still say what was wrong.
        self._timer = self.loop.call_later(self.limits.receive_seconds + 1, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
