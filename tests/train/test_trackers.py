"""TensorBoard and MLflow get what the loop reports, read back by their own readers."""

import contextlib
import json
import logging
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from planted import TRAINED, planted_graph
from sanne.cli import main
from sanne.errors import InputError, MissingExtraError, SanneError
from sanne.graph.folder.store import save_graph
from sanne.train.report import Report
from sanne.train.trackers import MLflow, TensorBoard, open_tracker

NAMES = {"loss", "learning_rate", "walks_per_second", "epoch"}


def report(step: int, score: float | None = None, loss: float = 2.0) -> Report:
    return Report(step, epoch=1, loss=loss / step, learning_rate=0.01, walks_per_second=500.0, score=score)


def in_tensorboard(folder: Path, name: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder)).Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save_graph(planted_graph(), tmp_path / "papers")
    return tmp_path


@pytest.mark.filterwarnings("ignore")  # MLflow's own, of its own parts
def test_fit_logs_to_both(papers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from mlflow import MlflowClient

    settings = TRAINED | {"epochs": 2, "steps_per_epoch": 12}
    sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    logs = ["--log", "tensorboard:board", "--log", "mlflow:runs.db"]
    monkeypatch.setattr(sys, "argv", ["sanne", "fit", "papers", "--out", "model", "--json", *sets, *logs])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None), capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)

    events = EventAccumulator("board").Reload()
    assert set(events.Tags()["scalars"]) == NAMES
    assert "settings/text_summary" in events.Tags()["tensors"]
    losses = in_tensorboard(papers / "board", "loss")
    assert [step for step, _ in losses] == [10, 12, 22, 24]
    assert (10 * losses[2][1] + 2 * losses[3][1]) / 12 == pytest.approx(result["loss"], abs=1e-3)

    client = MlflowClient(tracking_uri=f"sqlite:///{papers / 'runs.db'}")
    found = client.get_experiment_by_name("sanne")
    assert found is not None
    (run,) = client.search_runs([found.experiment_id])
    assert (run.info.run_name, run.info.status) == ("model", "FINISHED")
    assert set(run.data.metrics) == NAMES
    assert (run.data.params["encoder_dim"], run.data.params["source"], run.data.params["seed"]) == ("16", "papers", "0")
    history = client.get_metric_history(run.info.run_id, "loss")
    np.testing.assert_allclose(sorted((metric.step, metric.value) for metric in history), losses, rtol=1e-5)

    broken = MLflow("runs.db")
    with contextlib.suppress(ZeroDivisionError), broken:
        broken(report(1, score=0.5))
        raise ZeroDivisionError
    failed = client.get_run(broken.run_id)
    assert (failed.info.status, failed.data.metrics["score"]) == ("FAILED", 0.5)


def test_a_resumed_or_repeated_run_hides_what_it_replaces(tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as board:
        for step in (10, 20, 30):
            board(report(step))
    with TensorBoard(tmp_path) as board:  # interrupted after step 30, resumed from 10
        board(report(20, loss=8.0, score=0.25))
    np.testing.assert_allclose(in_tensorboard(tmp_path, "loss"), [(10, 0.2), (20, 0.4)])
    assert in_tensorboard(tmp_path, "score") == [(20, 0.25)]


def test_a_log_that_breaks_does_not_break_the_fit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with TensorBoard(tmp_path / "board") as board:
        board._folder = tmp_path / "board" / "file"  # where no folder can be made
        board._folder.touch()
        with caplog.at_level(logging.WARNING, "sanne"):
            board(report(10))
            board(report(20))
    (record,) = caplog.records  # said once
    assert "training goes on without a log" in record.getMessage()


@pytest.mark.parametrize("place", ["tensorboard", "tensorboard:", "wandb:here", "runs"])
def test_a_place_that_is_none(place: str) -> None:
    with pytest.raises(InputError, match=r"tensorboard:FOLDER, mlflow:FILE.db or mlflow:http"):
        open_tracker(place, run_name="m", settings={})


@pytest.mark.filterwarnings("ignore")
def test_an_mlflow_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(SanneError, match=r"MLflow at http://127\.0\.0\.1:9 cannot be written to"):
        open_tracker("mlflow:http://127.0.0.1:9", run_name="m", settings={})


@pytest.mark.parametrize(("kind", "package"), [("tensorboard", "tensorboard"), ("mlflow", "mlflow")])
def test_what_is_not_installed_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"sanne\[{kind}\]"):
        open_tracker(f"{kind}:x", run_name="m", settings={})
