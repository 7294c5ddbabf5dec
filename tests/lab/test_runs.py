"""Runs over splits: what is kept, what is chosen, how time is shared, and that stopping costs little."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import Clock, Fake, kept_in, small_cora

from sanne.evaluate.splits import Splits
from sanne_lab.experiments import systems
from sanne_lab.experiments.cells import Cell
from sanne_lab.experiments.pool import News, Plan, fill
from sanne_lab.experiments.protocol import split_cell

__all__ = ["small_cora"]

MANY = [(0.5, 0.5)] * 5


def cell(system: str, setting: Any = "transductive", *, splits: int = 10, **options: Any) -> Cell:
    return replace(split_cell("table2", system, system, "cora", setting, **options), numbers=tuple(range(splits)))


def result(out: Path, system: str, setting: str = "transductive", number: int = 0) -> dict[str, Any]:
    return kept_in(out, "table2")[f"cora/{setting}/{system}/{number}"]


def chosen(record: dict[str, Any]) -> Any:
    return record["candidates"][record["parts"]["split"]["candidate"]]["settings"]


def timed(minutes: float | None, clock: Clock, said: list[str] | None = None) -> Plan:
    def watch(news: News) -> None:
        if said is not None and news.message:
            said.append(news.message)

    return Plan(budget=minutes, clock=clock, watch=watch)


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_a_candidate_is_chosen_on_validation_though_test_says_otherwise(
    setting: str, small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", [(0.6, 0.6), (0.3, 1.0), (0.9, 0.1), (0.9, 0.9)])
    assert not fill([cell("fake", setting, splits=1)], tmp_path, timed(100, Fake.clock))
    kept = result(tmp_path, "fake", setting)
    assert chosen(kept) == {"candidate": 2}  # the first of equals on validation
    assert kept["parts"]["split"]["val"] > 85
    assert kept["parts"]["split"]["test"] < 40
    assert (kept["tried"], kept["grid"]) == (4, 4)


@pytest.mark.parametrize(("minutes", "tried"), [(None, 1), (0.001, 1), (2.5, 1), (6, 3), (100, 5)])
def test_the_time_is_shared_evenly_and_the_first_candidate_always_runs(
    minutes: float | None, tried: int, small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", MANY)
    other = cell("fake")
    cells = [other, replace(other, label="fake again")]  # two pieces of a minute for each candidate
    assert not fill(cells, tmp_path, timed(minutes, Fake.clock))
    assert [result(tmp_path, c.label, number=9)["tried"] for c in cells] == [tried, tried]


def test_what_a_system_without_a_grid_leaves_over_goes_to_the_others(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", MANY)
    said: list[str] = []
    fill([cell("fake"), cell("single")], tmp_path, timed(6, Fake.clock, said))
    assert [line.split(",")[0] for line in said] == ["table2: single", "table2: fake"]
    assert result(tmp_path, "single")["tried"] == 1
    assert result(tmp_path, "fake")["tried"] == 5


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_a_bigger_budget_goes_on_with_the_first_candidate_that_was_not_tried(
    setting: str, small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", [(0.6, 0.6), (0.8, 0.8), (0.5, 0.5)])
    for minutes, fits in ((None, [0]), (0, [0]), (0.001, [0, 1]), (100, [0, 1, 2]), (100, [0, 1, 2])):
        assert not fill([cell("fake", setting, splits=1)], tmp_path, timed(minutes, Fake.clock))
        assert Fake.fits == fits
        assert result(tmp_path, "fake", setting)["tried"] == len(fits)
    assert chosen(result(tmp_path, "fake", setting)) == {"candidate": 1}


def test_stopping_loses_only_the_split_in_flight(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "interrupt_at", 4)
    with pytest.raises(KeyboardInterrupt):
        fill([cell("fake", "inductive")], tmp_path, Plan())
    before = kept_in(tmp_path, "table2")
    assert list(before) == [f"cora/inductive/fake/{number}" for number in range(4)]
    fill([cell("fake", "inductive")], tmp_path, Plan())
    assert len(Fake.fits) == 5 + 6
    assert len(kept_in(tmp_path, "table2")) == 10


def test_stopping_a_search_keeps_the_best_so_far(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", [(0.3, 0.3), (0.8, 0.2), (0.5, 0.5)])
    monkeypatch.setattr(Fake, "interrupt_at", 2)
    with pytest.raises(KeyboardInterrupt):
        fill([cell("fake")], tmp_path, timed(100, Fake.clock))
    kept = result(tmp_path, "fake")
    assert (chosen(kept), kept["tried"], kept["grid"]) == ({"candidate": 1}, 2, 3)


def test_a_piece_that_fails_does_not_stop_the_others(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "error_at", 1)
    errors = fill([cell("fake", "inductive", splits=3)], tmp_path, Plan())
    assert [str(error) for error in errors] == ["the fake breaks"]
    assert list(kept_in(tmp_path, "table2")) == ["cora/inductive/fake/0", "cora/inductive/fake/2"]


def test_two_processes_write_the_same_files_as_one(cora: object, tmp_path: Path) -> None:
    cells = [cell(name, "inductive", splits=2) for name in ("smoothed", "walk-mean")]
    for jobs in (1, 2):
        assert not fill(cells, tmp_path / str(jobs), Plan(jobs=jobs))
    for name in ("smoothed", "walk-mean"):
        for number in range(2):
            one, two = (result(tmp_path / str(jobs), name, "inductive", number) for jobs in (1, 2))
            for record in (one, two):
                record["candidates"][0].pop("seconds")
            assert one == two
            assert one["tried"] == 1
            assert one["grid"] > 1


def test_the_news_count_pieces_and_guess_the_time_left(small_cora: Splits, tmp_path: Path) -> None:
    heard: list[News] = []
    fill([cell("fake", "inductive")], tmp_path, Plan(watch=heard.append, clock=Fake.clock))
    assert [(news.done, news.total) for news in heard[::2]] == [(number, 10) for number in range(10)]
    assert heard[0].seconds_left is None
    assert [news.seconds_left for news in heard[1::2]] == [60.0 * left for left in range(9, -1, -1)]


def test_without_attributes_skip_gram_draws_the_walks_of_its_papers() -> None:
    for name in ("deepwalk", "node2vec"):
        first = systems.make_grid(name, attributes=False)[0].settings()
        assert first["num_walks"] == 80
        assert systems.make_grid(name)[0].settings()["num_walks"] == 10
    with_and_without = [len(systems.make_grid("smoothed", attributes=has)) for has in (True, False)]
    assert with_and_without[0] == with_and_without[1]
