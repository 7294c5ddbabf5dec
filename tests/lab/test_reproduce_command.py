"""`sanne reproduce` as a user meets it."""

import json
from pathlib import Path

import pytest
from fakes import Fake, Run, run, small_cora

from sanne.evaluate.splits import Splits

__all__ = ["run", "small_cora"]


def test_table_2_comes_as_text_json_and_files(run: Run, small_cora: Splits, tmp_path: Path) -> None:
    columns = ("table2", "--dataset", "cora", "--setting", "transductive")
    code, out, err = run(*columns, "--model", "fake,single")
    assert code == 0
    assert "| fake | **100.00** ± 0.00 |" in out
    assert "fake, cora, transductive: 10 splits" in err
    assert {path.name for path in (tmp_path / "results").iterdir()} == {
        "table2.jsonl", "table2.md", "table2.tex", "table2.csv",
    }  # fmt: skip
    code, out, err = run(*columns, "--model", "single", "--json")
    assert (code, err) == (0, "")
    (row,) = json.loads(out)["rows"]
    assert (row["model"], row["mean"], row["tried"], row["grid"]) == ("single", 100.0, 1, 1)
    assert "fake" in (tmp_path / "results/table2.md").read_text("utf-8")  # the files hold all that is there


def test_a_stopped_run_says_that_it_can_go_on(run: Run, small_cora: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "interrupt_at", 2)
    code, out, err = run("table2", "--dataset", "cora", "--model", "fake", "--setting", "inductive")
    assert (code, out) == (130, "")
    assert "the same command goes on from there" in err


def test_one_system_that_breaks_leaves_the_others_and_a_bad_exit_code(
    run: Run, small_cora: Splits, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Fake, "error_at", 0)
    with pytest.raises(RuntimeError, match="the fake breaks"):
        run("table2", "--dataset", "cora", "--model", "fake,single", "--setting", "transductive")
    assert "| single |" in capsys.readouterr().out


def test_no_budget_at_all_prints_and_trains_nothing(run: Run, small_cora: Splits) -> None:
    columns = ("table2", "--dataset", "cora", "--setting", "transductive", "--budget", "0")
    assert run(*columns, "--model", "fake,single")[0] == 0
    assert Fake.fits == []


def test_the_papers_row_is_printed_without_training(run: Run, small_cora: Splits, tmp_path: Path) -> None:
    stored = Path(__file__).parents[2] / "results" / "paper" / "cora" / "transductive.jsonl"
    target = tmp_path / "results" / "paper" / "cora" / "transductive.jsonl"
    target.parent.mkdir(parents=True)
    target.write_bytes(stored.read_bytes())
    columns = ("table2", "--dataset", "cora", "--setting", "transductive", "--model", "sanne-paper", "--budget", "0")
    code, out, err = run(*columns)
    assert (code, err) == (0, "")
    assert "| sanne-paper | **80." in out
    assert target.read_bytes() == stored.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("table2", "--dataset", "karate"), "choose from cora, citeseer, pubmed"),
        (("table2", "--setting", "sideways"), "choose transductive or inductive"),
        (("table2", "--model", "nope"), "unknown system 'nope'"),
        (("table2", "--set", "nonsense=3"), "unknown setting 'nonsense'"),
        (("table1", "--dataset", "karate"), "choose from cora, citeseer, pubmed"),
        (("table2", "--model", "sanne-paper", "--dataset", "karate"), "choose from cora, citeseer, pubmed"),
        (("table3", "--dataset", "karate"), "choose from cora, citeseer, pubmed"),
        (("figure3", "--setting", "sideways"), "choose from transductive, inductive"),
        (("report", "--page", "nowhere.md"), "no such page"),
    ],
)
def test_wrong_words_end_in_one_line_and_code_2(
    arguments: tuple[str, ...], words: str, run: Run, small_cora: Splits
) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
