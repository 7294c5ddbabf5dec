"""Progress reports for callbacks, every few training steps."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

REPORT_STEPS = 10  # training steps that a report sums up; the last report of an epoch may have fewer


@dataclass(frozen=True)
class Report:
    """How training went since the last report."""

    step: int  # training steps done since the beginning
    epoch: int  # the epoch that they belong to, from 1
    loss: float  # mean over the steps since the last report
    learning_rate: float  # of the last step
    walks_per_second: float  # of all processes together
    score: float | None = None  # what `on_epoch` returned; only in the last report of an epoch

    def values(self) -> dict[str, float]:
        """The numbers by name, without the step."""
        named = {
            "loss": self.loss,
            "learning_rate": self.learning_rate,
            "walks_per_second": self.walks_per_second,
            "epoch": float(self.epoch),
        }
        return named if self.score is None else named | {"score": self.score}


Callback = Callable[[Report], None]


class Reporter:
    """Collects steps, and calls the callbacks; without callbacks it does nothing."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks = tuple(callbacks)
        self._loss = self._seconds = self._started = 0.0
        self._start_over()

    def start_epoch(self, epoch: int) -> None:
        """Begin to measure an epoch, numbered from 1."""
        self._epoch = epoch
        self._start_over()

    def add(self, step: int, loss: float, learning_rate: float, walks: int) -> None:
        """Take in a step; `step` counts it."""
        if not self._callbacks:
            return
        if self._count == REPORT_STEPS:  # only now: the last steps of an epoch wait for its score
            self.send()
        self._step, self._learning_rate = step, learning_rate
        self._count += 1
        self._loss += loss
        self._walks += walks
        self._seconds = time.perf_counter() - self._started

    def send(self, score: float | None = None) -> None:
        """Report the steps taken in since the last report."""
        if not self._count:
            return
        report = Report(
            self._step,
            self._epoch,
            self._loss / self._count,
            self._learning_rate,
            self._walks / max(self._seconds, 1e-9),
            score,
        )
        with torch.random.fork_rng(devices=[]):  # random numbers drawn by callbacks must not change training
            for callback in self._callbacks:
                callback(report)
        self._start_over()

    def _start_over(self) -> None:
        self._count = self._walks = 0
        self._loss = self._seconds = 0.0
        self._started = time.perf_counter()
