"""Records of recipes that are no longer in the code are kept and shown, and are not taken for those of today."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes import small_cora

from planted import trained_config
from sanne.config import RECIPES
from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne_lab.experiments import systems, table2
from sanne_lab.experiments.gone import GONE_RECIPES, shown
from sanne_lab.experiments.pool import Plan, fill
from sanne_lab.experiments.records import read_records
from sanne_lab.experiments.report import write_report

__all__ = ["small_cora"]

RESULTS = Path(__file__).parents[2] / "results"
TABLES = [path.stem for path in RESULTS.glob("*.jsonl")]


def test_a_gone_recipe_cannot_be_run_and_is_not_among_all_systems() -> None:
    with pytest.raises(InputError, match=r"sanne-0\.1-best is no longer in the code"):
        table2.chosen_systems("sanne-0.1-best", "best")
    assert not any("0.1" in name for name in table2.chosen_systems("all", "best"))


def test_its_label_says_so() -> None:
    assert shown("sanne-0.1-fast") == "SANNE 0.1 fast, no longer in the code"
    assert shown("sanne-0.1-best (all texts)") == "SANNE 0.1 best, no longer in the code (all texts)"
    assert [shown(name) for name in ("sanne-fast", "gcn", "sanne-paper (all texts)")] == [
        "sanne-fast", "gcn", "sanne-paper (all texts)",
    ]  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_no_stored_record_claims_that_a_recipe_of_today_had_an_objective_that_is_gone(table: str) -> None:
    for record in read_records(RESULTS, table).values():
        if str(record.get("system")).startswith("sanne-"):
            gone = any(record["system"].startswith(f"sanne-{recipe}") for recipe in GONE_RECIPES)
            objectives = {candidate["settings"]["objective"]["objective"] for candidate in record.get("candidates", [])}
            assert ("distil" in objectives) == gone, record["system"]


@pytest.fixture
def only_gone(tmp_path: Path) -> Path:
    """A folder with the stored records of gone recipes alone."""
    for table in TABLES:
        lines = (RESULTS / f"{table}.jsonl").read_text("utf-8").splitlines(keepends=True)
        (tmp_path / f"{table}.jsonl").write_text("".join(line for line in lines if '"sanne-0.1-' in line), "utf-8")
    return tmp_path


def test_the_stored_records_are_shown_under_their_own_names(only_gone: Path) -> None:
    rows = table2.load(only_gone)
    assert len(rows) == 12
    assert {row.against for row in rows} == {None}  # today's systems are not compared with it
    page = only_gone / "page.md"
    names = ("table2", "table3", "figure2", "figure3", "links", "communities", "blogcatalog", "neighbours", "spread")
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names), encoding="utf-8")
    assert write_report(page, only_gone) == list(names)
    text = page.read_text("utf-8")
    assert "No results yet." not in text
    assert "sanne-" not in text
    for picture, recipe in (("figure2", "best"), ("figure3-0.1-fast", "fast"), ("spread", "best")):
        assert f"SANNE 0.1 {recipe}, no longer in the code" in (only_gone / f"{picture}.svg").read_text("utf-8")


def changed(record: dict[str, Any], **objective: Any) -> dict[str, Any]:
    """A record as if other settings of the objective had existed when it was written."""
    copy = json.loads(json.dumps(record))
    settings = copy["candidates"][0]["settings"]["objective"]
    copy["candidates"][0]["settings"]["objective"] = {
        name: value for name, value in (settings | objective).items() if value is not None
    }
    return copy


def test_settings_that_came_or_went_do_not_make_a_record_stale(
    small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECIPES, "tiny", trained_config(epochs=1, steps_per_epoch=3))
    cells = table2.make_cells(["sanne-tiny"], ["cora"], ["transductive"])
    assert not fill(cells, tmp_path, Plan())
    monkeypatch.setattr(systems, "fit_model", lambda *arguments, **options: pytest.fail("trained again"))
    path = tmp_path / "table2.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def write(**objective: Any) -> None:
        path.write_text("".join(json.dumps(changed(one, **objective)) + "\n" for one in records), encoding="utf-8")

    write(smoothing_alphas=[0.2], degree_weight=None)  # one is gone, one came later
    assert not fill(cells, tmp_path, Plan())
    for other in ({"num_targets": 3}, {"objective": "distil"}):
        write(**other)
        with pytest.raises(pytest.fail.Exception, match="trained again"):
            fill(cells, tmp_path, Plan())
