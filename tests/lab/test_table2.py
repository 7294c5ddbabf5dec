"""The paper's protocol: nothing of a test node before inference, and result files that are used again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planted import TINY, TRAINED
from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne.graph.graph import Graph, IntArray
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.smoothed import Smoothed
from sanne_lab.baselines.walk_mean import WalkMean
from sanne_lab.datasets.splits import load_splits
from sanne_lab.experiments.pool import Plan
from sanne_lab.experiments.protocol import inductive, measure_splits, split_cell, transductive
from sanne_lab.experiments.systems import make_system
from sanne_lab.experiments.table2 import Row, chosen_systems, make_cells, run_rows


class Watcher:
    """A system that offers its features as vectors, epoch by epoch, and notes what it was shown."""

    name = "watcher"

    def __init__(self, offered: list[np.ndarray[Any, Any]]) -> None:
        self.offered = offered
        self.graphs: list[Graph] = []
        self.features_from: list[Graph | None] = []

    def settings(self) -> dict[str, Any]:
        return {}

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        self.graphs.append(graph)
        self.features_from.append(features_from)
        for epoch, vectors in enumerate(self.offered):
            rows = vectors[graph.node_ids]

            def new(larger: Graph, nodes: IntArray, vectors: np.ndarray[Any, Any] = vectors) -> np.ndarray[Any, Any]:
                return vectors[nodes]

            consider(Snapshot(epoch, present=lambda rows=rows: rows, new=new))
        return 1.0


def small_task() -> tuple[Graph, Splits]:
    labels = np.arange(60) % 2
    edges = np.array([(i, (i + 2) % 60) for i in range(60)])
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], node_ids=np.arange(60), labels=labels)
    order = np.random.default_rng(0).permutation(60)
    splits = Splits(order[None, :20], order[None, 20:40], order[None, 40:], "seeded")
    return graph, splits


def test_test_nodes_and_their_edges_are_gone_before_anything_is_fitted() -> None:
    graph, splits = small_task()
    watcher = Watcher([np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32)])
    inductive(watcher, graph, splits, 0, seed=0)
    (seen,) = watcher.graphs
    assert set(seen.node_ids) == set(range(60)) - set(splits.test[0])
    assert watcher.features_from == [None]
    inductive(watcher, graph, splits, 0, seed=0, features_from="all")
    assert watcher.features_from[1] is graph
    assert watcher.graphs[1].num_nodes == 40


@pytest.mark.parametrize("setting", ["transductive", "inductive"])
def test_the_epoch_is_chosen_on_validation_and_never_on_test(setting: str) -> None:
    graph, splits = small_task()
    assert graph.labels is not None
    truth = np.eye(2, dtype=np.float32)[graph.labels]
    good_on_test, good_on_val = truth.copy(), truth.copy()
    good_on_test[splits.val[0]] = truth[splits.val[0]][:, ::-1]
    good_on_val[splits.test[0]] = truth[splits.test[0]][:, ::-1]
    watcher = Watcher([good_on_test, good_on_val, good_on_test])
    if setting == "transductive":
        best = transductive(watcher, graph, splits, seed=0)[0][0]
    else:
        best = inductive(watcher, graph, splits, 0, seed=0)[0]
    assert best.epoch == 1
    assert (best.val, best.test) == (100.0, 0.0)


def rows_of(out: Path, *systems: str, said: list[str] | None = None, **options: Any) -> list[Row]:
    """Rows of Cora in the transductive setting; `said` gets a line for every piece that is run."""
    heard = [] if said is None else said
    plan = Plan(watch=lambda news: heard.append(news.message) if news.message else None)
    rows, errors = run_rows(make_cells(systems, ["cora"], ["transductive"], **options), out, plan)
    assert not errors
    return rows


def test_a_row_is_run_once_and_read_again(cora: Graph, tmp_path: Path) -> None:
    said: list[str] = []
    (row,) = rows_of(tmp_path, "smoothed", said=said)
    assert len(said) == 1
    assert row.mean > 75
    assert len(row.splits) == 10
    path = tmp_path / "table2.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["number"] for line in lines] == list(range(10))
    assert {"system", "dataset", "setting", "splits_source", "seed", "versions", "tried", "grid"} <= set(
        json.loads(lines[0])
    )
    assert rows_of(tmp_path, "smoothed", said=said) == [row]
    assert len(said) == 1
    path.write_bytes(b"".join(lines[:3] + lines[4:]))
    assert rows_of(tmp_path, "smoothed", said=said)[0].splits == row.splits
    assert len(said) == 2
    rows_of(tmp_path, "smoothed", said=said, seed=1)  # another seed is another run
    assert len(said) == 3


def test_a_damaged_result_file_is_named(cora: Graph, tmp_path: Path) -> None:
    (tmp_path / "table2.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"table2\.jsonl, line 1: not a result"):
        rows_of(tmp_path, "smoothed")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="choose from"):
        chosen_systems("smoothed,nope", "best")
    with pytest.raises(InputError, match="choose from"):
        make_cells(["smoothed"], ["karate"])
    assert chosen_systems("sanne,smoothed,sanne-paper", "fast") == ["sanne-paper", "sanne-fast", "smoothed"]


def test_untrained_baselines_embed_newcomers_well(cora: Graph) -> None:
    splits = load_splits("cora")
    for system in (Smoothed(), WalkMean(num_walks=16)):
        best, _ = inductive(system, cora, splits, 0, seed=0)
        assert best.test > 70


def test_sanne_that_is_trained_offers_every_epoch(cora: Graph) -> None:
    settings = TRAINED | {"features": "tfidf", "epochs": 3, "output_norm": "l2"}
    epochs: list[int] = []
    small = cora.subgraph(np.arange(300))
    make_system("sanne-fast", settings).fit(small, 0, None, lambda snapshot: epochs.append(snapshot.epoch))
    assert epochs == [1, 2, 3]
    epochs.clear()
    make_system("sanne-fast", TINY).fit(small, 0, None, lambda snapshot: epochs.append(snapshot.epoch))
    assert epochs == [0]  # a model in closed form has one state


def test_sanne_goes_through_both_settings(cora: Graph) -> None:
    system = make_system("sanne-fast", TINY)
    for setting in ("transductive", "inductive"):
        cell = split_cell("table2", "sanne-fast", "sanne-fast", "cora", setting)
        (result,) = measure_splits(system, cell, [2])
        assert result.parts["split"]["test"] > 40
