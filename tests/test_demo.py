"""The demonstration on real Cora, with a small model."""

from pathlib import Path

import numpy as np

from planted import TINY
from sanne.config import RECIPES, Config
from sanne.demo import make_task, run_demo
from sanne.graph.graph import Graph


def test_the_demo_hides_papers_embeds_them_and_draws_the_map(cora: Graph, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(RECIPES, "fast", Config().replace(**(TINY | {"steps_per_epoch": 20})))
    said: list[str] = []
    result = run_demo(out=tmp_path / "map.png", say=said.append)
    assert {"dataset", "present_accuracy", "new_accuracy", "smoothed_accuracy", "fit_seconds", "embed_seconds"} <= set(
        result
    )
    assert result["dataset"] == "cora"
    assert result["new_nodes"] == 1000
    assert result["new_accuracy"] > 40
    assert result["smoothed_accuracy"] > 70
    assert len(result["similar"]) == 10
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert len(said) == 3


def test_newcomers_are_not_in_the_graph_that_is_fitted(cora: Graph) -> None:
    task = make_task("cora")
    assert task.before.num_nodes == cora.num_nodes - 1000
    assert not np.isin(task.graph.node_ids[task.new], task.before.node_ids).any()
    parts = [task.train, task.val, task.rest, task.new]
    assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))
