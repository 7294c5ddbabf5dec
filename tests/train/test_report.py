"""What callbacks are told while a model trains, and that they change nothing."""

import itertools

import numpy as np
import pytest
import torch

from planted import TRAINED, planted_graph, trained_config
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne.train.fit import fit_model
from sanne.train.loop import Run
from sanne.train.report import REPORT_STEPS, Report, Reporter

STEPS = REPORT_STEPS * 2 + 3
CONFIG = trained_config(epochs=2, steps_per_epoch=STEPS, dropout=0.2, schedule="cosine")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted_graph()


def test_every_step_is_in_one_report_and_scores_come_last(graph: Graph) -> None:
    reports: list[Report] = []
    artifact = fit_model(
        graph, CONFIG, 0, on_epoch=lambda _, epoch: epoch / 10, run=Run(progress=False, callbacks=[reports.append])
    )
    ends = [REPORT_STEPS, 2 * REPORT_STEPS, STEPS]
    assert [report.step for report in reports] == ends + [STEPS + end for end in ends]
    assert [report.epoch for report in reports] == [1, 1, 1, 2, 2, 2]
    assert [report.score for report in reports] == [None, None, 0.1, None, None, 0.2]
    sizes = np.diff([0, *ends])
    for epoch, loss in enumerate(artifact.record["losses"]):
        own = [report.loss for report in reports if report.epoch == epoch + 1]
        assert np.average(own, weights=sizes) == pytest.approx(loss, rel=1e-5)
    rates = [report.learning_rate for report in reports]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] < CONFIG.train.learning_rate
    assert all(report.walks_per_second > 0 for report in reports)


def test_callbacks_that_draw_random_numbers_change_no_vector(graph: Graph) -> None:
    alone = fit_model(graph, CONFIG, 0, run=Run(progress=False))
    watched = fit_model(graph, CONFIG, 0, run=Run(progress=False, callbacks=[lambda report: torch.rand(3).sum()]))
    for name, tensor in alone.model.state_dict().items():
        assert torch.equal(tensor, watched.model.state_dict()[name]), name


def test_speed_counts_walks_and_leaves_out_the_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    reports: list[Report] = []

    def slow(report: Report) -> None:
        reports.append(report)
        for _ in range(100):
            next(clock)

    reporter = Reporter([slow])
    reporter.start_epoch(1)
    for step in range(1, 2 * REPORT_STEPS + 1):
        reporter.add(step, loss=float(step), learning_rate=0.1, walks=64)  # a second each
    reporter.send()
    reporter.send()  # nothing new: nothing to tell
    assert [report.walks_per_second for report in reports] == [64.0, 64.0]
    assert [report.loss for report in reports] == [(1 + REPORT_STEPS) / 2, (1 + 3 * REPORT_STEPS) / 2]


def test_an_error_in_a_callback_ends_the_fit(graph: Graph) -> None:
    def fail(report: Report) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        SANNE(settings=TRAINED | {"epochs": 1, "steps_per_epoch": 1}, progress=False).fit(graph, callbacks=[fail])
