"""Checks before a request is handled: who sends it, its size, the time it takes to arrive, its nesting."""

import asyncio
import hmac
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import numpy as np
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sanne.graph.ids import control_character
from sanne.serve.http.errors import Refusal, body_too_large, closing
from sanne.serve.limits import ServeLimits

_DELETED = bytes(set(range(256)) - set(b'"[]{}'))
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


class Disconnected(Exception):
    """The client disconnected before its request was complete."""


@dataclass(eq=False)
class _Body:
    """A body that is being received."""

    deadline: asyncio.Timeout
    size: int = 0
    refusal: Refusal | None = None

    def end(self, refusal: Refusal) -> None:
        """Stop waiting for this body, and answer with a refusal."""
        if self.refusal is None and not self.deadline.expired():
            self.refusal = refusal
            self.deadline.reschedule(asyncio.get_running_loop().time())


class OpenBodies:
    """Reads bodies within limits of bytes and time.

    The number and total size of incomplete bodies are limited as well. The oldest are refused to make room for new
    ones, so that slow clients harm only one another.
    """

    def __init__(self, config: ServeLimits) -> None:
        self._config = config
        self._open: dict[_Body, None] = {}  # oldest first
        self.held = 0  # bytes
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body; raises Refusal (413, 408, 503) or Disconnected."""
        self._check_length(_declared_length(scope))
        try:
            async with asyncio.timeout(self._config.body_seconds) as deadline:
                body = _Body(deadline)
                self._open[body] = None
                self._make_room()
                try:
                    return await self._collect(body, receive)
                finally:
                    del self._open[body]
                    self.held -= body.size
        except TimeoutError:
            raise body.refusal or self._too_slow("longer than allowed") from None

    def end_all(self) -> None:
        """Answer 503 to all clients that are still sending, and to new ones."""
        self._closing = True
        for body in self._open:
            body.end(closing())

    async def _collect(self, body: _Body, receive: Receive) -> bytes:
        if self._closing:
            raise closing()
        parts: list[bytes] = []
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            body.size += len(part)
            self.held += len(part)
            self._check_length(body.size)
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)
            self._make_room()

    def _check_length(self, size: int) -> None:
        if size > self._config.max_body_bytes:
            raise body_too_large(self._config.max_body_bytes)

    def _make_room(self) -> None:
        over = len(self._open) - self._config.max_open_bodies
        held = self.held - self._config.max_open_bytes
        for body in list(self._open):
            if over <= 0 and held <= 0:
                return
            body.end(self._too_slow("longer than all others, and there is no room for more"))
            over -= 1
            held -= body.size

    def _too_slow(self, how: str) -> Refusal:
        limit = f"{self._config.body_seconds:g} seconds"
        return Refusal(408, "body_too_slow", f"the body took {how}: send all of it within {limit}")


class Pace:
    """Spaces out refusals, so that clients that retry at once do not take up the server's time."""

    def __init__(self, turns_a_second: int, longest: float = 1.0) -> None:
        self._between = 1 / turns_a_second
        self._longest = longest  # wait, in seconds
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for one's turn; while there are few requests, not at all."""
        now = asyncio.get_running_loop().time()
        mine = min(max(self._next, now), now + self._longest)
        self._next = mine + self._between
        if mine > now:
            await asyncio.sleep(mine - now)


def _check_path(scope: Scope) -> None:
    if (character := control_character(scope["path"])) is not None:
        raise Refusal(422, "invalid", f"the path has the control character {character!r}, which no id has")


def _check_origin(scope: Scope) -> None:
    """Refuse changes requested by a web page of another origin: browsers send them without asking the user."""
    if scope["method"] not in _METHODS_WITH_BODY:
        return
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # set by the browser, and right also behind a proxy that changes the host
        foreign = site.lower() not in ("same-origin", "none")
    else:
        host = headers.get("host", "").lower()
        foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
    if foreign:
        raise Refusal(403, "foreign_origin", "this request came from a page of another origin")


def _declared_length(scope: Scope) -> int:
    value = Headers(scope=scope).get("content-length", "")
    return int(value) if value.isdecimal() and value.isascii() else 0


def _without_port(host: str) -> str:
    """The name of a host header; an IPv6 address keeps its brackets."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


def json_depth(body: bytes) -> int:
    """How deep lists and objects are nested, up to the first place where the text is not JSON."""
    # Without escaped backslashes and escaped quotes, every quote left begins or ends a string.
    text = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _DELETED)
    brackets = np.frombuffer(b"".join(text.split(b'"')[::2]), np.uint8)
    opens = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.where(opens, 1, -1).cumsum().max(initial=0))


class Guard:
    """ASGI middleware: checks host, path, origin and token, then reads the whole body and checks its nesting."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        config: ServeLimits,
        bodies: OpenBodies,
        full: Callable[[], Refusal | None],
        token: str | None = None,
        free: Collection[str] = (),
        hosts: Iterable[str] | None = None,
    ) -> None:
        """`full` gives the refusal of new work, if there is one; `free` are paths that need no token.

        `hosts` are the names by which the server may be addressed; None: any. This stops DNS rebinding: a web page
        whose host name resolves to this machine reaches its servers under that name.
        """
        self.app = app
        self._config = config
        self._bodies = bodies
        self._full = full
        self._refusals = Pace(config.max_refusals)
        self._token = None if token is None else token.encode()
        self._free = free
        self._hosts = None if hosts is None else frozenset(name.lower() for name in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check_host(scope)
            _check_path(scope)
            _check_origin(scope)
            self._check_token(scope)
            replay = await self._whole(scope, receive)
        except Disconnected:
            return
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        await self.app(scope, replay, send)

    def _check_host(self, scope: Scope) -> None:
        if self._hosts is None:
            return
        called = Headers(scope=scope).get("host", "")
        if _without_port(called).lower() not in self._hosts:
            message = f"this server is not called {called[:100]!r}: start it with --allow-host NAME if it should be"
            raise Refusal(421, "wrong_host", message)

    def _check_token(self, scope: Scope) -> None:
        if self._token is None or scope["path"] in self._free:
            return
        kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1") if kind.lower() == "bearer" else b""
        if not hmac.compare_digest(given, self._token):
            raise Refusal(401, "unauthorized", "send the header Authorization: Bearer TOKEN with this server's token")

    async def _whole(self, scope: Scope, receive: Receive) -> Receive:
        if scope["method"] not in _METHODS_WITH_BODY:
            return receive
        if (refusal := self._full()) is not None:  # before the body is read: a cheap answer
            await self._refusals.turn()
            raise refusal
        body = await self._bodies.read(scope, receive)
        limit = self._config.max_json_depth
        if body.count(b"[") + body.count(b"{") > limit and (depth := json_depth(body)) > limit:
            raise Refusal(422, "json_too_deep", f"the JSON is nested {depth:,} deep, the limit is {limit}")
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        return replay
