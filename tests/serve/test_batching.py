"""The queue: requests that wait together are computed together, a full one refuses, an end finishes what it took."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from sanne.serve.http.batching import Kind, Worker
from sanne.serve.http.errors import Refusal


class Clock:
    """Time that passes when it is told to, so that busy cores change nothing."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """Work that waits until it is let through, and remembers what it was given."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.batches: list[list[Any]] = []

    def __call__(self, payloads: Sequence[Any]) -> list[Any]:
        self.batches.append(list(payloads))
        self.entered.set()
        assert self.open.wait(10)
        return [payload * 10 for payload in payloads]


def with_worker(test: Callable[[Worker], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def main() -> None:
        worker = Worker("test", **({"max_queue": 8, "max_batch": 4, "max_seconds": 60.0} | options))
        worker.start()
        await test(worker)
        await worker.close()
        assert not worker.alive

    asyncio.run(main())


async def entered(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.entered.wait, 10)


def test_what_waits_is_computed_together_up_to_the_limit() -> None:
    gate = Gate()
    kind = Kind("work", gate)
    reports: list[tuple[object, ...]] = []

    async def test(worker: Worker) -> None:
        first = asyncio.create_task(worker.run(kind, 0))
        await entered(gate)
        others = [asyncio.create_task(worker.run(kind, n)) for n in range(1, 7)]
        await asyncio.sleep(0.01)
        gate.open.set()
        assert await asyncio.gather(first, *others) == [0, 10, 20, 30, 40, 50, 60]

    with_worker(test, report=lambda *batch: reports.append(batch[:3]))
    assert gate.batches == [[0], [1, 2, 3, 4], [5, 6]]
    assert reports == [("work", 1, 1), ("work", 4, 4), ("work", 2, 2)]


def test_kinds_are_not_mixed() -> None:
    gate, other = Gate(), Gate()
    other.open.set()
    one, two = Kind("one", gate), Kind("two", other)

    async def test(worker: Worker) -> None:
        tasks = [asyncio.create_task(worker.run(one, 0))]
        await entered(gate)
        for kind, payload in ((one, 1), (two, 2), (two, 4), (one, 6)):
            tasks.append(asyncio.create_task(worker.run(kind, payload)))
        await asyncio.sleep(0.01)
        gate.open.set()
        await asyncio.gather(*tasks)

    with_worker(test)
    assert gate.batches == [[0], [1, 6]]
    assert other.batches == [[2, 4]]


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    gate = Gate()
    kind = Kind("work", gate)

    async def test(worker: Worker) -> None:
        first = asyncio.create_task(worker.run(kind, 0))
        await entered(gate)
        waiting = [asyncio.create_task(worker.run(kind, n, size=4)) for n in (1, 2)]
        await asyncio.sleep(0.01)
        assert worker.waiting == 8
        with pytest.raises(Refusal) as refused:
            await worker.run(kind, 3)
        assert refused.value.status == 429
        assert refused.value.retry_after is not None
        assert refused.value.retry_after >= 1
        gate.open.set()
        assert await asyncio.gather(first, *waiting) == [0, 10, 20]
        assert await worker.run(kind, 4, size=50) == 40  # larger than the queue, which is empty

    with_worker(test)


def test_a_request_whose_turn_comes_too_late_is_refused_and_not_computed() -> None:
    gate, clock = Gate(), Clock()
    kind = Kind("work", gate)

    async def test(worker: Worker) -> None:
        first = asyncio.create_task(worker.run(kind, 0))  # nothing is known yet of how long it will take
        await entered(gate)
        late = [asyncio.create_task(worker.run(kind, n)) for n in (1, 2)]
        await asyncio.sleep(0.01)
        clock.now += 0.3
        gate.open.set()
        assert await first == 0
        for refused in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(refused, Refusal)
            assert refused.status == 429
            assert refused.retry_after is not None
        assert worker.waiting == 0

    with_worker(test, clock=clock, max_seconds=0.2)
    assert gate.batches == [[0]]


def test_after_some_work_it_says_once_that_it_is_idle() -> None:
    idle = threading.Semaphore(0)

    async def test(worker: Worker) -> None:
        await worker.run(Kind("good", list), 1)
        assert await asyncio.to_thread(idle.acquire, timeout=10)
        assert not await asyncio.to_thread(idle.acquire, timeout=0.1)
        assert await worker.run(Kind("good", list), 2) == 2
        assert await asyncio.to_thread(idle.acquire, timeout=10)

    with_worker(test, idle=idle.release, idle_seconds=0.02)


def test_an_error_of_one_request_is_not_another_ones() -> None:
    kind = Kind("work", lambda payloads: [ValueError("odd") if n % 2 else n for n in payloads])

    async def test(worker: Worker) -> None:
        results = await asyncio.gather(*(worker.run(kind, n) for n in range(4)), return_exceptions=True)
        assert results[0::2] == [0, 2]
        assert all(isinstance(result, ValueError) for result in results[1::2])

    with_worker(test)


def test_the_worker_outlives_work_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    def fail(payloads: Sequence[Any]) -> list[Any]:
        raise RuntimeError("broken")

    async def test(worker: Worker) -> None:
        with pytest.raises(RuntimeError, match="broken"):
            await worker.run(Kind("bad", fail), 1)
        assert await worker.run(Kind("good", list), 2) == 2

    with_worker(test)
    assert "bad of 1 requests failed" in caplog.text


def test_closing_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    gate = Gate()
    kind = Kind("work", gate)

    async def test(worker: Worker) -> None:
        tasks = [asyncio.create_task(worker.run(kind, 0))]
        await entered(gate)
        tasks += [asyncio.create_task(worker.run(kind, n)) for n in (1, 2)]
        await asyncio.sleep(0.01)
        worker.refuse_new()
        with pytest.raises(Refusal) as refused:
            await worker.run(kind, 3)
        assert refused.value.status == 503
        gate.open.set()
        await worker.close()
        assert await asyncio.gather(*tasks) == [0, 10, 20]

    with_worker(test)


def test_a_client_that_left_does_not_hurt_the_others() -> None:
    gate = Gate()
    kind = Kind("work", gate)

    async def test(worker: Worker) -> None:
        first = asyncio.create_task(worker.run(kind, 0))
        await entered(gate)
        gone, stays = (asyncio.create_task(worker.run(kind, n)) for n in (1, 2))
        await asyncio.sleep(0.01)
        gone.cancel()
        gate.open.set()
        assert await first == 0
        assert await stays == 20

    with_worker(test)
