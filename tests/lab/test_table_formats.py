"""The comparison of table 2 and the three ways to write it."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from sanne_lab.experiments import table1, table2
from sanne_lab.experiments.paper_figures import FIGURE3, TABLE1, TABLE2, TABLE3
from sanne_lab.experiments.records import append_record
from sanne_lab.experiments.table_formats import Block, csv_text, latex, markdown, write_tables

SPREAD = [-1.0, 1.0, -0.5, 0.5, 0.0, 0.2, -0.2, 0.8, -0.8, 0.0]


def results(
    system: str, mean: float, shift: list[float] | None = None, C: float | None = 1.0, source: str = "paper"
) -> list[dict[str, Any]]:
    """Ten records around a mean."""
    tests = [mean + one + other for one, other in zip(SPREAD, shift or [0.0] * 10, strict=True)]
    return [
        {
            "system": system, "dataset": "cora", "setting": "transductive", "number": number, "splits_source": source,
            "features_from": "all", "seed": 0, "versions": {}, "tried": 1 + number % 2, "grid": 4,
            "candidates": [{"settings": {}, "seconds": 2.0}],
            "parts": {"split": {"candidate": 0, "val": test + 1, "test": test, "epoch": 0, "C": C}},
        }
        for number, test in enumerate(tests)
    ]  # fmt: skip


@pytest.fixture
def rows() -> list[table2.Row]:
    noise = [3.0, -3.0, 2.0, -2.0, 4.0, -4.0, 1.0, -1.0, 2.0, -2.0]
    given = [
        results("deepwalk", 71.0),  # far below, split by split
        results("sanne-paper", 79.8, noise),  # below on average only
        results("sanne-best", 80.0),
        results("gcn", 81.0, C=None),
    ]
    return table2.compared([table2.summarise(each) for each in given])


def test_a_star_says_that_a_paired_difference_is_significant(rows: list[table2.Row]) -> None:
    marks = {row.name: (row.significant, row.against, row.error_reduction) for row in rows}
    assert marks["sanne-best"] == (False, None, None)
    assert marks["deepwalk"] == (True, "sanne-best", 31.0)  # errors of 29 and 20
    assert marks["gcn"] == (True, "sanne-best", -5.3)
    assert marks["sanne-paper"][0] is False
    without = table2.compared([row for row in rows if row.recipe != "best"])
    assert {row.against for row in without} == {"sanne-paper", "sanne-best"}  # the old one keeps what it had


def test_a_difference_that_chance_may_make_has_no_star() -> None:
    doubtful = table2.summarise(results("gcn", 80.5, [2.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    (row, _) = table2.compared([doubtful, table2.summarise(results("sanne-best", 80.0))])
    assert row.p is not None
    assert 0.05 < row.p < 0.3
    assert not row.significant


def test_rows_of_other_splits_are_not_compared() -> None:
    seeded = table2.summarise(results("gcn", 71.0, source="seeded"))
    compared = table2.compared([seeded, table2.summarise(results("sanne-best", 80.0))])
    assert compared[0].p is None


def test_markdown_has_marks_the_papers_figure_and_the_share_of_the_grid(rows: list[table2.Row]) -> None:
    text = markdown(table2.blocks(rows), table2.notes(rows))
    lines = {line.split("|")[1].strip(): line for line in text.split("**Details**")[0].splitlines() if "|" in line}
    assert list(lines)[2:] == ["deepwalk", "sanne-paper", "sanne-best", "gcn"]
    assert "**81.00** ± 0.62" in lines["gcn"]
    assert "<u>80.00</u> ± 0.62" in lines["sanne-best"]
    assert r"71.00 ± 0.62\* <sub>31.0</sub> | 71.11 ± 2.70 | 1–2 of 4 |" in lines["deepwalk"]
    assert len({line.count("|") for line in lines.values()}) == 1
    assert "against sanne-best" in text
    assert "the paper's own" in text


def test_blocks_with_the_same_columns_share_a_markdown_table() -> None:
    cora, pubmed = Block("Cora", ("", "AUC"), [["gcn", "1"]]), Block("Pubmed", ("", "AUC"), [["gcn", "2"]])
    rows = ["|  | AUC |", "|---|---|", "| **Cora** | |", "| gcn | 1 |", "| **Pubmed** | |", "| gcn | 2 |"]
    assert markdown([cora, pubmed]).splitlines() == rows
    assert markdown([cora]) == "**Cora**\n\n|  | AUC |\n|---|---|\n| gcn | 1 |\n"


def test_latex_rows_have_as_many_cells_as_the_head(rows: list[table2.Row]) -> None:
    text = latex(table2.blocks(rows), table2.notes(rows))
    assert text.count("{") == text.count("}")
    for block in text.split(r"\begin{tabular}")[1:]:
        columns = len(block.partition("{")[2].partition("}")[0])
        body = [line for line in block.splitlines() if line.endswith(r"\\")]
        assert body
        assert {line.count("&") for line in body} == {columns - 1}
    assert r"\textbf{81.00 $\pm$ 0.62}$^\ast_{-5.3}$" in text
    assert r"\underline{80.00 $\pm$ 0.62}" in text


def test_csv_reads_back(rows: list[table2.Row]) -> None:
    read = list(csv.DictReader(io.StringIO(csv_text(table2.rows(rows)))))
    assert [line["system"] for line in read] == ["deepwalk", "sanne-paper", "sanne-best", "gcn"]
    assert [line["rank"] for line in read] == ["0", "0", "2", "1"]
    assert float(read[0]["p"]) < 0.05
    assert float(read[0]["split_3"]) == 71.5


def test_files_hold_every_complete_row_of_the_folder(tmp_path: Path) -> None:
    for name, count in (("deepwalk", 10), ("gcn", 7)):
        for record in results(name, 70.0)[:count]:
            append_record(tmp_path, "table2", record)
    rows, incomplete = table2.stored_rows(tmp_path)
    assert [row.name for row in rows] == ["deepwalk"]
    assert incomplete == ["gcn, cora, transductive"]
    write_tables(tmp_path, "table2", table2.blocks(rows), table2.notes(rows), table2.rows(rows))
    assert sorted(path.name for path in tmp_path.glob("table2.*")) == [
        "table2.csv",
        "table2.jsonl",
        "table2.md",
        "table2.tex",
    ]


def test_table_1_counts_what_the_paper_counts(sanne_data: Path | None, tmp_path: Path) -> None:
    (cora,) = table1.run(["cora"], tmp_path)
    paper = TABLE1["cora"]
    assert (cora.nodes, cora.classes, cora.vocabulary, round(cora.words_per_node)) == (paper[0], *paper[2:])
    assert cora.edges == 5278
    assert cora.listed_edges in (None, paper[1])
    assert table1.load(tmp_path) == [cora]
    assert "| Cora | 2,708 | 2,708 | 5,278 |" in markdown(table1.blocks([cora]))


def test_the_papers_own_error_reductions_follow_from_its_means() -> None:
    """The subscripts of its table 2, as far as rounding allows: a wrong digit in a mean would show."""
    subscripts = {
        "transductive": {
            "deepwalk": (33.6, 23.3, 43.0), "deepwalk-bow": (19.6, 8.3, 21.8), "doc2vec": (45.4, 14.9, 15.8),
            "ep-b": (12.6, 0.5, -2.9), "gcn": (6.1, 10.4, 3.1), "gat": (-4.8, 0.5, -2.1),
            "planetoid": (31.7, 20.3, 28.0),
        },
        "inductive": {
            "deepwalk-bow": (26.5, 20.6, 23.1), "ep-b": (13.6, 0.5, 0.7), "gcn": (27.9, 24.8, 14.8),
            "gat": (24.1, 30.5, 22.9), "planetoid": (33.9, 17.8, 18.0),
        },
    }  # fmt: skip
    for setting, systems in subscripts.items():
        assert set(systems) | {"sanne"} == set(TABLE2[setting])
        for system, printed in systems.items():
            for dataset, reduction in zip(("cora", "pubmed", "citeseer"), printed, strict=True):
                theirs, ours = (100 - TABLE2[setting][name][dataset][0] for name in (system, "sanne"))
                assert 100 * (theirs - ours) / theirs == pytest.approx(reduction, abs=0.16), (setting, system, dataset)
    assert set(TABLE3) == {"none", "no-feed-forward", "no-attention"}
    assert set(FIGURE3["inductive"]) == {"K", "H"}
