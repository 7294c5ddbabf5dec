"""Logging to TensorBoard or MLflow: callbacks for the training loop; the packages are imported only when used.

    with TensorBoard("runs/first") as board:
        SANNE().fit(graph, callbacks=[board])

A failure at the start is an error. Later it is a warning: training does not stop because its log cannot be written.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sanne.errors import InputError, MissingExtraError, SanneError
from sanne.train.report import Report

logger = logging.getLogger(__name__)

EXPERIMENT = "sanne"  # where MLflow files the runs


class Tracker(ABC):
    """A callback that writes reports somewhere while its block is open."""

    failures: tuple[type[Exception], ...] = (OSError,)  # what writing may raise
    _silent = False

    def __call__(self, report: Report) -> None:
        if self._silent:
            return
        try:
            self._write(report)
        except self.failures as error:
            self._silent = True
            logger.warning("step %d could not be logged, training goes on without a log: %s", report.step, error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._close(failed=error is not None)
        except self.failures as failure:
            logger.warning("the log of the training could not be closed: %s", failure)

    @abstractmethod
    def _write(self, report: Report) -> None: ...

    @abstractmethod
    def _close(self, failed: bool) -> None: ...


class TensorBoard(Tracker):
    """Writes to a folder for `tensorboard --logdir FOLDER`; later steps of an earlier run are hidden."""

    def __init__(self, folder: str | Path, *, settings: Mapping[str, Any] | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError("tensorboard", "tensorboard", "logging to TensorBoard") from None
        self._writer_of = SummaryWriter
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._settings = dict(settings or {})
        self._writer: SummaryWriter | None = None

    def _write(self, report: Report) -> None:
        if self._writer is None:  # the first step is not known earlier: training may resume
            self._writer = self._writer_of(self._folder, purge_step=report.step)
            if self._settings:
                rows = [f"| {name} | {value} |" for name, value in self._settings.items()]
                self._writer.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *rows]), 0)
        for name, value in report.values().items():
            self._writer.add_scalar(name, value, report.step)
        self._writer.flush()

    def _close(self, failed: bool) -> None:
        if self._writer is not None:
            self._writer.close()


class MLflow(Tracker):
    """Writes a run of the experiment `sanne` to an MLflow server, or to a database file.

    `place` is an address (http://host:5000, or anything with :// that MLflow knows) or the path of an SQLite file.
    """

    def __init__(
        self, place: str | Path, *, run_name: str | None = None, settings: Mapping[str, Any] | None = None
    ) -> None:
        is_address = "://" in str(place)
        try:
            if not is_address:  # MLflow imports these two only when it opens a database
                import alembic  # noqa: F401
                import sqlalchemy  # noqa: F401
            from mlflow import MlflowClient
            from mlflow.entities import Metric, Param
            from mlflow.exceptions import MlflowException
        except ImportError as error:
            package = (error.name or "mlflow").split(".")[0]
            raise MissingExtraError(package, "mlflow", "logging to MLflow") from None
        self.failures = (OSError, MlflowException)
        self._metric = Metric
        uri = str(place) if is_address else f"sqlite:///{Path(place).resolve()}"
        params = [Param(name, str(value)) for name, value in (settings or {}).items()]
        try:
            self._client = MlflowClient(tracking_uri=uri)
            found = self._client.get_experiment_by_name(EXPERIMENT)
            experiment = found.experiment_id if found else self._client.create_experiment(EXPERIMENT)
            self.run_id: str = self._client.create_run(experiment, run_name=run_name).info.run_id
            self._client.log_batch(self.run_id, params=params)
        except self.failures as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise SanneError(f"MLflow at {place} cannot be written to: {reason}") from None

    def _write(self, report: Report) -> None:
        now = int(time.time() * 1000)
        metrics = [self._metric(name, value, now, report.step) for name, value in report.values().items()]
        self._client.log_batch(self.run_id, metrics=metrics)

    def _close(self, failed: bool) -> None:
        self._client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")


def parse_place(place: str) -> tuple[str, str]:
    """The two parts of `tensorboard:FOLDER` or `mlflow:PLACE`."""
    kind, _, where = place.partition(":")
    if not where or kind not in ("tensorboard", "mlflow"):
        raise InputError(f"a log is tensorboard:FOLDER, mlflow:FILE.db or mlflow:http://HOST:PORT, not {place!r}")
    return kind, where


def open_tracker(place: str, *, run_name: str, settings: Mapping[str, Any]) -> Tracker:
    """The tracker that `tensorboard:FOLDER` or `mlflow:PLACE` names."""
    kind, where = parse_place(place)
    if kind == "tensorboard":
        return TensorBoard(where, settings=settings)
    return MLflow(where, run_name=run_name, settings=settings)
