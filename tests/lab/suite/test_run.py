"""The table compares systems on the same splits."""

import json
from pathlib import Path

from sanne_lab.suite.run import table


def test_a_row_is_averaged_over_the_splits_that_all_its_systems_have(tmp_path: Path) -> None:
    common = {"graph": "cora", "setting": "present", "regime": "few"}
    scores = [("own", 0, 60.0), ("own", 1, 80.0), ("recipe", 0, 62.0)]
    rows = [common | {"system": name, "split": number, "accuracy": value} for name, number, value in scores]
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "| cora present few | 60.0 | 62.0 |" in table(path)
