"""Run pieces one after another or in several processes, share the time among them, tell how it goes."""

import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from sanne.errors import SanneError
from sanne_lab.experiments.cells import Cell, Clock, Piece, missing_pieces
from sanne_lab.experiments.records import sort_records
from sanne_lab.workers import end_with_parent, one_thread_each

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class News:
    """What a watcher is told: a piece starts or ends."""

    message: str
    done: int = 0
    total: int = 0
    seconds_left: float | None = None  # None: not known yet


Watch = Callable[[News], None]


def silent(news: News) -> None:
    """A watcher that does nothing."""


@dataclass(frozen=True)
class Plan:
    """How to run: worker processes, and minutes for the whole call."""

    jobs: int = 1
    budget: float | None = None  # None: only the first candidate of every grid; 0: nothing
    watch: Watch = silent
    progress: bool | None = False  # bars of single trainings, in one process only
    clock: Clock = time.monotonic


def fill(cells: Sequence[Cell], out: Path, plan: Plan) -> list[Exception]:
    """Run what is missing of the cells; a piece that fails does not stop the others, its error is returned."""
    if plan.budget == 0:
        return []
    waiting = [piece for cell in cells for piece in missing_pieces(cell, out, plan.budget is not None)]
    if plan.budget is not None:  # what has no grid first: then it is known how much time the searches may take
        waiting.sort(key=lambda piece: piece.candidates > 1)
    crew = _Crew(waiting, out, plan)
    try:
        if plan.jobs > 1 and len(waiting) > 1:
            crew.run_in_processes()
        else:
            crew.run_here()
    finally:
        for table in dict.fromkeys(piece.cell.table for piece in waiting):
            sort_records(out, table)
    return crew.errors


@dataclass
class _Crew:
    """The pieces of a call, and how far they are."""

    pieces: list[Piece]
    out: Path
    plan: Plan
    errors: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._started = self.plan.clock()
        self._waiting = list(self.pieces)
        self._running: dict[int, tuple[Piece, float]] = {}
        self._seconds: dict[str, list[float]] = {}  # of finished pieces, by cell

    def run_here(self) -> None:
        while self._waiting:
            piece, share = self._next()
            try:
                piece.run(self.out, share, progress=self.plan.progress, clock=self.plan.clock)
            except Exception as error:
                self._failed(piece, error)
            self._ended(piece)

    def run_in_processes(self) -> None:
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")
        with (
            one_thread_each(),
            ProcessPoolExecutor(self.plan.jobs, mp_context=context, initializer=_start_worker) as pool,
        ):
            try:
                self._share_out(pool)
            except BaseException:
                for worker in set(multiprocessing.active_children()) - others:
                    worker.terminate()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _share_out(self, pool: ProcessPoolExecutor) -> None:
        futures: dict[Future[None], Piece] = {}
        while self._waiting or futures:
            while self._waiting and len(futures) < self.plan.jobs:
                piece, share = self._next()
                futures[pool.submit(piece.run, self.out, share)] = piece
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                piece = futures.pop(future)
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise SanneError(f"a process died during {piece}: perhaps memory ran out; try fewer --jobs")
                if isinstance(error, Exception):
                    self._failed(piece, error)
                self._ended(piece)

    def _next(self) -> tuple[Piece, float | None]:
        """The next piece, with its even share of the time that is left."""
        now = self.plan.clock()
        share = None
        if self.plan.budget is not None:
            left = max(0.0, 60 * self.plan.budget - (now - self._started))
            share = left * min(self.plan.jobs, len(self._waiting)) / len(self._waiting)
        piece = self._waiting.pop(0)
        self._running[id(piece)] = (piece, now)
        self._tell(str(piece))
        return piece, share

    def _ended(self, piece: Piece) -> None:
        _, before = self._running.pop(id(piece))
        self._seconds.setdefault(str(piece.cell), []).append(self.plan.clock() - before)
        self._tell("")

    def _failed(self, piece: Piece, error: Exception) -> None:
        self.errors.append(error)
        is_known = isinstance(error, SanneError)
        logger.error("%s failed: %s", piece, error, exc_info=None if is_known else error)

    def _tell(self, message: str) -> None:
        done = len(self.pieces) - len(self._waiting) - len(self._running)
        self.plan.watch(News(message, done, len(self.pieces), self._seconds_left()))

    def _seconds_left(self) -> float | None:
        """From pieces of the same cell where there are some, else from all."""
        if not self._seconds:
            return None
        means = {cell: sum(seconds) / len(seconds) for cell, seconds in self._seconds.items()}
        overall = sum(means.values()) / len(means)
        now = self.plan.clock()
        left = [max(0.0, means.get(str(p.cell), overall) - (now - at)) for p, at in self._running.values()]
        left += [means.get(str(piece.cell), overall) for piece in self._waiting]
        return sum(left) / max(1, min(self.plan.jobs, len(left)))


def _start_worker() -> None:
    """The first process answers Ctrl-C; a worker ends with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
