"""What a request may cost before anyone looks at it: its bytes, its time, its nesting, and who may send it."""

import asyncio
import hmac
from collections.abc import Callable, Iterable
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
    """The client is gone before its request was whole."""


@dataclass(eq=False)
class _Body:
    """A body on its way in."""

    deadline: asyncio.Timeout
    size: int = 0
    refusal: Refusal | None = None

    def end(self, refusal: Refusal) -> None:
        """Let the one who waits for this body answer with a refusal instead."""
        if self.refusal is None and not self.deadline.expired():
            self.refusal = refusal
            self.deadline.reschedule(asyncio.get_running_loop().time())


class OpenBodies:
    """Reads bodies within limits of bytes and time.

    What all unfinished bodies hold together is bounded as well, in number and in bytes. Whoever has been sending for
    longest gives way to newcomers, so that clients which trickle can fill this up and harm only one another.
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
        """Answer 503 to everyone who is still sending, and to those who begin."""
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
            body.end(self._too_slow("longest of all while others wait"))
            over -= 1
            held -= body.size

    def _too_slow(self, how: str) -> Refusal:
        limit = f"{self._config.body_seconds:g} seconds"
        return Refusal(408, "body_too_slow", f"the body took {how}: send all of it within {limit}")


class Pace:
    """Gives everyone a turn, so many in a second.

    Clients that ask again as soon as they are refused would otherwise have the server do nothing but refuse.
    """

    def __init__(self, turns_a_second: int, longest: float = 1.0) -> None:
        self._between = 1 / turns_a_second
        self._longest = longest  # seconds that anyone waits
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for one's turn; no wait at all while few ask."""
        now = asyncio.get_running_loop().time()
        mine = min(max(self._next, now), now + self._longest)
        self._next = mine + self._between
        if mine > now:
            await asyncio.sleep(mine - now)


def _check_path(scope: Scope) -> None:
    if (character := control_character(scope["path"])) is not None:
        raise Refusal(422, "invalid", f"the control character {character!r} stands in the path, and no id has one")


def _check_origin(scope: Scope) -> None:
    """Refuse changes that a web page of another origin asks for: its browser sends them without asking the user."""
    if scope["method"] not in _METHODS_WITH_BODY:
        return
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:  # a browser that is sure of it, also behind a proxy that changes the host
        foreign = site.lower() not in ("same-origin", "none")
    else:
        host = headers.get("host", "").lower()
        foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
    if foreign:
        raise Refusal(403, "foreign_origin", "a page of another origin asked for this: only this server's own page may")


def _declared_length(scope: Scope) -> int:
    value = Headers(scope=scope).get("content-length", "")
    return int(value) if value.isdecimal() and value.isascii() else 0


def _without_port(host: str) -> str:
    """The name of a host header; an IPv6 address keeps its brackets."""
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host


def json_depth(body: bytes) -> int:
    """How deep lists and objects are nested, up to the first place where the text is no JSON."""
    # Without escaped backslashes and escaped quotes, every quote left begins or ends a string.
    text = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _DELETED)
    brackets = np.frombuffer(b"".join(text.split(b'"')[::2]), np.uint8)
    opens = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.where(opens, 1, -1).cumsum().max(initial=0))


class Guard:
    """ASGI middleware: host, path, origin, token, then body, then nesting; what comes through arrives whole."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        config: ServeLimits,
        bodies: OpenBodies,
        full: Callable[[], Refusal | None],
        token: str | None = None,
        free: Iterable[str] = (),
        hosts: Iterable[str] | None = None,
    ) -> None:
        """`full` gives the refusal for new work, if there is one now; `free` are paths that need no token.

        `hosts` are the names by which the server may be called; None: any. A web page that a browser on this machine
        shows can give its own name this machine's address, and then speak to servers here: it calls them by that name.
        """
        self.app = app
        self._config = config
        self._bodies = bodies
        self._full = full
        self._refusals = Pace(config.max_refusals)
        self._token = None if token is None else token.encode()
        self._free = frozenset(free)
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
            await refusal.send(send)
            return
        await self.app(scope, replay, send)

    def _check_host(self, scope: Scope) -> None:
        if self._hosts is None:
            return
        called = Headers(scope=scope).get("host", "")
        if _without_port(called).lower() not in self._hosts:
            raise Refusal(
                421,
                "wrong_host",
                f"this server does not go by the name {called[:100]!r}: start it with --allow-host NAME if it should",
            )

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
        if (refusal := self._full()) is not None:  # before anything is read: an answer that costs little
            await self._refusals.turn()
            raise refusal
        body = await self._bodies.read(scope, receive)
        limit = self._config.max_json_depth
        if body.count(b"[") + body.count(b"{") > limit and (depth := json_depth(body)) > limit:
            raise Refusal(422, "json_too_deep", f"the JSON is nested {depth:,} deep, where {limit} is the limit")
        return _replayed(body, receive)


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
