"""`--estimate`: time and memory of a run, told before it, without writing anything."""

import itertools
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from planted import TINY, TRAINED, planted_graph, tiny_config, trained_config
from sanne import estimate as estimate_module
from sanne.cli import main
from sanne.estimate import estimate_embedding, estimate_fit
from sanne.estimator import SANNE
from sanne.graph.folder.store import save_graph
from sanne_lab.bench.graphs import featured_graph

GRAPH = planted_graph(size=100)


@pytest.mark.parametrize(
    ("objective", "stages"),
    [("hidden", {"features", "learning", "writing"}), ("neighbours", {"features", "training", "embedding"})],
)
def test_every_stage_of_a_fit_has_its_seconds(objective: str, stages: set[str]) -> None:
    found = estimate_fit(GRAPH, tiny_config(objective=objective, epochs=3, steps_per_epoch=50))
    assert set(found.stages) == stages
    assert found.seconds == pytest.approx(sum(found.stages.values()))
    assert all(seconds >= 0 for seconds in found.stages.values())
    assert found.peak_bytes > 10**7


def test_more_work_takes_longer_and_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second whenever it is looked at, so that busy cores change nothing."""
    clock = SimpleNamespace(perf_counter=partial(next, itertools.count()))
    monkeypatch.setattr(estimate_module, "time", clock)
    monkeypatch.setattr("sanne.paper.loop.time", clock)
    few, many = (estimate_fit(GRAPH, trained_config(epochs=1, steps_per_epoch=n)) for n in (10, 10_000))
    assert many.stages["training"] > 20 * few.stages["training"]
    model = SANNE(settings=TRAINED, progress=False).fit(GRAPH)
    some, all_nodes = (estimate_embedding(model.artifact_, GRAPH, count) for count in (300, 300_000))
    assert all_nodes.stages["embedding"] > 20 * some.stages["embedding"]
    small, large = (estimate_fit(featured_graph(n, 5 * n, 12), tiny_config()) for n in (1000, 300_000))
    assert large.peak_bytes > small.peak_bytes + 5 * 4 * 12 * 300_000


def test_nodes_beyond_those_that_are_learnt_from_are_only_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=partial(next, itertools.count()))
    monkeypatch.setattr(estimate_module, "time", clock)
    monkeypatch.setattr(estimate_module, "_PROBES", (40, 60))
    before = estimate_fit(GRAPH, tiny_config()).stages
    monkeypatch.setattr(estimate_module, "FITTED", 100)
    assert estimate_fit(GRAPH, tiny_config()).stages.keys() - before.keys() == {"embedding"}


def test_features_of_all_nodes_take_time_only_where_all_are_read() -> None:
    artifact = SANNE(settings=TINY, progress=False).fit(GRAPH).artifact_
    assert "features" in estimate_embedding(artifact, GRAPH, GRAPH.num_nodes).stages
    assert "features" not in estimate_embedding(artifact, GRAPH, 1).stages


def test_a_large_graph_is_tried_on_a_connected_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "_PROBES", (40, 60))
    part = estimate_module._part(GRAPH, 60)
    assert part.num_nodes == 60
    assert part.num_edges > 60  # a random sixth of the nodes would keep a thirty-sixth of the edges
    assert np.isfinite(estimate_fit(GRAPH, tiny_config()).seconds)


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    monkeypatch.setattr("sys.argv", ["sanne", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed


def test_the_commands_estimate_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_graph(GRAPH, tmp_path / "graph")
    settings = [word for name, value in TINY.items() for word in ("--set", f"{name}={_text(value)}")]
    code, printed = run(monkeypatch, capsys, "fit", tmp_path / "graph", "--estimate", "--json", *settings)
    assert code == 0
    assert {"estimated_seconds", "estimated_peak_bytes", "starting_seconds", "learning_seconds"} <= set(
        json.loads(printed.out)
    )
    model = tmp_path / "model"
    assert run(monkeypatch, capsys, "fit", tmp_path / "graph", "--out", model, *settings)[0] == 0
    before = sorted(tmp_path.iterdir())
    code, printed = run(monkeypatch, capsys, "embed", model, "--estimate", "--out", tmp_path / "v.csv", "--json")
    assert code == 0
    assert json.loads(printed.out)["estimated_seconds"] >= 0  # tiny graphs take less than is shown
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_without_a_place_to_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed = run(monkeypatch, capsys, "fit", "cora")
    assert code == 2
    assert "give --out" in printed.err
    code, printed = run(monkeypatch, capsys, "embed", tmp_path)
    assert code == 2
    assert "give --out" in printed.err


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
