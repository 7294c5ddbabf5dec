"""The search over the paper's grid: asynchronous successive halving, by workers that share nothing but files.

Every worker reads the records, works out what is most worth doing, takes a lock on it and does it. What is known
follows from the records alone, so that a search can be stopped at any time, killed, and continued.
"""

import contextlib
import fcntl
import itertools
import logging
import math
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sanne.errors import DatasetError, SanneError
from sanne_lab.paper.grid import INDUCTIVE_WALKS, MAX_EPOCHS, Candidate, Cell, Unstated, candidates, nearest_first
from sanne_lab.paper.inputs import number_of_splits, splits_source, steps_per_epoch
from sanne_lab.paper.records import Epoch, append, read
from sanne_lab.paper.training import Training
from sanne_lab.workers import end_with_parent, one_thread_each

logger = logging.getLogger(__name__)

KEPT = 2  # one candidate in so many goes on to the next rung
SEED = 0


@dataclass(frozen=True)
class Rung:
    """How far a candidate is trained before it is compared: on so many splits, for so many steps."""

    splits: int
    steps: int


@dataclass(frozen=True)
class Job:
    """One training, and the epoch it is to reach."""

    candidate: Candidate
    split: int | None
    epochs: int

    @property
    def name(self) -> str:
        return f"{self.candidate.key}-{'all' if self.split is None else self.split}-{SEED}"


# Steps of the first rung; every further one doubles them. They are two epochs with T = 16, on Pubmed one.
FIRST_STEPS = {"cora": 1354, "citeseer": 1664, "pubmed": 4930}
NUM_RUNGS = 5
SURE_RUNGS = 4  # that the first candidate climbs in any case

# How long Doc2Vec is trained was narrowed down by the validation accuracy of its vectors, smoothed over the graph in
# three steps: Cora 80.9 with 140 epochs, 81.1 with the authors' vectors; Citeseer 71.8 with 90, 69.6 with the authors';
# Pubmed 78.9 with 20, 79.5 with 40 and with 80, 79.7 with 40 by the product's map (whose vectors are worse unsmoothed:
# 71.9, and 75.6 as trained). With words repeated as often as texts have them, Pubmed's are 76.4 as trained (20 epochs),
# 79.5 smoothed (40).
DOC2VEC = {"cora": "joint-140", "citeseer": "joint-90", "pubmed": "counts-40"}


def variants(cell: Cell) -> tuple[Unstated, ...]:
    """What the paper does not state, filled in, the most promising first: one further axis of the search.

    How far the table moves in an epoch is its rate times the steps, and validation peaks after one to two epochs of T =
    16 at 1e-3 on Cora and Citeseer. With more steps in an epoch a slower table comes first. Newcomers, whose vectors
    are shorter than rows of the table, are compared at length one.
    """
    features = DOC2VEC[cell.dataset]
    if cell.texts == "present":
        features = "own-" + features.partition("-")[2]
    many_walks = cell.setting == "inductive" and INDUCTIVE_WALKS[cell.dataset] == 128
    if many_walks and cell.dataset == "pubmed":
        rates = (1.0, 3.0, 10.0)
    else:
        rates = (3.0, 10.0, 1.0) if many_walks or cell.dataset == "pubmed" else (10.0, 3.0, 1.0)
    lengths: Literal["any", "one"] = "one" if cell.setting == "inductive" else "any"
    usual = Unstated(features=features, lengths=lengths)
    uniform = replace(usual, table_rate=rates[0], negatives="uniform")
    as_authors = replace(usual, position_scale=1.0, dropout=0.1, initialisation="xavier")
    return (*(replace(usual, table_rate=rate) for rate in rates), uniform, as_authors)


def rungs(cell: Cell) -> list[Rung]:
    """The rungs of a cell. Where each split is a training of its own, two splits decide who is trained on all."""
    total, steps = number_of_splits(cell), FIRST_STEPS[cell.dataset]
    if cell.setting == "transductive":
        return [Rung(total, steps * 2**number) for number in range(NUM_RUNGS)]
    few, steps = min(2, total), max(steps, steps_per_epoch(candidates(cell, variants(cell))[0]))
    return [Rung(few, steps), Rung(total, steps), *(Rung(total, steps * 2**number) for number in range(1, NUM_RUNGS))]


