"""A small dataset that goes by the name of Cora, and systems whose scores and costs are known beforehand."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pytest

from planted import planted_graph
from sanne.cli import main
from sanne.evaluate.splits import Splits, seeded_splits
from sanne.graph.graph import Graph, IntArray
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.experiments import data, systems
from sanne_lab.experiments.records import read_records

Run = Callable[..., tuple[int, str, str]]

GRAPH = planted_graph(3, 40)
assert GRAPH.labels is not None
SPLITS = seeded_splits(GRAPH.labels, 0, count=10, per_class=6, validation=40, test=40)


class Clock:
    """Time that passes only when a fake system trains."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Fake:
    """Knows the classes: right on a share of the validation nodes and a share of the test nodes."""

    name = "fake"
    scores: ClassVar[list[tuple[float, float]]] = [(1.0, 1.0)]  # validation and test, a candidate each
    cost: ClassVar[float] = 60.0
    clock: ClassVar[Clock] = Clock()
    fits: ClassVar[list[int]] = []  # the candidates that were trained, in order
    interrupt_at: ClassVar[int] = -1  # the fit that is interrupted
    error_at: ClassVar[int] = -1  # the fit that fails

    def __init__(self, candidate: int = 0) -> None:
        self.candidate = candidate

    @classmethod
    def grid(cls) -> list[Self]:
        return [cls(candidate) for candidate in range(len(cls.scores))]

    def settings(self) -> dict[str, Any]:
        return {"candidate": self.candidate}

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        if len(self.fits) == self.interrupt_at:
            self.fits.append(self.candidate)
            raise KeyboardInterrupt
        if len(self.fits) == self.error_at:
            self.fits.append(self.candidate)
            raise RuntimeError("the fake breaks")
        self.fits.append(self.candidate)
        self.clock.now += self.cost
        rows = GRAPH.nodes_of(graph.node_ids)
        vectors = self.vectors()

        def new(larger: Graph, nodes: IntArray) -> npt.NDArray[np.float32]:
            return vectors[nodes]

        consider(Snapshot(0, present=lambda: vectors[rows], new=new))
        return self.cost

    def vectors(self) -> npt.NDArray[np.float32]:
        """One-hot classes of the first split, wrong for a share of its validation and of its test nodes."""
        assert GRAPH.labels is not None
        val, test = self.scores[self.candidate]
        classes = GRAPH.labels.copy()
        for nodes, share in ((SPLITS.val[0], val), (SPLITS.test[0], test)):
            wrong = nodes[round(share * len(nodes)) :]
            classes[wrong] = (classes[wrong] + 1) % 3
        return np.eye(3, dtype=np.float32)[classes]


class Single(Fake):
    """The same with a grid of one, and nothing ever happens to it."""

    name = "single"
    scores: ClassVar[list[tuple[float, float]]] = [(1.0, 1.0)]
    interrupt_at: ClassVar[int] = -1
    error_at: ClassVar[int] = -1


@pytest.fixture
def small_cora(monkeypatch: pytest.MonkeyPatch) -> Iterator[Splits]:
    """Runs find the small dataset and the fake systems."""
    monkeypatch.setattr(data, "load_dataset", lambda name: GRAPH)
    monkeypatch.setattr(data, "load_splits", lambda name: SPLITS)
    monkeypatch.setitem(systems._BASELINES, "fake", Fake)
    monkeypatch.setitem(systems._BASELINES, "single", Single)
    for kind in (Fake, Single):
        monkeypatch.setattr(kind, "fits", [])
        monkeypatch.setattr(kind, "clock", Clock())
    monkeypatch.setattr(Single, "clock", Fake.clock)
    data.data_of.cache_clear()
    data.graph_of.cache_clear()
    yield SPLITS
    data.data_of.cache_clear()
    data.graph_of.cache_clear()


def kept_in(out: Path, table: str) -> dict[str, dict[str, Any]]:
    """The records of a table; keys as in cora/inductive/gcn/3."""
    found = read_records(out, table).items()
    return {"/".join(str(part) for part in (*key[:3], key[4]) if part != ""): record for key, record in found}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sanne", "reproduce", *arguments, "--out", str(tmp_path / "results")])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return call
