"""Dynamic batching: one thread processes a bounded queue, requests of the same kind together."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sanne.serve.http.errors import Refusal, busy

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of work: `run` takes the payloads of several requests and returns a result or an error for each."""

    name: str
    run: Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(eq=False)
class _Job:
    kind: Kind
    payload: Any
    size: int
    future: "asyncio.Future[Any]"
    since: float


# Called after every batch with its kind, requests, nodes, seconds, and the longest wait.
Report = Callable[[str, int, int, float, float], None]


@dataclass(eq=False)
class Worker:
    """A thread, and a queue owned by the event loop.

    Sizes are counted in nodes: a request of 50 nodes counts as much as 50 of one. A request is refused if the
    queue is full, or when its turn comes after more than `max_seconds`. `idle` is called `idle_seconds` after the last
    work.
    """

    name: str
    _: KW_ONLY
    max_queue: int
    max_batch: int
    max_seconds: float
    report: Report = lambda *batch: None
    idle: Callable[[], None] = lambda: None
    idle_seconds: float = 2.0
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._jobs: deque[_Job] = deque()
        self._has_worked = False  # since `idle` was called
        self._closing = False
        self._changed = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=self.name)
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Nodes in the queue."""
        return sum(job.size for job in self._jobs)

    @property
    def alive(self) -> bool:
        """Whether requests are still accepted and processed."""
        return self._task is not None and not self._task.done() and not self._closing

    def start(self) -> None:
        """Start working, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._work())

    def refusal(self, size: int = 1) -> Refusal | None:
        """Why a request of `size` nodes would not be accepted now; None if it would."""
        if self._closing:
            return Refusal(503, "closing", "the server is shutting down: try another one, or later", retry_after=5)
        full = self._jobs and self.waiting + size > self.max_queue  # one larger than the queue may wait alone
        return busy() if full else None

    async def run(self, kind: Kind, payload: Any, size: int = 1) -> Any:
        """The result of one request; raises Refusal if the queue is full, or the error from `kind`."""
        job = _Job(kind, payload, max(1, size), asyncio.get_running_loop().create_future(), self.clock())
        if (refusal := self.refusal(job.size)) is not None:
            raise refusal
        self._jobs.append(job)
        self._changed.set()
        return await job.future

    def refuse_new(self) -> None:
        """Accept no more requests; accepted ones are still finished."""
        self._closing = True
        self._changed.set()

    async def close(self) -> None:
        """Finish accepted requests, then stop."""
        self.refuse_new()
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    async def _work(self) -> None:
        while await self._has_work():
            self._drop_late()
            if self._jobs:
                await self._compute(self._take())

    async def _has_work(self) -> bool:
        """Wait until there is work; False if there will be none."""
        while not self._jobs and not self._closing:
            self._changed.clear()
            try:
                async with asyncio.timeout(self.idle_seconds if self._has_worked else None):
                    await self._changed.wait()
            except TimeoutError:
                self._has_worked = False
                await asyncio.get_running_loop().run_in_executor(self._thread, self.idle)
        return bool(self._jobs)

    async def _compute(self, batch: list[_Job]) -> None:
        started, kind, nodes = self.clock(), batch[0].kind, sum(job.size for job in batch)
        results = await asyncio.get_running_loop().run_in_executor(self._thread, _results_of, batch)
        seconds = self.clock() - started
        self._has_worked = True
        _settle(batch, results)
        self.report(kind.name, len(batch), nodes, seconds, max(started - job.since for job in batch))

    def _take(self) -> list[_Job]:
        """The first waiting request and others of its kind."""
        batch = [self._jobs.popleft()]
        kind, room = batch[0].kind, self.max_batch - batch[0].size
        for job in list(self._jobs):
            if job.kind is kind and job.size <= room:
                self._jobs.remove(job)
                batch.append(job)
                room -= job.size
        return batch

    def _drop_late(self) -> None:
        """Refuse requests that have waited too long, unless the worker is closing."""
        latest = self.clock() - self.max_seconds
        late = [job for job in self._jobs if job.since < latest and not self._closing]
        for job in late:
            self._jobs.remove(job)
        _settle(late, [busy()] * len(late))


def _results_of(batch: list[_Job]) -> Sequence[Any]:
    try:
        results = batch[0].kind.run([job.payload for job in batch])
        assert len(results) == len(batch)
    except Exception as error:
        logger.exception("%s of %d requests failed", batch[0].kind.name, len(batch))
        return [error] * len(batch)
    return results


def _settle(batch: list[_Job], results: Sequence[Any]) -> None:
    for job, result in zip(batch, results, strict=True):
        if job.future.done():  # its client is gone
            continue
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
