"""Records outlive crashes, refuse what is not the paper's, and are chosen from by validation alone."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sanne.errors import InputError
from sanne_lab.paper.grid import Candidate, Cell, Unstated
from sanne_lab.paper.records import Epoch, append, choose, read, records_path
from sanne_lab.paper.rows import by_value, summarise

CORA = Cell("cora", "transductive")
POINT = Candidate(CORA, 1e-4, 1024, 2, 8, 128)
OTHER = replace(POINT, num_layers=4)


def epoch(number: int, val: tuple[float, ...], test: tuple[float, ...] = (1.0, 1.0), **changes: Any) -> Epoch:
    values: dict[str, Any] = {"candidate": POINT, "splits": tuple(range(len(val)))} | changes
    return Epoch(
        seed=0, features="f", epoch=number, steps=9, val=val, test=test, C=(1.0,) * len(val), loss=1.0, seconds=3.0,
        **values,
    )  # fmt: skip


def test_what_is_added_is_read_back_once(tmp_path: Path) -> None:
    first, second = epoch(1, (70.0, 71.0)), epoch(2, (72.0, 73.0))
    for one in (first, second, first):  # the last as after a crash between record and checkpoint
        append(tmp_path, one)
    assert read(tmp_path, CORA) == [first, second]


def test_a_line_that_a_crash_cut_short_costs_only_itself(tmp_path: Path) -> None:
    append(tmp_path, epoch(1, (70.0, 71.0)))
    path = records_path(tmp_path, CORA)
    path.write_bytes(path.read_bytes() + b'{"key": "half')
    append(tmp_path, epoch(2, (72.0, 73.0)))
    assert [one.epoch for one in read(tmp_path, CORA)] == [1, 2]


@pytest.mark.parametrize(("name", "value"), [("learning_rate", 1e-3), ("ff_dim", 256), ("num_walks", 8)])
def test_a_record_outside_the_grid_is_refused(tmp_path: Path, name: str, value: float) -> None:
    append(tmp_path, epoch(1, (70.0, 71.0)))
    path = records_path(tmp_path, CORA)
    record = json.loads(path.read_text())
    record["candidate"][name] = value
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=r"transductive\.jsonl:1: not a record of the paper's grid"):
        read(tmp_path, CORA)


def test_a_record_with_other_settings_than_its_key_is_refused(tmp_path: Path) -> None:
    append(tmp_path, epoch(1, (70.0, 71.0)))
    path = records_path(tmp_path, CORA)
    record = json.loads(path.read_text())
    record["candidate"]["num_layers"] = 8
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match="key does not belong"):
        read(tmp_path, CORA)


def test_validation_chooses_for_each_split_and_test_has_no_say() -> None:
    epochs = [
        epoch(1, (70.0, 75.0), (10.0, 20.0)),
        epoch(2, (71.0, 74.0), (30.0, 40.0)),
        epoch(1, (69.0, 76.0), (50.0, 60.0), candidate=OTHER),
    ]
    chosen = choose(epochs)
    assert [(chosen[split].epoch.candidate, chosen[split].epoch.epoch) for split in (0, 1)] == [(POINT, 2), (OTHER, 1)]
    assert [chosen[split].test for split in (0, 1)] == [30.0, 60.0]
    swapped = choose([replace(one, test=(100.0 - one.test[0], 100.0 - one.test[1])) for one in epochs])
    assert [swapped[split].epoch.epoch for split in (0, 1)] == [2, 1]


def test_of_equals_the_one_that_is_better_on_the_other_splits_is_chosen() -> None:
    epochs = [epoch(1, (70.0, 60.0)), epoch(2, (70.0, 65.0)), epoch(3, (70.0, 65.0))]
    assert choose(epochs)[0].epoch.epoch == 2


def test_a_row_has_no_figure_until_every_split_is_trained_on(small_cora: object) -> None:
    cell = Cell("cora", "inductive")
    candidate = Candidate(cell, 1e-4, 1024, 2, 8, 128)
    one = epoch(1, (70.0,), (68.0,), candidate=candidate, splits=(0,))
    row = summarise(cell, [one])
    assert (row.mean, row.missing, row.paper) == (None, [1], 76.75)
    both = summarise(cell, [one, epoch(1, (72.0,), (70.0,), candidate=candidate, splits=(1,))])
    assert (both.mean, both.validation, both.missing, both.tried, both.grid) == (69.0, 71.0, [], 1, 54)


def test_what_is_unstated_does_not_count_as_a_point_of_the_grid(small_cora: object) -> None:
    other = replace(POINT, unstated=Unstated(dropout=0.1))
    row = summarise(CORA, [epoch(1, (70.0, 71.0)), epoch(1, (60.0, 75.0), candidate=other)])
    assert (row.tried, row.variants, row.trainings) == (1, 2, 2)


def test_one_axis_can_be_held_while_the_others_are_chosen(small_cora: object) -> None:
    epochs = [epoch(1, (70.0, 71.0)), epoch(1, (60.0, 75.0), candidate=OTHER)]
    held = by_value(CORA, epochs, "num_layers")
    assert {value: row.validation for value, row in held.items()} == {2: 70.5, 4: 67.5}
    assert summarise(CORA, epochs).validation == 72.5


def test_ablations_are_kept_apart(tmp_path: Path) -> None:
    cell = Cell("cora", "transductive", "no-attention")
    append(tmp_path, epoch(1, (60.0, 61.0), candidate=replace(POINT, cell=cell)))
    append(tmp_path, epoch(1, (70.0, 71.0)))
    assert [one.val for one in read(tmp_path, CORA)] == [(70.0, 71.0)]
    assert [one.val for one in read(tmp_path, cell)] == [(60.0, 61.0)]
