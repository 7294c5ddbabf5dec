"""`sanne bench train` and `sanne bench embed`: the figures that the issue of speed is judged by."""

import json
from typing import Any

import pytest

from sanne.cli import main
from sanne.config import recipe_config
from sanne.errors import InputError
from sanne_lab.bench import embed as embed_bench
from sanne_lab.bench import train as train_bench
from sanne_lab.bench.products import backward_shapes, forward_shapes, operations

SMALL = ["encoder_dim=16", "ff_dim=32", "num_heads=2", "batch_size=8", "num_negatives=20"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_bench, "_POSITIONS_A_ROUND", 64)
    monkeypatch.setattr(embed_bench, "_MANY", 20)
    monkeypatch.setattr(embed_bench, "_ALONE", 20)


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    settings = [word for pair in SMALL for word in ("--set", pair)]
    monkeypatch.setattr("sys.argv", ["sanne", "bench", *words, "--nodes", "200", *settings, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_a_step_is_compared_with_its_products(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(monkeypatch, capsys, "train")
    assert found["positions_per_second"] == pytest.approx(8 * 8 / found["seconds_per_step"], rel=0.1)
    assert 0 < found["fraction_of_gemm"] < 2
    assert found["flops_per_second"] > 0
    assert found["gemm_flops_per_second"] > 0
    assert found["threads"] >= 1
    assert {"machine", "versions"} <= set(found)


def test_a_recipe_in_closed_form_has_no_steps_to_time() -> None:
    with pytest.raises(InputError, match="'fast' is not trained step by step"):
        train_bench.bench_train("fast", 200)


@pytest.mark.parametrize("recipe", ["paper", "fast"])
def test_embedding_has_a_rate_and_the_time_of_one_node(
    recipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(monkeypatch, capsys, "embed", "--recipe", recipe)
    assert found["nodes_per_second"] > 0
    assert 0 < found["p50_ms"] <= found["p99_ms"]
    assert ("fraction_of_gemm" in found) == (recipe == "paper")


def test_the_products_of_the_paper_s_step_are_counted_whole() -> None:
    config = recipe_config("paper")
    forward = forward_shapes(config, walks=64)
    rows = 64 * 8
    per_row = 2 * (128 * 3 * 128 + 128 * 128 + 2 * 128 * 1024) + 128 * 512  # two layers, then 512 negatives
    assert operations(forward) == 2 * rows * per_row
    assert operations(backward_shapes(forward)) == 2 * operations(forward)
