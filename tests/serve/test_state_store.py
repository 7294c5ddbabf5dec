"""What the store keeps: what was acknowledged survives a kill, one commit serves many, a failed one leaves nothing."""

import contextlib
import dataclasses
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from engine_parts import (
    History,
    add_one,
    delete_one,
    graph_of,
    link,
    newcomer,
    replace_one,
    same_state,
    save_model,
)

from sanne.errors import FieldError, StoreError, UnknownNodeError
from sanne.serve.engine.engine import Engine
from sanne.serve.live.features import NewNode

GRAPH = graph_of("plain")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


def killed_after(acknowledged: int, script: str, *arguments: object) -> list[str]:
    """What a script printed before it was killed, at least so many lines after its first."""
    path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    lines = [child.stdout.readline() for _ in range(acknowledged)]
    child.send_signal(signal.SIGKILL)
    return [*lines, *child.communicate()[0].splitlines()]


def test_every_acknowledged_node_survives_kill_9_at_a_random_moment(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    acknowledged: dict[str, float] = {}
    for number in range(2):
        some = random.SystemRandom().randrange(1, 150)
        for line in killed_after(some, "killed_writer.py", model, store, 1000 * number):
            name, value = line.split()
            acknowledged[name] = float.fromhex(value)
    engine = Engine.open(model, GRAPH, store)
    assert engine.statistics()["added"] >= len(acknowledged)
    for name, value in acknowledged.items():
        info = engine.node(name)
        assert info.added
        assert info.vector[0] == value
        assert name in dict(engine.similar_to_vector(info.vector, 20))
        assert sorted(info.neighbours) == sorted(newcomer(int(name[3:])).links)
    engine.close()


def test_mixed_changes_are_there_bit_for_bit_after_kill_9(model: Path, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    steps = len(killed_after(seed % 150 + 1, "killed_history.py", model, tmp_path / "store", seed))
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    reference = Engine.open(model, GRAPH, tmp_path / "reference")
    history = History(reference, GRAPH, seed)
    for _ in range(steps):
        history.step()
    try:
        same_state(engine, reference, history.present)
    except (AssertionError, UnknownNodeError):  # the step that was under way is there, too
        history.step()
        same_state(engine, reference, history.present)
    engine.close()
    reference.close()


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("plain", {}),
        ("weighted integer", {}),
        ("directed", {"direction": "both"}),
        ("directed weighted", {"direction": "both"}),
        ("directed weighted", {"direction": "along"}),
        ("directed", {"direction": "against"}),
        ("text", {}),
        ("counts", {}),
        ("bare", {}),
    ],
)
def test_a_random_history_ends_in_the_same_state_after_a_restart(
    kind: str, settings: dict[str, str], tmp_path: Path
) -> None:
    graph = graph_of(kind)
    folder = save_model(tmp_path / "model", graph, **settings)
    engine = Engine.open(folder, graph, tmp_path / "store")
    history = History(engine, graph, seed=4)
    for _ in range(80):
        history.step()
    engine.close()
    again = Engine.open(folder, graph, tmp_path / "store")
    same_state(engine, again, history.present)
    engine = Engine.open(folder, graph, copy_of(tmp_path / "store"))
    probe = NewNode(10**6, links=tuple((name, 1.0) for name in history.present[-4:]))
    answers = [add_one(one, probe, explain=5, similar=5) for one in (engine, again)]
    np.testing.assert_array_equal(answers[0].vector, answers[1].vector)
    assert answers[0].explanation == answers[1].explanation
    assert engine.refresh(3) == again.refresh(3)
    same_state(engine, again, history.present)
    engine.close()
    again.close()


def copy_of(store: Path) -> Path:
    return Path(shutil.copytree(store, store.with_name("copy")))


