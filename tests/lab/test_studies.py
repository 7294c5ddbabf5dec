"""Table 3, figures 2 and 3, and the page of results, on a small dataset with a small model."""

import re
from pathlib import Path

import numpy as np
import pytest
from fakes import GRAPH, SPLITS, kept_in, small_cora

from planted import tiny_config, trained_config
from sanne.config import RECIPES
from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne_lab.experiments import figure2, figure3, systems, table3
from sanne_lab.experiments.pool import Plan, fill
from sanne_lab.experiments.report import write_report
from sanne_lab.experiments.table2 import make_cells
from sanne_lab.experiments.validation import Validation, validated

__all__ = ["small_cora"]

PAGE = "# Results\n\n" + "".join(
    f"<!-- {name} -->\nold words\n<!-- /{name} -->\n\n" for name in ("table2", "table3", "figure2", "figure3")
)


@pytest.fixture
def tiny(small_cora: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe `best` is fitted in no time; another, `tiny`, is trained on walks."""
    monkeypatch.setitem(RECIPES, "best", tiny_config())
    monkeypatch.setitem(RECIPES, "tiny", trained_config(epochs=1, steps_per_epoch=3))


def is_picture(paths: list[Path]) -> bool:
    png, svg = paths
    return png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 5000 and "</svg>" in svg.read_text("utf-8")


def test_ablations_are_measured_on_validation_alone(tiny: None, tmp_path: Path) -> None:
    cells = table3.make_cells("tiny", ["cora"], ["transductive"])
    assert not fill(cells, tmp_path, Plan())
    records = list(kept_in(tmp_path, "table3").values())
    assert len(records) == 30
    assert not any("test" in kept["parts"]["split"] for kept in records)
    found = table3.ablations("tiny", tmp_path)
    assert [one.variant for one in found] == list(table3.VARIANTS)
    assert found[0].p is None
    assert all(one.p is not None and 0 <= one.p <= 1 for one in found[1:])
    assert found[2].paper == (77.87, 1.09)
    switched = {kept["system"]: kept["candidates"][0]["settings"]["model"] for kept in records}
    assert switched["sanne-tiny-no-attention"]["attention"] is False
    assert switched["sanne-tiny-no-feed-forward"]["feed_forward"] is False


def test_the_full_model_is_taken_from_table_2_without_its_test_figure(
    tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (full, *_) = table3.make_cells("tiny", ["cora"], ["transductive"])
    fill(make_cells(["sanne-tiny"], ["cora"], ["transductive"]), tmp_path, Plan())
    monkeypatch.setattr(systems, "fit_model", lambda *arguments, **options: pytest.fail("trained again"))
    assert not fill([full], tmp_path, Plan())
    kept = kept_in(tmp_path, "table3")["cora/transductive/sanne-tiny/3"]
    assert "test" not in kept["parts"]["split"]
    assert kept["same_run_as"] == "sanne-tiny"
    assert validated(full, tmp_path) is not None


def test_figure_3_varies_one_setting_and_says_how_many_splits(tiny: None, tmp_path: Path) -> None:
    cells = figure3.make_cells("tiny", ["cora"], symbols=["H"], splits=2, changes={"encoder_dim": 16})
    assert not fill(cells, tmp_path, Plan())
    found = figure3.load(cells, tmp_path)
    assert [(one.label, one.setting, len(one.validation)) for one in found] == [
        *((f"sanne-tiny-H{heads}", "transductive", 10) for heads in (4, 8, 16)),
        *((f"sanne-tiny-H{heads}", "inductive", 2) for heads in (4, 8, 16)),
    ]
    paths = figure3.draw("tiny", found, tmp_path)
    assert is_picture(paths)
    words = re.sub(r"<!--|-->", "", paths[1].read_text("utf-8"))  # matplotlib keeps the text as comments
    assert "10 (transductive) and 2 (inductive) splits, drawn from a seed" in words


def test_the_number_of_walks_matters_where_a_recipe_counts_steps(tiny: None) -> None:
    cells = figure3.make_cells("tiny", ["cora"], ["transductive"], ["T"])
    assert [cell.settings["num_walks"] for cell in cells] == [16, 32, 64, 128]
    assert all(cell.settings["steps_per_epoch"] == 0 for cell in cells)
    assert "steps_per_epoch" not in figure3.make_cells("paper", ["cora"], ["transductive"], ["T"])[0].settings
    with pytest.raises(InputError, match="choose from K, H, T"):
        figure3.make_cells("tiny", symbols=["Q"])


def test_a_recipe_in_closed_form_has_no_transformer_to_study(tiny: None) -> None:
    for study in (table3, figure3):
        with pytest.raises(InputError, match=r"'best' is in closed form, .*: choose paper, tiny"):
            study.make_cells("best")


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


def test_the_page_is_filled_between_markers_and_nowhere_else(tiny: None, tmp_path: Path) -> None:
    page = tmp_path / "docs/results.md"
    page.parent.mkdir()
    page.write_text(PAGE + "the end\n", encoding="utf-8")
    fill(table3.make_cells("tiny", ["cora"], ["transductive"]), tmp_path, Plan())
    assert write_report(page, tmp_path) == ["table2", "table3", "figure2", "figure3"]
    text = page.read_text("utf-8")
    assert text.startswith("# Results\n\n<!-- table2 -->\n\nNo results yet.\n")
    assert text.endswith("<!-- /figure3 -->\n\nthe end\n")
    assert "| without attention |" in text
    assert "old words" not in text
    write_report(page, tmp_path)
    assert page.read_text("utf-8") == text
    page.write_text("no markers\n", encoding="utf-8")
    with pytest.raises(InputError, match="no markers"):
        write_report(page, tmp_path)


def test_a_figure_of_one_panel_is_drawn_too(tmp_path: Path) -> None:
    one = Validation("sanne-paper-K2", "pubmed", "inductive", [80.0, 81.0], 1, 3, 54, "paper", 0)
    assert is_picture(figure3.draw("paper", [one], tmp_path))
