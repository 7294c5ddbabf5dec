"""Same seed, same vectors: whatever the threads, the batches, the process, interruptions and the names of nodes."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import small_fits
import threadpoolctl
import torch
from small_fits import CASES, small_graph, small_model

from sanne.estimator import SANNE

Record = Callable[..., None]

THOROUGH = os.environ.get("SANNE_FAULTS", "") not in ("", "0")
NAMES = list(CASES) if THOROUGH else ["fast text", "fast bare", "paper features"]
CLOSE = 1e-5  # sums in another order differ in their last digits


class _StopError(Exception):
    pass


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@functools.cache
def fitted(name: str) -> SANNE:
    """With one thread."""
    recipe, kind = CASES[name]
    with threadpoolctl.threadpool_limits(1):
        return small_model(recipe, kind).fit(small_graph(kind))


@pytest.fixture
def model(name: str) -> SANNE:
    return fitted(name)


def is_close(found: np.ndarray, vectors: np.ndarray) -> bool:
    return bool(np.abs(found - vectors).max() <= CLOSE)


def test_threads_change_nothing(name: str, model: SANNE, record: Record) -> None:
    recipe, kind = CASES[name]
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threadpoolctl.threadpool_limits(2):
            found = small_model(recipe, kind, threads=2).fit(small_graph(kind))
    finally:
        torch.set_num_threads(before)
    same = is_close(found.embedding_, model.embedding_)
    record("a fit with one thread and with two: the same to 1e-5", lost=not same)


@pytest.mark.parametrize("nodes", [1, 3, 10_000])
def test_batches_of_inference_change_nothing(
    name: str, model: SANNE, record: Record, monkeypatch: pytest.MonkeyPatch, nodes: int
) -> None:
    graph = small_graph(CASES[name][1])
    whole = model.transform(graph)
    monkeypatch.setattr(model.artifact_.model, "nodes_at_once", nodes)
    same = is_close(model.transform(graph), whole)
    record("inference in batches of other sizes: the same to 1e-5", lost=not same)


def test_other_names_change_nothing(name: str, model: SANNE, record: Record) -> None:
    recipe, kind = CASES[name]
    renamed = small_graph(kind, ids="a longer name, with a comma and an é: ")
    with threadpoolctl.threadpool_limits(1):
        found = small_model(recipe, kind).fit(renamed)
    same = np.array_equal(found.embedding_, model.embedding_)
    assert found.node_ids_[7] == "a longer name, with a comma and an é: 7"
    record("a fit of the same nodes by other names: the same bits", lost=not same)


def test_a_fresh_process_and_a_resumed_one_give_the_same_bits(tmp_path: Path, record: Record) -> None:
    def stop(_: object, epoch: int) -> None:
        if epoch == 2:  # when the first epoch is kept and the second is not
            raise _StopError

    for name in NAMES:
        recipe, kind = CASES[name]
        if recipe != "paper":  # which alone is trained
            continue
        with threadpoolctl.threadpool_limits(1), pytest.raises(_StopError):
            small_model(recipe, kind).fit(small_graph(kind), checkpoint=tmp_path / f"{name}.checkpoint", on_epoch=stop)
    program = [sys.executable, small_fits.__file__, tmp_path, *NAMES]
    path = os.pathsep.join([str(Path(small_fits.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    fresh = {"PYTHONPATH": path, "PYTHONHASHSEED": "123", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(program, env=os.environ | fresh, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    trained = [name for name in NAMES if CASES[name][0] == "paper"]
    for how, what, names in (
        ("whole", "a fit in a fresh process", NAMES),
        ("resumed", "a fit stopped here and resumed there", trained),
    ):
        found = {name: np.load(tmp_path / f"{name}.{how}.npy") for name in names}
        lost = sum(not np.array_equal(found[name], fitted(name).embedding_) for name in names)
        record(f"{what}: the same bits", times=len(names), lost=lost)
