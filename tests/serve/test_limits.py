"""What a request may cost before anyone looks at it, driven through ASGI as a server does."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sanne.serve.http.errors import Refusal, busy
from sanne.serve.http.guard import Guard
from sanne.serve.limits import ServeLimits


class Client:
    """One request to a guarded application that answers with the body's length."""

    def __init__(
        self, guard: Guard, *, method: str = "POST", path: str = "/x", headers: dict[str, str] | None = None
    ) -> None:
        self.guard = guard
        pairs = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        self.scope = {"type": "http", "method": method, "path": path, "headers": pairs}
        self.sent: list[Any] = []

    async def send(self, parts: AsyncIterator[bytes] | list[bytes]) -> "Client":
        """Send a whole body given as a list, or what an iterator gives until it ends, and then leave."""
        messages: asyncio.Queue[Any] = asyncio.Queue()

        async def fill() -> None:
            if isinstance(parts, list):
                for part in parts:
                    messages.put_nowait({"type": "http.request", "body": part, "more_body": True})
                messages.put_nowait({"type": "http.request", "body": b"", "more_body": False})
                return
            async for part in parts:
                messages.put_nowait({"type": "http.request", "body": part, "more_body": True})
            messages.put_nowait({"type": "http.disconnect"})

        async def collect(message: Any) -> None:
            self.sent.append(message)

        filling = asyncio.create_task(fill())
        await self.guard(self.scope, messages.get, collect)
        filling.cancel()
        return self

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    @property
    def error(self) -> Any:
        return json.loads(self.sent[1]["body"])["error"]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"] if scope["method"] == "POST" else b""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(len(body)).encode()})


def make_guard(token: str | None = None, full: Refusal | None = None, **limits: Any) -> Guard:
    return Guard(echo, config=ServeLimits.of(limits), full=lambda: full, token=token, free=["/healthz"])


async def trickle(seconds: float, part: bytes = b" ") -> AsyncIterator[bytes]:
    while True:
        yield part
        await asyncio.sleep(seconds)


async def then_wait(part: bytes) -> AsyncIterator[bytes]:
    yield part
    await asyncio.sleep(60)


async def then_leave(part: bytes) -> AsyncIterator[bytes]:
    yield part


def test_bytes_are_counted_as_they_arrive() -> None:
    async def main() -> None:
        guard = make_guard(max_body_bytes=1000)
        assert (await Client(guard).send([b"x" * 400] * 2)).sent[1]["body"] == b"800"
        refused = await Client(guard).send(trickle(0, b"x" * 400))  # never ends
        assert refused.status == 413
        assert refused.error["code"] == "body_too_large"
        declared = Client(guard, headers={"Content-Length": "1001"})
        assert (await declared.send(then_wait(b""))).status == 413  # before a byte of it was read

    asyncio.run(asyncio.wait_for(main(), 5))


def test_what_open_bodies_hold_together_is_bounded() -> None:
    async def main() -> None:
        guard = make_guard(max_body_bytes=1000, max_open_bytes=5000)
        slow = [asyncio.create_task(Client(guard).send(then_wait(b"x" * 900))) for _ in range(20)]
        await asyncio.sleep(0.3)
        assert guard.held == 4500
        assert [task.result().status for task in slow if task.done()] == [429] * 15
        assert (await Client(guard).send([b"x" * 400])).status == 200  # there is room for this one
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        assert guard.held == 0

    asyncio.run(asyncio.wait_for(main(), 5))


def test_a_client_that_leaves_gets_no_answer_and_leaves_nothing_behind() -> None:
    async def main() -> None:
        guard = make_guard()
        assert (await Client(guard).send(then_leave(b"half"))).status is None
        assert guard.held == 0

    asyncio.run(asyncio.wait_for(main(), 5))


def test_only_its_own_names_are_answered() -> None:
    async def main() -> None:
        names = ["localhost", "127.0.0.1", "[::1]"]
        guard = Guard(echo, config=ServeLimits(), full=lambda: None, hosts=names)
        for host in ("localhost", "LOCALHOST:8080", "127.0.0.1:80", "[::1]:8080", "[::1]"):
            assert (await Client(guard, headers={"host": host}).send([b"{}"])).status == 200
        for host in ("evil.example", "evil.example:8080", "localhost.evil.example", "", "[::1", "127.0.0.1:x"):
            refused = await Client(guard, headers={"host": host}).send([b"{}"])
            assert refused.status == 421
            assert refused.error["code"] == "wrong_host"
        assert (await Client(make_guard(), headers={"host": "evil.example"}).send([b"{}"])).status == 200

    asyncio.run(asyncio.wait_for(main(), 5))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # no browser
        ({"origin": "http://localhost:8080"}, 200),
        ({"origin": "https://localhost:8080"}, 200),  # a proxy has ended TLS
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-origin", "origin": "https://graph.example"}, 200),  # a proxy has changed the host
        ({"sec-fetch-site": "cross-site", "origin": "http://localhost:8080"}, 403),
    ],
    ids=str,
)
def test_pages_of_other_origins_change_nothing(headers: dict[str, str], status: int) -> None:
    async def main() -> None:
        guard = make_guard()
        headers["host"] = "localhost:8080"
        for method in ("POST", "PUT", "DELETE"):
            client = await Client(guard, method=method, headers=headers).send([b""])
            assert client.status == status
            assert status == 200 or client.error["code"] == "foreign_origin"
        assert (await Client(guard, method="GET", headers=headers).send([])).status == 200

    asyncio.run(asyncio.wait_for(main(), 5))


def test_a_full_queue_is_said_before_the_body_is_read() -> None:
    async def main() -> None:
        guard = make_guard(full=busy())
        refused = await Client(guard).send(then_wait(b""))
        assert refused.status == 429
        assert (b"retry-after", b"1") in refused.sent[0]["headers"]

    asyncio.run(asyncio.wait_for(main(), 5))


@pytest.mark.parametrize(
    ("header", "status"),
    [("Bearer secret", 200), ("bearer  secret", 200), ("Bearer secre", 401), ("Basic secret", 401), ("", 401)],
)
def test_the_token(header: str, status: int) -> None:
    async def main() -> None:
        guard = make_guard(token="secret")
        client = await Client(guard, headers={"Authorization": header}).send([b"{}"])
        assert client.status == status
        assert (await Client(guard, method="GET", path="/healthz").send([])).status == 200
        assert (await Client(guard, method="GET", path="/metrics").send([])).status == 401

    asyncio.run(main())