@contextlib.contextmanager
def no_room_for_files() -> Iterator[None]:
    """No file of this process may become larger than a few bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_could_not_be_written_was_not_done(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    add_one(engine, newcomer(1))
    engine.close()
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    statistics, before = engine.statistics(), engine.node("p3")
    changes: list[Callable[[], object]] = [
        lambda: engine.add([[newcomer(2)]], explain=[0], similar=[0]),
        lambda: replace_one(engine, NewNode("p3", links=(("p100", 1.0),))),
        lambda: delete_one(engine, "new1"),
        lambda: link(engine, [("p0", "p119", 1.0)]),
    ]
    for change in changes:
        with no_room_for_files(), pytest.raises(StoreError, match="cannot be written"):
            change()
    assert engine.statistics() == statistics
    assert engine.node("p3").neighbours == before.neighbours
    np.testing.assert_array_equal(engine.node("p3").vector, before.vector)
    for change in changes:  # there is room again
        change()
    statistics = engine.statistics()
    assert statistics["nodes"] == GRAPH.num_nodes + 1
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    same_state(again, engine, ["new2", *(f"p{i}" for i in range(120))])
    again.close()


@pytest.mark.parametrize("kind", ["plain", "directed weighted", "text", "bare"])
def test_a_batch_that_cannot_be_written_leaves_no_trace(kind: str, tmp_path: Path) -> None:
    """Whatever it did, and whatever was there before."""
    graph = graph_of(kind)
    folder = save_model(tmp_path / "model", graph)
    engine, untouched = (Engine.open(folder, graph, tmp_path / name) for name in ("store", "untouched"))
    histories = [History(one, graph, seed=6) for one in (engine, untouched)]
    for _ in range(30):
        for history in histories:
            history.step()
    present = histories[0].present
    some = [(present[i], present[i + 3]) for i in (0, 40, -6)]
    replaced = [NewNode(one, links=((other, 2.0), (present[60], 1.0))) for one, other in some]
    changes: list[Callable[[], object]] = [
        lambda: engine.add([[NewNode("a", links=((one, 1.0),)) for one, _ in some[:1]]], explain=[0], similar=[0]),
        lambda: engine.replace(replaced),
        lambda: engine.delete([one for one, _ in some]),
        lambda: engine.add_edges([[(one, other, 3.0)] for one, other in some]),
        lambda: engine.refresh(5),
    ]
    for change in changes:
        with no_room_for_files(), pytest.raises(StoreError, match="cannot be written"):
            change()
        same_state(engine, untouched, present)
    numbers = [[one._state.ids.find(name) for name in present] for one in (engine, untouched)]
    np.testing.assert_array_equal(
        *(one._state.features.of(np.array(rows)) for one, rows in zip((engine, untouched), numbers, strict=True))
    )
    engine.close()
    untouched.close()


def test_many_requests_are_one_transaction_that_is_synchronised(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    database = engine._store._connection
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    commands: list[str] = []
    database.set_trace_callback(commands.append)
    engine.add([[newcomer(i)] for i in range(16)], explain=[0] * 16, similar=[0] * 16)
    assert commands.count("COMMIT") == 1
    engine.add([[newcomer(0)]], explain=[0], similar=[0])  # refused: nothing to write
    assert commands.count("COMMIT") == 1
    engine.close()


def test_changes_that_wait_together_are_one_transaction(model: Path, tmp_path: Path) -> None:
    """And lead to the same state as one by one, also after a restart."""
    together, in_turn = (Engine.open(model, GRAPH, tmp_path / name) for name in ("together", "in turn"))
    commands: list[str] = []
    together._store._connection.set_trace_callback(commands.append)
    nodes = [dataclasses.replace(newcomer(i), id=f"p{i % 6}", links=((f"p{(i + 1) % 6}", 1.0),)) for i in range(8)]
    edges: list[list[tuple[str | int, str | int, float]]] = [[("p0", f"p{100 + i}", 2.0)] for i in range(5)]
    together.replace([*nodes, NewNode("nobody"), NewNode("p9", text="not read")])
    assert commands.count("COMMIT") == 1
    answers = together.add_edges([*edges, [("p0", "p1", 1.0), ("p0", "nobody", 1.0)]])
    assert commands.count("COMMIT") == 2
    assert answers[:5] == [1] * 5
    assert isinstance(answers[5], FieldError)
    deleted = together.delete(["p3", "p4", "p3"])
    assert commands.count("COMMIT") == 3
    assert deleted[:2] == ["p3", "p4"]
    assert isinstance(deleted[2], UnknownNodeError)
    for node in nodes:
        replace_one(in_turn, node)
    for some in edges:
        link(in_turn, some)
    for name in ("p3", "p4"):
        delete_one(in_turn, name)
    present = [f"p{i}" for i in range(120) if i not in (3, 4)]
    same_state(together, in_turn, present)
    together.close()
    in_turn.close()
    again = Engine.open(model, GRAPH, tmp_path / "together")
    same_state(again, in_turn, present)
    again.close()


def test_replacements_that_cannot_be_written_together_are_all_undone(model: Path, tmp_path: Path) -> None:
    engine, untouched = (Engine.open(model, GRAPH, tmp_path / name) for name in ("store", "untouched"))
    for other in (engine, untouched):
        link(other, [("p1", "p60", 1.0)])
    nodes = [NewNode(f"p{i}", links=((f"p{i + 1}", 1.0), ("p100", 1.0))) for i in range(4)]
    with no_room_for_files(), pytest.raises(StoreError, match="cannot be written"):
        engine.replace(nodes)
    same_state(engine, untouched, [f"p{i}" for i in range(120)])
    engine.close()
    untouched.close()


def test_a_thousand_replacements_of_a_node_take_no_more_room_than_one(model: Path, tmp_path: Path) -> None:
    sizes = []
    for count in (1, 1000):
        engine = Engine.open(model, GRAPH, tmp_path / f"{count}")
        for number in range(count):
            replace_one(engine, dataclasses.replace(newcomer(number), id="p3"))
            if number % 2:
                add_one(engine, newcomer(number))
                delete_one(engine, f"new{number}")
        engine.close()
        Engine.open(model, GRAPH, tmp_path / f"{count}").close()
        sizes.append((tmp_path / f"{count}" / "changes.sqlite").stat().st_size)
    assert sizes[1] < 2 * sizes[0]


def test_a_copy_of_a_store_in_use_is_a_store(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(5):
        add_one(engine, newcomer(number))
    assert (tmp_path / "store" / "changes.sqlite-wal").stat().st_size > 0
    copy = copy_of(tmp_path / "store")
    add_one(engine, newcomer(5))
    other = Engine.open(model, GRAPH, copy)
    assert (engine.statistics()["added"], other.statistics()["added"]) == (6, 5)
    np.testing.assert_array_equal(other.node("new4").vector, engine.node("new4").vector)
    other.close()
    engine.close()