class Progress:
    """What the records say about each training."""

    def __init__(self, epochs: Sequence[Epoch], cell: Cell) -> None:
        self._cell = cell
        self._epochs: dict[tuple[str, int | None], dict[int, Epoch]] = {}
        for epoch in epochs:
            split = None if cell.setting == "transductive" else epoch.splits[0]
            self._epochs.setdefault((epoch.candidate.key, split), {})[epoch.epoch] = epoch

    def started(self, candidate: Candidate) -> bool:
        """Whether any training of the candidate has a record."""
        return any(key == candidate.key for key, _ in self._epochs)

    def jobs(self, candidate: Candidate, rung: Rung) -> list[Job]:
        """What is still to be trained before the candidate has reached the rung."""
        target = min(MAX_EPOCHS, math.ceil(rung.steps / steps_per_epoch(candidate)))
        found = []
        for split in self._splits(rung):
            done = self._epochs.get((candidate.key, split), {})
            if max(done, default=0) < target and not _has_peaked(done):
                found.append(Job(candidate, split, target))
        return found

    def score(self, candidate: Candidate, rung: Rung) -> float:
        """Mean over the rung's splits of the best validation accuracy so far."""
        best: list[float] = []
        for split in self._splits(rung):
            done = self._epochs[candidate.key, split].values()
            best += [max(values) for values in zip(*(epoch.val for epoch in done), strict=True)]
        return sum(best) / len(best)

    def ranked(self, grid: Sequence[Candidate], rung: Rung) -> list[Candidate]:
        """The candidates that have reached a rung, the best on validation first."""
        there = [candidate for candidate in grid if self.started(candidate) and not self.jobs(candidate, rung)]
        return sorted(there, key=lambda candidate: -self.score(candidate, rung))

    def _splits(self, rung: Rung) -> list[int | None]:
        return [None] if self._cell.setting == "transductive" else list(range(rung.splits))


def _has_peaked(done: dict[int, Epoch]) -> bool:
    """Whether validation was best in the first half of the epochs: then more training only overfits."""
    if len(done) < 4:
        return False
    means = {number: sum(epoch.val) / len(epoch.val) for number, epoch in done.items()}
    return max(means, key=lambda number: means[number]) * 2 <= max(means)


def wanted(cell: Cell, epochs: Sequence[Epoch], ways: Sequence[Unstated] | None = None) -> Iterator[Job]:
    """Jobs, the most worth doing first: promotions to higher rungs, then new candidates near the best so far.

    The first candidate climbs some rungs whatever the others do, so that a row is complete as early as can be.
    """
    grid = candidates(cell, ways or variants(cell))
    ladder, progress = rungs(cell), Progress(epochs, cell)
    for rung in ladder[:SURE_RUNGS]:
        yield from progress.jobs(grid[0], rung)
    for lower, higher in reversed(list(itertools.pairwise(ladder))):
        there = progress.ranked(grid, lower)
        for candidate in there[: len(there) // KEPT]:
            yield from progress.jobs(candidate, higher)
    best = progress.ranked(grid, ladder[0])
    started = [candidate for candidate in grid if progress.started(candidate)]
    others = [candidate for candidate in grid if not progress.started(candidate)]
    for candidate in [*started, *nearest_first(others, best[0] if best else grid[0])]:
        yield from progress.jobs(candidate, ladder[0])


def search(cells: Sequence[Cell], results: Path, cache: Path, *, hours: float, jobs: int = 2) -> None:
    """Spend so many hours on some cells in turn, each with its even share of what is left, in `jobs` processes."""
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        if splits_source(dataset) != "paper":
            raise DatasetError(f"the paper's splits of {dataset} are not at hand: set SANNE_DATA to their folder")
    end = time.monotonic() + 3600 * hours
    for number, cell in enumerate(cells):
        now = time.monotonic()
        share = (end - now) / (len(cells) - number)
        if share > 0:
            _run_workers(cell, results, cache, share, jobs)


def _run_workers(cell: Cell, results: Path, cache: Path, seconds: float, jobs: int) -> None:
    context = multiprocessing.get_context("spawn")
    with one_thread_each():
        workers = [context.Process(target=work, args=(cell, results, cache, seconds)) for _ in range(jobs)]
        for worker in workers:
            worker.start()
    try:
        for worker in workers:
            worker.join()
    except BaseException:
        for worker in workers:
            worker.terminate()
        raise
    if failed := [worker for worker in workers if worker.exitcode]:
        raise SanneError(f"{len(failed)} of {len(workers)} workers failed on {cell}; see the log above")


def work(cell: Cell, results: Path, cache: Path, seconds: float) -> None:
    """Do jobs of a cell until the time is up or nothing is left to do."""
    logging.basicConfig(format="%(asctime)s %(process)d %(message)s")
    logging.getLogger("sanne_lab").setLevel(logging.INFO)
    end_with_parent()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with _next_job(cell, results, cache) as job:
            if job is None:
                return
            _train(job, results, cache, deadline)


def _train(job: Job, results: Path, cache: Path, deadline: float) -> None:
    training = Training(job.candidate, job.split, SEED, cache)
    logger.info("%s: %s to epoch %d", job.candidate.cell, job.name, job.epochs)
    while training.epochs_done < job.epochs and time.monotonic() < deadline:
        epoch = training.run_epoch(deadline)
        if epoch is None:
            return
        append(results, epoch)  # before the checkpoint: an epoch that is done twice is recorded once
        training.save()
        mean = sum(epoch.val) / len(epoch.val)
        logger.info("%s epoch %d: validation %.2f, %.0f s", job.name, epoch.epoch, mean, epoch.seconds)


@contextlib.contextmanager
def _next_job(cell: Cell, results: Path, cache: Path) -> Iterator[Job | None]:
    """The job most worth doing that nobody is at, locked; None if there is none."""
    locks = cache / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    for job in wanted(cell, read(results, cell)):
        descriptor = os.open(locks / job.name, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            yield job
        finally:
            os.close(descriptor)
        return
    yield None
