"""A client that costs little: many HTTP/1.1 connections on one event loop, no library in between."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


def as_post(path: str, body: Any) -> bytes:
    """A request, ready to be sent."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
    )
    return head.encode() + b"\r\n\r\n" + content


def as_get(path: str) -> bytes:
    """A request, ready to be sent."""
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


class Connection(asyncio.Protocol):
    """One connection: a request at a time, answered by (status, body)."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: Any = None

    @classmethod
    async def open(cls, host: str, port: int) -> "Connection":
        return (await asyncio.get_running_loop().create_connection(cls, host, port))[1]

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0 or self._answer is None:
            return
        head = bytes(self._received[:end]).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(self._received) < end + 4 + length:
            return
        body = bytes(self._received[end + 4 : end + 4 + length])
        self._received.clear()
        answer, self._answer = self._answer, None
        if not answer.done():
            answer.set_result((int(head[9:12]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server closed the connection"))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and wait for its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self._transport.close()


@dataclass
class Tally:
    """How requests went."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # of those that were accepted
    refused_seconds: list[float] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    ended: float = 0.0

    def count(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        (self.seconds if status == 200 else self.refused_seconds).append(seconds)

    def summary(self) -> dict[str, Any]:
        duration = (self.ended or time.perf_counter()) - self.started
        result: dict[str, Any] = {
            "seconds": round(duration, 2),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "accepted_per_second": round(self.statuses[200] / duration, 1),
            "answers_per_second": round(self.statuses.total() / duration, 1),
        }
        return result | milliseconds(self.seconds, "accepted_")


def milliseconds(seconds: list[float], prefix: str = "") -> dict[str, float]:
    """Median, 99th percentile and maximum."""
    if not seconds:
        return {}
    values = np.array(seconds) * 1000
    return {
        f"{prefix}p50_ms": round(float(np.median(values)), 2),
        f"{prefix}p99_ms": round(float(np.percentile(values, 99)), 2),
        f"{prefix}max_ms": round(float(values.max()), 2),
    }


async def closed_loop(
    host: str, port: int, next_request: Callable[[], bytes], *, clients: int, seconds: float, warm_up: float = 0.0
) -> Tally:
    """Clients that each send their next request as soon as the last is answered."""
    tally = Tally()

    async def client() -> None:
        connection = await Connection.open(host, port)
        while (sent := time.perf_counter()) < end:
            status, _ = await connection.ask(next_request())
            if sent >= begin:
                tally.count(status, time.perf_counter() - sent)
        connection.close()

    begin = time.perf_counter() + warm_up
    end = begin + seconds
    tally.started, tally.ended = begin, end
    await asyncio.gather(*(client() for _ in range(clients)))
    return tally


async def open_loop(
    host: str, port: int, next_request: Callable[[], bytes], *, rate: float, connections: int, seconds: float
) -> tuple[Tally, int]:
    """Requests at a fixed rate, whether or not the server keeps up; also how many found no free connection."""
    tally, held_back = Tally(), 0
    idle = [await Connection.open(host, port) for _ in range(connections)]
    tasks: set[asyncio.Task[None]] = set()

    async def one(connection: Connection) -> None:
        sent = time.perf_counter()
        try:
            status, _ = await connection.ask(next_request())
        except ConnectionError:
            tally.count(0, time.perf_counter() - sent)
            connection = await Connection.open(host, port)
        else:
            tally.count(status, time.perf_counter() - sent)
        idle.append(connection)

    begin = tally.started = time.perf_counter()
    due = 0
    while (now := time.perf_counter()) < begin + seconds:
        while due < (now - begin) * rate:
            due += 1
            if idle:
                task = asyncio.create_task(one(idle.pop()))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            else:
                held_back += 1
        await asyncio.sleep(0.002)
    tally.ended = time.perf_counter()
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()
    return tally, held_back
