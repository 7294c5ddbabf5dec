"""Dynamic batching: one thread computes what is waiting, requests of one kind together, from a bounded queue."""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanne.serve.refusals import Refusal, busy, closing

logger = logging.getLogger(__name__)

_LONGEST_RETRY = 60  # seconds
_KEPT_SHARE = 0.9  # of the old estimate of a node's seconds, when a new one comes in


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of work: `run` takes the payloads of several requests and gives each a result, or its error."""

    name: str
    run: Callable[[Sequence[Any]], Sequence[Any]]
    together: bool = True  # whether requests of this kind may share a call of `run`


@dataclass(eq=False)
class _Job:
    kind: Kind
    payload: Any
    size: int
    future: "asyncio.Future[Any]"
    since: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class BatchReport:
    """What a batch was, for those who count."""

    kind: str
    requests: int
    nodes: int
    seconds: float
    waited: float  # by the request that waited longest


class Worker:
    """A thread with a queue. Sizes are counted in nodes: a request of 50 nodes fills the queue as 50 of one do."""

    def __init__(
        self,
        name: str,
        *,
        max_queue: int,
        max_batch: int,
        max_seconds: float,
        report: Callable[[BatchReport], None] = lambda report: None,
    ) -> None:
        self._max_queue = max_queue
        self._max_batch = max_batch
        self._max_seconds = max_seconds
        self._report = report
        self._jobs: deque[_Job] = deque()
        self._waiting = 0
        self._seconds_a_node = 0.0
        self._closing = False
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def waiting(self) -> int:
        """Nodes in the queue."""
        return self._waiting

    @property
    def alive(self) -> bool:
        """Whether work is still accepted and done."""
        return self._thread.is_alive() and not self._closing

    def start(self) -> None:
        """Begin to work, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def refusal(self, size: int = 1) -> Refusal | None:
        """Why a request of `size` nodes would not be accepted now; None if it would."""
        if self._closing:
            return closing()
        seconds = self._waiting * self._seconds_a_node
        # What is larger than the queue waits alone.
        if self._waiting and (self._waiting + size > self._max_queue or seconds > self._max_seconds):
            return busy(max(1, min(_LONGEST_RETRY, math.ceil(seconds))))
        return None

    async def run(self, kind: Kind, payload: Any, size: int = 1) -> Any:
        """The result of one request; raises Refusal where the queue is full, or the error that `kind` gave."""
        assert self._loop is not None
        job = _Job(kind, payload, max(1, size), self._loop.create_future())
        with self._changed:
            if (refusal := self.refusal(job.size)) is not None:
                raise refusal
            self._jobs.append(job)
            self._waiting += job.size
            self._changed.notify()
        return await job.future

    def refuse_new(self) -> None:
        """Accept nothing more; what was accepted is still done."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    async def close(self) -> None:
        """Finish what was accepted, then end."""
        self.refuse_new()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while batch := self._next_batch():
            started = time.perf_counter()
            results = _results_of(batch)
            seconds = time.perf_counter() - started
            nodes = sum(job.size for job in batch)
            old = self._seconds_a_node or seconds / nodes
            self._seconds_a_node = _KEPT_SHARE * old + (1 - _KEPT_SHARE) * seconds / nodes
            self._deliver(batch, results)
            waited = max(started - job.since for job in batch)
            self._report(BatchReport(batch[0].kind.name, len(batch), nodes, seconds, waited))

    def _next_batch(self) -> list[_Job]:
        """The first request that waits, and others of its kind; none when everything is done for good."""
        with self._changed:
            while not self._jobs:
                if self._closing:
                    return []
                self._changed.wait()
            batch = [self._jobs.popleft()]
            kind, room = batch[0].kind, self._max_batch - batch[0].size
            if kind.together and room > 0:
                left: deque[_Job] = deque()
                for job in self._jobs:
                    if job.kind is kind and job.size <= room:
                        batch.append(job)
                        room -= job.size
                    else:
                        left.append(job)
                self._jobs = left
            self._waiting -= sum(job.size for job in batch)
            return batch

    def _deliver(self, batch: list[_Job], results: Sequence[Any]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(_settle, batch, results)
        except RuntimeError:  # the loop has ended, and nobody waits
            logger.warning("%d finished requests have nobody to go to", len(batch))


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
