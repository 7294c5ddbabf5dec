"""Training with two processes: the same result as with one, and neither a hang nor a loss when a process dies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from planted import TRAINED, accuracy
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.model.artifact import Artifact
from sanne.train import distributed
from sanne.train.fit import fit_model
from train.worker import settings, uneven_graph

COMMAND = TRAINED | {"epochs": 20, "steps_per_epoch": 10, "dropout": 0.1}


def torchrun(*arguments: Any, cwd: Path, options: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*start, *map(str, arguments)], cwd=cwd, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes wrote, see worker.py; the folder is also a graph for `sanne fit`."""
    folder = tmp_path_factory.mktemp("together")
    (folder / "command.json").write_text(json.dumps(COMMAND), encoding="utf-8")
    edges = [(i, (i + step) % 60) for i in range(60) for step in (3, 6)]
    (folder / "edges.csv").write_text("src,dst\n" + "".join(f"{a},{b}\n" for a, b in edges), encoding="utf-8")
    rows = [f"{i},{i % 3 == 0:d},{i % 3 == 1:d},{i % 7}\n" for i in range(60)]
    (folder / "nodes.csv").write_text("id,a,b,c\n" + "".join(rows), encoding="utf-8")
    for _ in range(3):
        process = torchrun(Path(__file__).with_name("worker.py"), folder, cwd=folder)
        try:
            _, errors = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            _, errors = process.communicate()
        if "connectFullMesh failed" not in errors:  # gloo's own trouble in finding the other process: try again
            break
    assert process.returncode == 0, errors
    return folder


def report(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_two_processes_train_as_one_does(together: Path) -> None:
    alone = fit_model(uneven_graph(), settings(), 0)
    first = report(together, "first")["fit"]
    np.testing.assert_allclose(first["losses"], alone.record["losses"], rtol=1e-4)
    state = load_file(together / "first.safetensors")
    for name, tensor in alone.model.state_dict().items():
        np.testing.assert_allclose(state[name].numpy(), tensor.numpy(), atol=1e-3, err_msg=name)

    def judged(artifact: Artifact, graph: Graph) -> tuple[Any, float]:
        vectors = embed(artifact, graph).vectors
        return vectors, accuracy(vectors, graph.labels, np.arange(0, 120, 2), np.arange(1, 120, 2))  # type: ignore[arg-type]

    vectors_alone, accuracy_alone = judged(alone, uneven_graph())
    alone.model.load_state_dict(state)
    vectors, accuracy_together = judged(alone, uneven_graph())
    np.testing.assert_allclose(vectors, vectors_alone, atol=1e-3)
    assert abs(accuracy_together - accuracy_alone) <= 1 / 60  # one node of 60


def test_both_processes_end_with_the_same_model(together: Path) -> None:
    first, second = (load_file(together / f"{name}.safetensors") for name in ("first", "second"))
    assert all(np.array_equal(first[name].numpy(), second[name].numpy()) for name in first)
    assert report(together, "first")["fit"]["losses"] == report(together, "second")["fit"]["losses"]


def test_only_the_first_process_validates(together: Path) -> None:
    assert report(together, "first")["fit"]["hook_calls"] == [1, 2, 3]
    assert report(together, "second")["fit"]["hook_calls"] == []


def test_processes_that_start_from_different_things_are_refused(together: Path) -> None:
    for name in ("first", "second"):
        assert "do not start from the same graph" in report(together, name)["other seed"]


def test_more_processes_than_walks_are_refused(together: Path) -> None:
    assert "2 processes for a batch_size of 1" in report(together, "second")["more processes than walks"]


def test_an_error_in_one_process_does_not_hang_the_other(together: Path) -> None:
    assert "division by zero" in report(together, "first")["error in the first"]
    assert "lost contact with another process" in report(together, "second")["error in the first"]


def test_a_loss_that_is_not_finite_in_one_process_stops_both(together: Path) -> None:
    for name in ("first", "second"):
        assert "loss or weights are not finite in epoch 1" in report(together, name)["loss not finite in the second"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the process to kill in /proc")
def test_a_killed_process_leaves_no_trace_in_the_result(together: Path, tmp_path: Path) -> None:
    sets = [part for name, value in COMMAND.items() for part in ("--set", f"{name}={value}")]
    run = torchrun(
        *("-m", "sanne", "fit", together, "--out", "m", *sets), cwd=tmp_path, options=("--max-restarts", "1")
    )
    checkpoint = tmp_path / "m.checkpoint"
    deadline = time.monotonic() + 120
    while not checkpoint.exists():
        assert run.poll() is None, "it ended before the first checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(pid_of_rank(1, run.pid), signal.SIGKILL)
    _, errors = run.communicate(timeout=240)
    assert run.returncode == 0, errors
    assert "restarted: continuing from" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    expected, found = (load_file(folder / "model.safetensors") for folder in (together / "undisturbed", tmp_path / "m"))
    assert all(np.array_equal(expected[name].numpy(), found[name].numpy()) for name in expected)
    assert len(SANNE.load(tmp_path / "m").artifact_.record["losses"]) == 20


def pid_of_rank(rank: int, parent: int) -> int:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8").split()
    for child in children:
        if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise AssertionError(f"no process of rank {rank} among {children}")


def test_without_a_launcher_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    assert distributed.is_first_process()
    assert not distributed.is_restarted()
