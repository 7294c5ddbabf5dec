"""The paper's own row, table 3, figures 2 and 3, and the page of results, on a small dataset with a small model."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import GRAPH, SPLITS, small_cora

from planted import tiny_config
from sanne.config import RECIPES
from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne_lab.experiments import figure2, figure3, systems, table2, table3
from sanne_lab.experiments.pool import Plan, fill
from sanne_lab.experiments.report import write_report
from sanne_lab.experiments.validation import Validation
from sanne_lab.paper.grid import Candidate, Cell
from sanne_lab.paper.records import Epoch, append

__all__ = ["small_cora"]

PAGE = "# Results\n\n" + "".join(
    f"<!-- {name} -->\nold words\n<!-- /{name} -->\n\n" for name in ("table2", "paper", "table3", "figure2", "figure3")
)


@pytest.fixture
def tiny(small_cora: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe `best` is fitted in no time."""
    monkeypatch.setitem(RECIPES, "best", tiny_config())


def is_picture(paths: list[Path]) -> bool:
    png, svg = paths
    return png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 5000 and "</svg>" in svg.read_text("utf-8")


def put(out: Path, cell: Cell, val: tuple[float, ...], **point: int) -> None:
    """A record of one epoch of a training by the paper's protocol."""
    axes: dict[str, Any] = {"ff_dim": 1024, "num_layers": 2, "num_heads": 8, "num_walks": 16} | point
    epoch = Epoch(
        Candidate(cell, 1e-4, **axes), seed=0, features="", epoch=1, steps=9, splits=tuple(range(len(val))), val=val,
        test=(1.0,) * len(val), C=(1.0,) * len(val), loss=1.0, seconds=36.0,
    )  # fmt: skip
    append(out / "paper", epoch)


VALIDATION = tuple(80.0 + number for number in range(10))
WITHOUT = tuple(70.0 + number % 3 for number in range(10))


@pytest.fixture
def searched(small_cora: Splits, tmp_path: Path) -> Path:
    """A folder with the records of a search: Cora, whole and without attention; newcomers on one split."""
    put(tmp_path, Cell("cora", "transductive"), VALIDATION)
    put(tmp_path, Cell("cora", "transductive"), WITHOUT, num_heads=4)
    put(tmp_path, Cell("cora", "transductive", "no-attention"), WITHOUT)
    put(tmp_path, Cell("cora", "inductive"), (75.0,), num_walks=128)
    return tmp_path


def test_ablations_are_compared_with_the_full_model(searched: Path) -> None:
    found = table3.ablations("paper", searched, ["cora"], ["transductive"])
    assert [(one.variant, one.figures.validation) for one in found] == [
        ("none", list(VALIDATION)), ("no-attention", list(WITHOUT)),
    ]  # fmt: skip
    assert found[0].p is None
    assert found[1].significant
    assert found[1].paper == (77.87, 1.09)
    assert len(table3.make_cells()) == 18


def test_figure_3_holds_one_setting_and_says_how_many_splits(searched: Path) -> None:
    found = figure3.load("paper", searched)
    assert [(one.label, one.setting, len(one.validation)) for one in found] == [
        *((f"sanne-paper-{point}", "transductive", 10) for point in ("K2", "H4", "H8", "T16")),
        *((f"sanne-paper-{point}", "inductive", 1) for point in ("K2", "H8", "T128")),
    ]
    assert [one.validation for one in found[1:3]] == [list(WITHOUT), list(VALIDATION)]
    paths = figure3.draw("paper", found, searched)
    assert is_picture(paths)
    words = re.sub(r"<!--|-->", "", paths[1].read_text("utf-8"))  # matplotlib keeps the text as comments
    assert "10 (transductive) and 1 (inductive) splits, the paper's own" in words


def test_the_papers_row_is_read_from_the_search_and_waits_for_all_splits(searched: Path) -> None:
    rows, incomplete = table2.stored_rows(searched)
    assert [(row.name, row.mean, row.paper, row.share) for row in rows] == [("sanne-paper", 1.0, 80.83, "2 of 216")]
    assert incomplete == ["sanne-paper, cora, inductive"]
    put(searched, Cell("cora", "inductive", texts="present"), (70.0,) * 10, num_walks=128)
    assert [row.name for row in table2.stored_rows(searched)[0]] == ["sanne-paper", "sanne-paper"]


def test_figure_2_marks_new_nodes_and_is_drawn_again_from_its_files(
    tiny: None, small_cora: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = figure2.make_cells("best")
    assert figure2.load(cells, tmp_path) == []
    assert not fill(cells, tmp_path, Plan())
    maps = figure2.load(cells, tmp_path)
    assert [int(one.new.sum()) for one in maps] == [0, 40]
    assert set(maps[1].new.nonzero()[0]) == set(small_cora.test[0])
    assert is_picture(figure2.draw(maps, tmp_path))
    monkeypatch.setattr(systems, "fit_model", lambda *arguments, **options: pytest.fail("trained again"))
    assert not fill(cells, tmp_path, Plan())
    assert (figure2.load(cells, tmp_path)[1].points == maps[1].points).all()


def test_every_node_of_figure_2_has_a_vector(tiny: None) -> None:
    for setting in ("transductive", "inductive"):
        system = systems.make_system("sanne-best")
        vectors, validation, _ = figure2.embed_split(system, GRAPH, SPLITS, 0, setting, 0)  # type: ignore[arg-type]
        assert vectors.shape[0] == GRAPH.num_nodes
        assert np.linalg.norm(vectors, axis=1).min() > 0
        assert 0 < validation <= 100


def test_the_page_is_filled_between_markers_and_nowhere_else(searched: Path, tmp_path: Path) -> None:
    page = tmp_path / "docs/results.md"
    page.parent.mkdir()
    page.write_text(PAGE + "the end\n", encoding="utf-8")
    assert write_report(page, searched) == ["table2", "paper", "table3", "figure2", "figure3"]
    text = page.read_text("utf-8")
    assert "<!-- figure2 -->\n\nNo results yet.\n" in text
    assert text.endswith("(figure3-paper.png)\n\n<!-- /figure3 -->\n\nthe end\n")
    assert "| Cora | 80.83 ± 1.94 | 1.00 ± 0.00 | 84.50 | 1 | 2 of 216 | 1 | 2 | 0.02 |" in text
    assert "| Cora, newcomers | 76.75 ± 2.45 | 1 split only |" in text
    assert is_picture([page.parent / "paper.png", page.parent / "paper.svg"])
    assert "| without attention |" in text
    assert "old words" not in text
    write_report(page, searched)
    assert page.read_text("utf-8") == text
    page.write_text("no markers\n", encoding="utf-8")
    with pytest.raises(InputError, match="no markers"):
        write_report(page, tmp_path)


def test_a_figure_of_one_panel_is_drawn_too(tmp_path: Path) -> None:
    one = Validation("sanne-paper-K2", "pubmed", "inductive", [80.0, 81.0], 1, 3, 54, "paper", 0)
    assert is_picture(figure3.draw("paper", [one], tmp_path))
