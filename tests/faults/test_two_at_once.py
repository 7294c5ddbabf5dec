"""Two fits into one folder, a lock that a dead fit left, and readers of folders that are replaced under them."""

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forked_command import Command, fit_arguments, write_planted_tables

from planted import TINY, planted_graph
from sanne.estimator import SANNE
from sanne.graph.folder.store import open_graph, save_graph

Record = Callable[..., None]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    write_planted_tables(tmp_path)
    return tmp_path


def long_fit(folder: Path) -> Command:
    """A fit that would go on for minutes, once it has begun to train."""
    command = Command(fit_arguments("model", epochs=10_000), folder, folder / "first")
    while not (folder / "model.checkpoint").exists():
        assert command.process.is_alive(), command.errors()
        time.sleep(0.01)
    return command


def test_a_second_fit_into_a_folder_is_refused_and_a_dead_one_is_not_in_the_way(
    tables: Path, record: Record, thorough: bool
) -> None:
    first = long_fit(tables)
    tries = 5 if thorough else 1
    for _ in range(tries):
        second = Command(fit_arguments("model"), tables, tables / "second")
        assert second.wait() == 2
        assert f"model: another process ({first.process.pid}) is writing there" in second.errors()
        assert "choose another place" in second.errors()
    assert first.process.is_alive()
    record("a second fit into the folder of a running one: refused", times=tries)
    assert first.kill()
    assert (tables / ".model.lock").exists()
    third = Command([*fit_arguments("model", epochs=1)], tables, tables / "third")
    assert third.wait() == 0, third.errors()
    left = {path.name for path in tables.iterdir()}
    assert left == {"edges.csv", "nodes.csv", "model", "first", "second", "third"}
    record("a fit into the folder of a killed one: not refused", times=1)


def _replace_again_and_again(sources: list[Path], target: Path, kind: str, stop: Path) -> None:
    """In another process: save one, then the other, until told to stop."""
    if kind == "model":
        models = [SANNE.load(source) for source in sources]
        saves: list[Callable[[], None]] = [lambda model=model: model.save(target) for model in models]  # type: ignore[misc]
    else:
        graphs = [open_graph(source) for source in sources]
        saves = [lambda graph=graph: save_graph(graph, target) for graph in graphs]  # type: ignore[misc]
    while not stop.exists():
        for save in saves:
            save()
            time.sleep(0.02)


def save_two(folder: Path, kind: str) -> list[Path]:
    """Two models, or two graphs, that differ in size."""
    places = [folder / f"{kind}-{size}" for size in (10, 20)]
    for place, size in zip(places, (10, 20), strict=True):
        graph = planted_graph(size=size, inside=0.4)
        if kind == "graph":
            save_graph(graph, place)
        else:
            SANNE("fast", settings=TINY | {"restart_steps": size}).fit(graph).save(place)
    return places


def is_of_one_piece(target: Path, kind: str) -> bool:
    """Whether what is read belongs together: ids, arcs and features of a graph, or vectors and model."""
    if kind == "graph":
        graph = open_graph(target, verify=True)
        expected = planted_graph(size=graph.num_nodes // 3, inside=0.4)
        same = np.array_equal(graph.indices, expected.indices)
        return same and np.array_equal(np.asarray(graph.features), np.asarray(expected.features))
    model = SANNE.load(target)
    size = model.artifact_.num_nodes // 3
    return len(model.embedding_) == 3 * size and model.settings["restart_steps"] == size


@pytest.mark.parametrize("kind", ["model", "graph"])
def test_a_folder_that_is_replaced_meanwhile_is_read_whole(
    tmp_path: Path, record: Record, thorough: bool, kind: str
) -> None:
    sources, target, stop = save_two(tmp_path, kind), tmp_path / "target", tmp_path / "stop"
    writer = multiprocessing.get_context("forkserver").Process(
        target=_replace_again_and_again, args=(sources, target, kind, stop), daemon=True
    )
    writer.start()
    try:
        while not target.exists():
            assert writer.is_alive()
            time.sleep(0.01)
        times = 100 if thorough else 10
        lost = sum(not is_of_one_piece(target, kind) for _ in range(times))
    finally:
        stop.touch()
        writer.join(60)
    assert writer.exitcode == 0
    record(f"a {kind} folder read while others replace it", times=times, lost=lost)
