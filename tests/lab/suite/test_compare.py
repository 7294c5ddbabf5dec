"""A changed setting is compared on the splits that both have, and ranked among the same rivals."""

import json
from pathlib import Path

import pytest

from sanne_lab.suite.compare import changed, comparison


def test_a_changed_setting_is_compared_with_the_recipe_as_it_stands(tmp_path: Path) -> None:
    common = {"graph": "cora", "setting": "present", "regime": "few"}
    scores = [("own", 0, 60.0), ("recipe", 0, 59.0), ("recipe", 1, 90.0), ("recipe steps=16", 0, 62.0)]
    rows = [common | {"system": name, "split": number, "accuracy": value} for name, number, value in scores]
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = comparison(path, "recipe", "recipe steps=16")
    assert "| cora few | 60.0 | 59.0 | 62.0 | +3.00 |" in table
    assert "| mean rank | | 2.00 | 1.00 | -1.00 |" in table


def test_settings_are_read_as_numbers_and_lists() -> None:
    settings = changed(["joint=.5", "restarts=[1, 0.2]", "steps=16"])
    assert (settings.joint, settings.restarts, settings.steps) == (0.5, (1, 0.2), 16)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(SystemExit, match="no setting 'joints'"):
        changed(["joints=1"])
