"""Checks before a request is handled: who sends it, and its size."""

import asyncio
import hmac
from collections.abc import Callable, Collection, Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sanne.graph.ids import control_character
from sanne.serve.http.errors import Refusal, busy
from sanne.serve.limits import ServeLimits

_METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
_REFUSAL_SECONDS = 0.1  # delay of a "busy" response, so that clients that retry at once do no harm


class Guard:
    """ASGI middleware: checks headers, host, path, origin and token, then reads the whole body, within limits."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        config: ServeLimits,
        full: Callable[[], Refusal | None],
        token: str | None = None,
        free: Collection[str] = (),
        hosts: Iterable[str] | None = None,
    ) -> None:
        """`full` returns the refusal of new work, if any; `free` are paths that need no token.

        `hosts` are the names by which the server may be addressed; None: any. This stops DNS rebinding: a web page
        whose host name resolves to this machine reaches its servers under that name.
        """
        self.app = app
        self._config = config
        self._full = full
        self._token = None if token is None else token.encode()
        self._free = free
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)
        self.held = 0  # bytes of bodies that have not fully arrived

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
            whole = await self._whole(scope, receive) if scope["method"] in _METHODS_WITH_BODY else receive
        except Refusal as refusal:
            if refusal.status == 429:
                await asyncio.sleep(_REFUSAL_SECONDS)
            await refusal.response()(scope, receive, send)
            return
        if whole is not None:
            await self.app(scope, whole, send)

    def _check(self, scope: Scope) -> None:
        """Check the request line and headers."""
        headers = Headers(scope=scope)
        if sum(len(name) + len(value) + len(b": \r\n") for name, value in headers.raw) > self._config.max_header_bytes:
            raise Refusal(431, "head_too_large", f"headers of more than {self._config.max_header_bytes:,} bytes")
        host = headers.get("host", "")
        if self._hosts is not None and _without_port(host).lower() not in self._hosts:
            message = f"this server does not answer to the host name {host[:100]!r}: start it with --allow-host NAME"
            raise Refusal(421, "wrong_host", message)
        if (character := control_character(scope["path"])) is not None:
            raise Refusal(422, "invalid", f"the path has the control character {character!r}, which no id has")
        if scope["method"] in _METHODS_WITH_BODY and _is_foreign(headers):
            raise Refusal(403, "foreign_origin", "this request came from a page of another origin")
        kind, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1") if kind.lower() == "bearer" else b""
        if self._token is not None and scope["path"] not in self._free and not hmac.compare_digest(given, self._token):
            raise Refusal(401, "unauthorized", "send the header Authorization: Bearer TOKEN with this server's token")

    async def _whole(self, scope: Scope, receive: Receive) -> Receive | None:
        """Read the body, for the application to receive at once. None if the client left before it was complete."""
        if (refusal := self._full()) is not None:  # before the body is read: a cheap answer
            raise refusal
        declared = Headers(scope=scope).get("content-length", "")
        limit, more = self._config.max_body_bytes, True
        too_large = f"the body is larger than {limit:,} bytes: send fewer nodes at a time"
        if declared.isdecimal() and int(declared) > limit:
            raise Refusal(413, "body_too_large", too_large)
        body = bytearray()
        try:
            async with asyncio.timeout(self._config.receive_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message.get("body", b"")
                    body += part
                    self.held += len(part)
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise Refusal(413, "body_too_large", too_large)
                    if more and self.held > self._config.max_open_bytes:
                        raise busy()
        except TimeoutError:
            raise Refusal(
                408, "body_too_slow", f"send a body within {self._config.receive_seconds:g} seconds"
            ) from None
        finally:
            self.held -= len(body)
        messages: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        return replay


def _is_foreign(headers: Headers) -> bool:
    """Whether a web page of another origin sent this: browsers send such requests without asking the user."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # set by the browser, and correct even behind a proxy that changes the host
        return site.lower() not in ("same-origin", "none")
    host = headers.get("host", "").lower()
    return origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")


def _without_port(host: str) -> str:
    """The name of a host header; an IPv6 address keeps its brackets."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host
