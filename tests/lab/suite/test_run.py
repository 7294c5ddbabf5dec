"""The suite's records: what is there is not run again, what is left out says so, and tables compare like with like."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from suite_graphs import numeric, planted

from sanne.cli import main
from sanne.errors import InputError
from sanne_lab.experiments.records import append_record, read_records
from sanne_lab.suite import graphs, page, run, score, splits, systems, table
from sanne_lab.suite.graphs import SuiteGraph


@pytest.fixture(autouse=True)
def _small_graphs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(graphs, "LOADERS", {"planted": lambda: planted(240), "planted-numeric": numeric})
    monkeypatch.setenv("SANNE_SUITE_CACHE", str(tmp_path / "cache"))


def put(out: Path, system: str, number: int, value: float | None, settings: str | None = None) -> None:
    record = {"dataset": "planted", "setting": "present few", "system": system, "number": number, "value": value}
    append_record(out, "suite", record | {"settings": systems.digest(system) if settings is None else settings})


def fill(out: Path, names: list[str], graph: str = "planted", measures: tuple[str, ...] = run.MEASURES) -> list[str]:
    told: list[str] = []
    run.fill(names, [graph], run.PLACES, measures, out, tell=told.append)
    return told


def test_systems_are_scored_by_every_measure_and_only_once(tmp_path: Path) -> None:
    names = ["own", "words", "sanne-fast"]
    first = fill(tmp_path, names)
    records = read_records(tmp_path, "suite")
    settings = {setting for _, setting, system, _, _ in records if system == "sanne-fast"}
    assert settings >= {"present few", "present many", "present same", "present communities", "links links"}
    assert settings >= {"newcomers few", "newcomers same"}
    good = [r for (_, s, n, _, _), r in records.items() if n == "sanne-fast" and s in ("present few", "newcomers many")]
    assert all(record["value"] > 50 for record in good)  # by chance 33
    assert all({"seed", "versions", "seconds"} <= set(record) for record in records.values())
    assert len(first) == 3 * 4  # a fit for the present, two with newcomers, one without some links
    assert fill(tmp_path, [*names, "fastrp"], measures=("accuracy",)) == [
        f"planted fastrp {job}" for job in ("present 0", "newcomers 0", "newcomers 1")
    ]


def test_other_settings_of_the_product_are_run_anew_and_their_old_records_not_shown(tmp_path: Path) -> None:
    put(tmp_path, "sanne-fast", 0, 99.0, settings="older")
    put(tmp_path, "own", 0, 60.0)
    assert table.means(tmp_path, False) == {("planted", "present", "few"): {"own": 60.0}}
    job = run.Job("present", 0, (("few", 0),))
    assert run.missing(planted(), "sanne-fast", job, tmp_path, False) == job
    assert run.missing(planted(), "own", job, tmp_path, False) is None


def test_a_system_that_is_left_out_says_why(tmp_path: Path) -> None:
    fill(tmp_path, ["own", "words"], "planted-numeric", ("accuracy",))
    assert table.left_out(tmp_path) == ["words: left out on planted-numeric (no words)"]
    assert "| planted-numeric present few |" in table.accuracy_table(tmp_path)
    assert {row.get("words", 0) for row in table.as_dicts(tmp_path, False)} == {None}


def test_a_row_is_averaged_over_the_splits_that_all_its_systems_have(tmp_path: Path) -> None:
    for system, number, value in (("own", 0, 60.0), ("own", 1, 80.0), ("sanne", 0, 62.0)):
        put(tmp_path, system, number, value)
    shown = table.accuracy_table(tmp_path)
    assert "| planted present few | 60.0 | 62.0 |" in shown
    assert "| **mean rank** | 2.00 | 1.00 |" in shown
    assert "| over the best of four, mean | +0.00 | +2.00 |" in shown


def test_a_changed_setting_is_compared_with_the_product_as_it_stands(tmp_path: Path) -> None:
    changed = "sanne own_weight=0"
    for system, number, value in (("own", 0, 60.0), ("sanne", 0, 59.0), ("sanne", 1, 90.0), (changed, 0, 62.0)):
        put(tmp_path, system, number, value)
    shown = table.changes(tmp_path, "sanne", [changed])
    assert "| planted present few | 59.0 | +3.00 |" in shown
    assert "| mean rank | 2.00 | -1.00 |" in shown


def test_the_command_runs_what_is_missing_and_prints_what_a_setting_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(*options: str) -> str:
        command = ("sanne", "reproduce", "suite", "--graph", "planted", "--system", "own,sanne", "--out", str(tmp_path))
        monkeypatch.setattr(sys, "argv", [*command, *options])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    changes = shown("--setting", "dim=16", "--setting", "hidden_splits=1")
    assert "| row | sanne | sanne dim=16 hidden_splits=1 |" in changes
    assert "| mean rank |" in changes
    rows = {(row["place"], row["measure"]): row for row in json.loads(shown("--table", "--json"))["rows"]}
    assert set(rows) == {("present", "few"), ("present", "many")}
    assert rows["present", "many"]["sanne"] > 50  # by chance 33


def test_names_that_are_unknown_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for names, places, message in (
        (["sane"], ["present"], "no system 'sane'"),
        (["sanne width=16"], ["present"], "unknown setting 'width'"),
        (["own"], ["past"], "no 'past'"),
    ):
        with pytest.raises(InputError, match=message):
            run.fill(names, ["planted"], places, ["accuracy"], tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))


def test_siblings_are_found_among_the_ten_nearest() -> None:
    groups = np.repeat(np.arange(30), 4)
    rows = np.eye(30, dtype=np.float32)[groups] + 0.01 * np.random.default_rng(0).random((120, 30), np.float32)
    everyone, labels = np.arange(120), groups % 3
    for vectors in (rows, sp.csr_matrix(rows)):
        found = score.retrieval(vectors, labels, groups, everyone, everyone)
        assert found["siblings"] == 100
        assert 25 < found["same"] < 75  # three siblings, then others
    newcomers = score.retrieval(rows, labels, groups, everyone[:20], everyone[20:])
    assert np.isnan(newcomers.get("siblings", np.nan))  # all of their siblings are newcomers, too


def test_the_final_run_chooses_on_validation_and_scores_the_rest() -> None:
    graph: SuiteGraph = planted(240)
    split = splits.final(graph, "many", 0)
    perfect = np.eye(3, dtype=np.float32)[graph.labels]
    wrong = perfect.copy()
    wrong[split.test] = wrong[split.test][:, [1, 2, 0]]
    assert score.accuracy(perfect, graph.labels, split)[0] == 100
    assert score.accuracy(wrong, graph.labels, split)[0] == 0


def test_a_page_shows_a_graph_a_row_and_how_far_the_product_is_from_the_best_of_four(tmp_path: Path) -> None:
    for system, value in zip((*systems.FOUR, "sanne"), (60.0, 70.04, 69.0, 70.0, 68.5), strict=True):
        put(tmp_path, system, 0, value)
    shown = page.accuracies(tmp_path, "present", final=False)
    assert "the 1 rows with words −1.5 on average, at worst −1.5." in shown
    assert "| Planted | 60.0 | **70.0** | 69.0 | **70.0** | 68.5 |" in shown
    assert page.accuracies(tmp_path, "present", final=False).count("|---") == 6


def test_a_page_shows_the_sizes_of_graphs_on_which_all_were_run(tmp_path: Path) -> None:
    *smaller, largest = systems.names_of("sizes")
    for value, system in enumerate([*smaller, "sanne"], 60):
        put(tmp_path, system, 0, float(value))
    assert "Planted" not in page.sizes(tmp_path)
    put(tmp_path, largest, 0, 66.0)
    assert "| | 16 | 32 | 64 | 128 | 256 | all |" in page.sizes(tmp_path)
    assert "| Planted | 60.0 | 61.0 | 62.0 | 63.0 | **66.0** | 64.0 |" in page.sizes(tmp_path)
