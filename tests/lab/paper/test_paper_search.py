"""The search spends its time on what validation favours, in several processes, and stops and goes on at will."""

from dataclasses import replace
from pathlib import Path

import pytest

from sanne.errors import DatasetError
from sanne.graph.graph import Graph
from sanne_lab.paper import search
from sanne_lab.paper.grid import Cell, Unstated, candidates, distance, nearest_first
from sanne_lab.paper.records import Epoch, read
from sanne_lab.paper.rows import rows
from sanne_lab.paper.search import Job, Progress, rungs, wanted, work

CELL = Cell("cora", "transductive")
NEW = Cell("cora", "inductive")


@pytest.fixture(autouse=True)
def small(small_cora: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rungs of 200 and 400 steps; an epoch has 23 with T = 16, 180 with T = 128."""
    monkeypatch.setitem(search.FIRST_STEPS, "cora", 200)
    monkeypatch.setattr(search, "NUM_RUNGS", 2)


def fake(job: Job, val: float) -> list[Epoch]:
    """The epochs of a job that has about this validation accuracy, and a little more after every epoch."""
    splits = (0, 1) if job.split is None else (job.split,)
    count = len(splits)
    return [
        Epoch(job.candidate, 0, "f", n, n, splits, (val + 0.01 * n,) * count, (0.0,) * count, (1.0,), 1, 1)
        for n in range(1, job.epochs + 1)
    ]


def first(epochs: list[Epoch], cell: Cell = CELL) -> Job:
    return next(wanted(cell, epochs, (Unstated(),)))


def test_the_first_candidate_climbs_then_others_start_and_the_better_half_goes_on() -> None:
    grid = candidates(CELL, (Unstated(),))
    epochs: list[Epoch] = []
    job = first(epochs)
    assert job.candidate == grid[0]
    while first(epochs).candidate == grid[0]:
        job = first(epochs)
        epochs += fake(job, 70.0)
    longest = max(one.epoch for one in epochs)
    assert longest == job.epochs > 1
    assert first(epochs).candidate == grid[1]
    epochs += fake(first(epochs), 80.0)
    # One of two goes on: the second candidate, which is ahead, climbs before a third one starts.
    promoted = first(epochs)
    assert promoted.candidate == grid[1]
    epochs += fake(promoted, 80.0)
    assert first(epochs).candidate == nearest_first(grid[2:], grid[1])[0]


def test_a_candidate_that_is_behind_is_not_trained_further() -> None:
    grid = candidates(CELL, (Unstated(),))
    epochs: list[Epoch] = []
    while first(epochs).candidate == grid[0]:
        epochs += fake(first(epochs), 70.0)
    epochs += fake(first(epochs), 60.0)
    assert first(epochs).candidate == grid[2]


def test_what_has_peaked_is_not_trained_further() -> None:
    job = replace(first([]), epochs=6)
    falling = [replace(one, val=(70.0 - one.epoch,) * 2) for one in fake(job, 0.0)]
    assert first(falling).candidate != job.candidate


def test_newcomers_start_on_all_splits_for_the_first_candidate_and_on_two_for_others() -> None:
    assert [rung.splits for rung in rungs(NEW)] == [2, 2, 2]
    epochs: list[Epoch] = []
    seen = []
    for _ in range(6):
        job = first(epochs, NEW)
        seen.append(job.split)
        epochs += fake(job, 70.0)
    assert set(seen) == {0, 1}


def test_workers_do_all_there_is_and_leave_records_that_give_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(search.FIRST_STEPS, "cora", 23)
    two = [c for c in candidates(CELL, (Unstated(),)) if c.num_walks == 16 and c.num_layers == 2][:2]
    monkeypatch.setattr(search, "candidates", lambda cell, variants: two)
    work(CELL, tmp_path / "results", tmp_path / "cache", seconds=1e9)
    epochs = read(tmp_path / "results", CELL)
    assert {one.candidate for one in epochs} == set(two)
    again = (tmp_path / "results" / "cora" / "transductive.jsonl").read_bytes()
    work(CELL, tmp_path / "results", tmp_path / "cache", seconds=1e9)  # nothing is left to do
    assert (tmp_path / "results" / "cora" / "transductive.jsonl").read_bytes() == again
    row = rows(CELL, tmp_path / "results")
    assert (row.tried, row.missing, row.paper) == (2, [], 80.83)
    assert row.mean is not None


def test_splits_that_are_not_the_papers_are_not_searched_on(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="the paper's splits of cora are not at hand"):
        search.search([CELL], tmp_path / "results", tmp_path / "cache", hours=1)


def test_a_job_that_someone_is_at_is_left_to_him(tmp_path: Path) -> None:
    with (
        search._next_job(CELL, tmp_path / "r", tmp_path / "c") as one,
        search._next_job(CELL, tmp_path / "r", tmp_path / "c") as other,
    ):
        assert one is not None
        assert other is not None
        assert one.candidate != other.candidate
    with search._next_job(CELL, tmp_path / "r", tmp_path / "c") as again:
        assert again == one


def test_new_candidates_are_looked_for_around_the_best_so_far() -> None:
    grid = candidates(CELL, (Unstated(),))
    epochs: list[Epoch] = []
    while first(epochs).candidate == grid[0]:
        epochs += fake(first(epochs), 70.0)
    far = next(c for c in grid if distance(c, grid[0]) == 3)
    for rung in rungs(CELL):
        for job in Progress(epochs, CELL).jobs(far, rung):
            epochs += fake(job, 90.0)
    assert distance(first(epochs).candidate, far) == 1
