"""A training by the paper's protocol learns, and goes on after a stop as if there had been none."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from sanne.graph.graph import Graph
from sanne.paper.neighbours import NeighbourSoftmax
from sanne_lab.paper import training
from sanne_lab.paper.grid import Candidate, Cell, Unstated
from sanne_lab.paper.training import Training

POINT = Candidate(Cell("cora", "transductive"), 1e-4, 1024, 2, 8, 16, Unstated(dropout=0.1))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "BLOCK", 4)


def table(one: Training) -> torch.Tensor:
    assert isinstance(one.model.objective, NeighbourSoftmax)
    return one.model.objective.table.detach()


def ticking() -> Iterator[float]:
    return map(float, count())


@pytest.mark.parametrize("rows", ["all", "touched"])
def test_a_training_stopped_within_an_epoch_goes_on_bit_for_bit(small_cora: Graph, tmp_path: Path, rows: str) -> None:
    point = replace(POINT, unstated=replace(POINT.unstated, table_adam=rows))
    whole = Training(point, None, 0, tmp_path / "a")
    expected = [whole.run_epoch() for _ in range(2)]
    ticks = ticking()
    stopped = Training(point, None, 0, tmp_path / "b")
    found = [stopped.run_epoch()]
    stopped.save()
    assert stopped.run_epoch(deadline=2.0, clock=lambda: next(ticks)) is None
    assert stopped.step % stopped.steps_per_epoch != 0
    resumed = Training(point, None, 0, tmp_path / "b")
    assert resumed.step == stopped.step
    found.append(resumed.run_epoch())
    assert torch.equal(table(whole), table(resumed))
    assert [one and (one.val, one.test, one.loss) for one in expected] == [
        one and (one.val, one.test, one.loss) for one in found
    ]


def test_newcomers_are_hidden_until_they_are_asked_for(small_cora: Graph, tmp_path: Path) -> None:
    point = replace(POINT, cell=Cell("cora", "inductive"), num_walks=128)
    one = Training(point, 1, 0, tmp_path)
    test = one.inputs.splits.test[1]
    assert not np.isin(one.inputs.present, test).any()
    assert len(table(one)) == small_cora.num_nodes - len(test)
    assert one.inputs.walks.max() < len(one.inputs.present)
    assert one.inputs.new_walks.shape == (8 * len(test), 8)
    assert (one.inputs.new_walks[:, 0] == np.repeat(test, 8)).all()
    assert len(one.score()) == 1


def test_training_learns_the_planted_groups(small_cora: Graph, tmp_path: Path) -> None:
    one = Training(replace(POINT, unstated=Unstated(table_rate=100.0)), None, 0, tmp_path)
    last = None
    for _ in range(8):
        last = one.run_epoch()
    assert last is not None
    assert min(last.val) > 60  # chance: 33


def test_a_node_without_edges_is_read_from_its_own_features(
    small_cora: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = replace(POINT, cell=Cell("cora", "inductive"), num_walks=128)
    one = Training(point, 0, 0, tmp_path)
    lone = np.array([0])
    before = one.score()
    monkeypatch.setattr(one, "inputs", replace(one.inputs, unreached=lone))
    with torch.no_grad():
        table(one)[lone] = float("nan")  # would be refused if it were looked at
    assert len(one.score()) == len(before)


def test_newcomers_at_length_one_do_not_depend_on_how_long_the_table_has_grown(
    small_cora: Graph, tmp_path: Path
) -> None:
    unstated = replace(POINT.unstated, lengths="one", table_rate=100.0)
    point = replace(POINT, cell=Cell("cora", "inductive"), num_walks=128, unstated=unstated)
    one = Training(point, 0, 0, tmp_path)
    before = one.score()
    table(one).mul_(8.0)  # a power of two: rows of length one stay the same bit for bit
    assert one.score() == before
