"""Runs over splits: what is kept, what is chosen, how time is shared, and that stopping costs little."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes import Clock, Fake, Single, small_cora

from planted import TINY
from sanne.config import RECIPES, Config
from sanne.datasets import Splits
from sanne_lab.experiments import systems
from sanne_lab.experiments.pool import News, Plan, fill
from sanne_lab.experiments.result_files import Cell

__all__ = ["small_cora"]

MANY = [(0.5, 0.5)] * 5


def cell(system: str, setting: Any = "transductive", **options: Any) -> Cell:
    return Cell("table2", system, system, "cora", setting, **options)


def result(out: Path, system: str, setting: str = "transductive", number: int = 0) -> dict[str, Any]:
    path = out / "table2/cora" / setting / system / f"{number}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


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
    assert kept["settings"] == {"candidate": 2}  # the first of equals on validation
    assert kept["val"] > 85
    assert kept["test"] < 40
    assert (kept["tried"], kept["grid"]) == (4, 4)


@pytest.mark.parametrize(("minutes", "tried"), [(None, 1), (0, 1), (2.5, 1), (6, 3), (100, 5)])
def test_the_time_is_shared_evenly_and_the_first_candidate_always_runs(
    minutes: float | None, tried: int, small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", MANY)
    cells = [cell("fake"), cell("fake", seed=1, features_from="all")]  # two pieces of a minute for each candidate
    assert not fill(cells, tmp_path, timed(minutes, Fake.clock))
    counts = [json.loads((c.folder(tmp_path) / "9.json").read_text(encoding="utf-8"))["tried"] for c in cells]
    assert counts == [tried, tried]


def test_what_a_system_without_a_grid_leaves_over_goes_to_the_others(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", MANY)
    said: list[str] = []
    fill([cell("fake"), cell("single")], tmp_path, timed(6, Fake.clock, said))
    assert [line.split(",")[0] for line in said] == ["single", "fake"]
    assert result(tmp_path, "single")["tried"] == 1
    assert result(tmp_path, "fake")["tried"] == 5


def test_a_bigger_budget_keeps_what_is_there_and_says_how_to_redo_it(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", MANY)
    said: list[str] = []
    fill([cell("fake")], tmp_path, timed(None, Fake.clock))
    fill([cell("fake")], tmp_path, timed(100, Fake.clock, said))
    assert result(tmp_path, "fake")["tried"] == 1
    assert len(said) == 1
    assert f"delete {tmp_path / 'table2/cora/transductive/fake'}" in said[0]


def test_files_of_before_there_were_grids_are_used_again(small_cora: Splits, tmp_path: Path) -> None:
    fill([cell("single")], tmp_path, Plan())
    for number in range(10):
        old = result(tmp_path, "single", number=number)
        del old["tried"], old["grid"]
        (tmp_path / f"table2/cora/transductive/single/{number}.json").write_text(json.dumps(old), encoding="utf-8")
    fill([cell("single")], tmp_path, Plan())
    assert len(Single.fits) == 1


def test_stopping_loses_only_the_split_in_flight(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "interrupt_at", 4)
    with pytest.raises(KeyboardInterrupt):
        fill([cell("fake", "inductive")], tmp_path, Plan())
    folder = tmp_path / "table2/cora/inductive/fake"
    assert sorted(path.name for path in folder.iterdir()) == [f"{number}.json" for number in range(4)]
    before = [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]
    fill([cell("fake", "inductive")], tmp_path, Plan())
    assert len(Fake.fits) == 5 + 6
    assert [path.stat().st_mtime_ns for path in sorted(folder.iterdir())][:4] == before


def test_stopping_a_search_keeps_the_best_so_far(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", [(0.3, 0.3), (0.8, 0.2), (0.5, 0.5)])
    monkeypatch.setattr(Fake, "interrupt_at", 2)
    with pytest.raises(KeyboardInterrupt):
        fill([cell("fake")], tmp_path, timed(100, Fake.clock))
    kept = result(tmp_path, "fake")
    assert (kept["settings"], kept["tried"], kept["grid"]) == ({"candidate": 1}, 2, 3)


def test_a_piece_that_fails_does_not_stop_the_others(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "error_at", 1)
    errors = fill([cell("fake", "inductive", splits=3)], tmp_path, Plan())
    assert [str(error) for error in errors] == ["the fake breaks"]
    files = sorted(path.name for path in (tmp_path / "table2/cora/inductive/fake").iterdir())
    assert files == ["0.json", "2.json"]


def test_two_processes_write_the_same_files_as_one(cora: object, tmp_path: Path) -> None:
    cells = [cell(name, "inductive", splits=2) for name in ("smoothed", "walk-mean")]
    for jobs in (1, 2):
        assert not fill(cells, tmp_path / str(jobs), Plan(jobs=jobs))
    for name in ("smoothed", "walk-mean"):
        for number in range(2):
            one, two = (result(tmp_path / str(jobs), name, "inductive", number) for jobs in (1, 2))
            assert one | {"seconds": 0} == two | {"seconds": 0}
            assert one["tried"] == 1
            assert one["grid"] > 1


def test_the_news_count_pieces_and_guess_the_time_left(small_cora: Splits, tmp_path: Path) -> None:
    heard: list[News] = []
    fill([cell("fake", "inductive")], tmp_path, Plan(watch=heard.append, clock=Fake.clock))
    assert [(news.done, news.total) for news in heard[::2]] == [(number, 10) for number in range(10)]
    assert heard[0].seconds_left is None
    assert [news.seconds_left for news in heard[1::2]] == [60.0 * left for left in range(9, -1, -1)]


def test_recipes_that_are_equal_are_trained_once(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = Config().replace(**(TINY | {"steps_per_epoch": 3}))
    monkeypatch.setitem(RECIPES, "fast", tiny)
    monkeypatch.setitem(RECIPES, "best", tiny)
    fill([cell("sanne-fast")], tmp_path, Plan())
    monkeypatch.setattr(systems, "fit_model", lambda *arguments, **options: pytest.fail("trained again"))
    assert not fill([cell("sanne-best")], tmp_path, Plan())
    fast, best = result(tmp_path, "sanne-fast"), result(tmp_path, "sanne-best")
    assert (best["system"], best["same_run_as"]) == ("sanne-best", "sanne-fast")
    assert best["test"] == fast["test"]


def test_the_papers_grid_has_its_recipe_first_and_216_points() -> None:
    grid = [system.settings() for system in systems.make_grid("sanne-paper")]
    assert len(grid) == 216
    first = RECIPES["paper"].to_dict()
    assert grid[0]["walks"] == first["walks"]
    assert grid[0]["model"] == first["model"]
    assert len({json.dumps(settings) for settings in grid}) == 216
    assert len(systems.make_grid("sanne-paper", {"num_walks": 16})) == 54
    assert len(systems.make_grid("sanne-best")) == 1


def test_without_attributes_skip_gram_draws_the_walks_of_its_papers() -> None:
    for name in ("deepwalk", "node2vec"):
        first = systems.make_grid(name, attributes=False)[0].settings()
        assert first["num_walks"] == 80
        assert systems.make_grid(name)[0].settings()["num_walks"] == 10
    with_and_without = [len(systems.make_grid("smoothed", attributes=has)) for has in (True, False)]
    assert with_and_without[0] == with_and_without[1]
