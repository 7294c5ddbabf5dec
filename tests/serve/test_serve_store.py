"""The store: what was acknowledged is there after a kill, one commit serves many, and a wrong store is refused."""

import contextlib
import dataclasses
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
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
    rebuilt,
    replace_one,
    same_state,
    save_model,
)

from sanne.errors import FieldError, StoreError, UnknownNodeError
from sanne.graph.graph import Graph
from sanne.serve.engine.engine import Engine
from sanne.serve.live.features import NewNode
from sanne.serve.store import journal, store
from sanne.serve.store.store import graph_digest

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
    """The journal is compacted many times meanwhile."""
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


def test_a_random_history_ends_in_the_same_state_after_a_restart(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    stream = np.random.default_rng(3)
    present = [f"p{i}" for i in range(GRAPH.num_nodes)]
    for number in range(60):
        some = [(present[i], 1.0) for i in stream.choice(len(present), 3, replace=False)]
        kind = stream.choice(["add", "edges", "replace", "delete", "refresh"])
        if kind == "add":
            pair = [NewNode(f"n{number}", links=tuple(some)), NewNode(f"m{number}", links=((f"n{number}", 1.0),))]
            engine.add([pair, [newcomer(number, links=0)]], explain=[0, 0], similar=[0, 0])
            present += [f"n{number}", f"m{number}", f"new{number}"]
        elif kind == "edges":
            link(engine, [(some[0][0], some[1][0], 2.5), (some[1][0], some[2][0], 1.0)])
        elif kind == "replace":
            replace_one(engine, NewNode(some[0][0], features=GRAPH.features[number], links=tuple(some[1:])))
        elif kind == "delete":
            delete_one(engine, some[0][0])
            present.remove(some[0][0])
        else:
            engine.refresh(10)
    fresh = engine.add([[newcomer(999)]], explain=[5], similar=[5])[0]
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics() == engine.statistics()
    for name in present:
        before, after = engine.node(name), again.node(name)
        assert (before.neighbours, before.stale, before.added) == (after.neighbours, after.stale, after.added)
        np.testing.assert_array_equal(before.vector, after.vector)
    assert isinstance(fresh, list)
    delete_one(again, "new999")
    once_more = again.add([[newcomer(999)]], explain=[5], similar=[5])[0]
    assert isinstance(once_more, list)
    np.testing.assert_array_equal(once_more[0].vector, fresh[0].vector)
    assert once_more[0].explanation == fresh[0].explanation
    again.close()


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
    assert again.statistics() == statistics
    again.close()


def test_many_requests_are_one_transaction_that_is_synchronised(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    database = engine._store.journal._database
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
    together._store.journal._database.set_trace_callback(commands.append)
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


def files_size(store: Path) -> int:
    return sum(path.stat().st_size for path in store.glob("journal.sqlite*"))


def test_a_thousand_replacements_of_a_node_take_no_more_room_than_some(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_FEWEST_ROWS", 100)
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    sizes = []
    for number in range(1000):
        replace_one(engine, dataclasses.replace(newcomer(number), id="p3"))
        sizes.append(files_size(tmp_path / "store"))
    assert max(sizes[200:]) <= 1.2 * max(sizes[:200])
    before, statistics = engine.node("p3"), engine.statistics()
    assert statistics["journal_rows"] <= 100
    engine.close()
    assert files_size(tmp_path / "store") < 200_000
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics() == statistics
    assert again.node("p3").neighbours == before.neighbours
    np.testing.assert_array_equal(again.node("p3").vector, before.vector)
    again.close()


def test_a_journal_without_dead_entries_is_left_alone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_FEWEST_ROWS", 10)
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(30):
        add_one(engine, newcomer(number))
    assert engine.statistics()["journal_rows"] == 30
    for number in range(30, 60):
        add_one(engine, newcomer(number))
        delete_one(engine, f"new{number}")
    assert engine.statistics()["journal_rows"] < 60  # 30 nodes, where 90 things happened
    engine.close()


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
def test_a_compacted_journal_leads_to_the_same_state(kind: str, settings: dict[str, str], tmp_path: Path) -> None:
    graph = graph_of(kind)
    folder = save_model(tmp_path / "model", graph, **settings)
    engine = Engine.open(folder, graph, tmp_path / "store")
    history = History(engine, graph, seed=4)
    for _ in range(80):
        history.step()
    rows = engine.statistics()["journal_rows"]
    store = engine._store.journal
    store.rewrite(engine._state.as_entries(store.features_finder()))
    assert engine.statistics()["journal_rows"] < rows
    engine.close()
    again = Engine.open(folder, graph, tmp_path / "store")
    same_state(engine, again, history.present)
    engine = Engine.open(folder, graph, copy_of(tmp_path / "store"))  # a second time: nothing is left to fold
    store = engine._store.journal
    rows = store.rows
    store.rewrite(engine._state.as_entries(store.features_finder()))
    assert store.rows == rows
    probe = NewNode(10**6, links=tuple((name, 1.0) for name in history.present[-4:]))
    vectors = [add_one(one, probe, explain=5, similar=5) for one in (engine, again)]
    np.testing.assert_array_equal(vectors[0].vector, vectors[1].vector)
    assert vectors[0].explanation == vectors[1].explanation
    assert engine.refresh(3) == again.refresh(3)
    same_state(engine, again, history.present)
    engine.close()
    again.close()


def copy_of(store: Path) -> Path:
    return Path(shutil.copytree(store, store.with_name("copy")))


def test_a_compaction_that_fails_loses_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    history = History(engine, GRAPH, seed=5)
    for _ in range(30):
        history.step()
    rows = engine.statistics()["journal_rows"]

    def breaks_off(features_of: object) -> Iterator[journal.Entry]:
        yield journal.Entry("delete", "p1")
        raise StoreError("the disk is gone")

    monkeypatch.setattr(engine._state, "as_entries", breaks_off)
    monkeypatch.setattr(engine._store.journal, "_next_look", 1)
    monkeypatch.setattr(journal.Journal, "is_half_dead", lambda self: True)
    link(engine, [("p0", "p119", 1.0)] if {"p0", "p119"} <= set(history.present) else [])
    assert "not compacted" in caplog.text
    assert engine.statistics()["journal_rows"] == rows + 1
    monkeypatch.undo()
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    same_state(engine, again, history.present)
    again.close()


def test_a_copy_of_a_store_in_use_is_a_store(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(5):
        add_one(engine, newcomer(number))
    assert (tmp_path / "store" / "journal.sqlite-wal").stat().st_size > 0
    copy = copy_of(tmp_path / "store")
    add_one(engine, newcomer(5))
    other = Engine.open(model, GRAPH, copy)
    assert (engine.statistics()["added"], other.statistics()["added"]) == (6, 5)
    np.testing.assert_array_equal(other.node("new4").vector, engine.node("new4").vector)
    other.close()
    engine.close()


def test_a_second_server_is_refused_until_the_first_is_gone(model: Path, tmp_path: Path) -> None:
    first = Engine.open(model, GRAPH, tmp_path / "store")
    with pytest.raises(StoreError, match=f"process {os.getpid()}"):
        Engine.open(model, GRAPH, tmp_path / "store")
    first.close()
    with pytest.raises(StoreError, match="closed"):
        delete_one(first, "p1")
    Engine.open(model, GRAPH, tmp_path / "store").close()


def test_a_store_of_another_model_or_graph_is_refused(model: Path, tmp_path: Path) -> None:
    Engine.open(model, GRAPH, tmp_path / "store").close()
    other = save_model(tmp_path / "other", GRAPH, num_inference_walks=9)
    with pytest.raises(StoreError, match="another model"):
        Engine.open(other, GRAPH, tmp_path / "store")
    with pytest.raises(StoreError, match="another graph"):
        Engine.open(model, rebuilt(GRAPH, [newcomer(1)]), tmp_path / "store")
    Engine.open(model, GRAPH, tmp_path / "store").close()  # a refusal leaves it as it was


def test_places_that_are_no_store(model: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letters.txt").write_text("dear")
    (tmp_path / "file").write_text("")
    for place, reason in (("full", "letters.txt"), ("file", "it is a file"), ("no/where", "there is no folder")):
        with pytest.raises(StoreError, match=reason):
            Engine.open(model, GRAPH, tmp_path / place)
    assert [path.name for path in (tmp_path / "full").iterdir() if path.name != "lock"] == ["letters.txt"]


def test_a_damaged_store_is_named(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    Engine.open(model, GRAPH, store).close()
    header = (store / "store.json").read_text()
    for text, reason in (
        ("{", "damaged"),
        ("[]", "not a store"),
        (json.dumps({"format": "sanne-store"}), "format None"),
    ):
        (store / "store.json").write_text(text)
        with pytest.raises(StoreError, match=reason):
            Engine.open(model, GRAPH, store)
    (store / "store.json").write_text(header)
    (store / "vectors.npy").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="base vectors"):
        Engine.open(model, GRAPH, store)


def spoiled_by(command: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute(command)
            database.commit()

    return spoil


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.rindex(b"new3") + 100] ^= 1  # in a vector
    path.write_bytes(content)


def other_database(path: Path) -> None:
    path.unlink()
    spoiled_by("CREATE TABLE letters (text TEXT)")(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (Path.unlink, "missing"),
        (lambda path: path.write_bytes(b"nothing" * 1000), "file is not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "cannot be|damaged"),
        (other_database, "not a journal of sanne"),
        (flip_a_bit, "wrong checksum"),
        (spoiled_by("DELETE FROM entries WHERE sequence = 2"), "entry 2 is missing"),
        (spoiled_by("DELETE FROM entries WHERE sequence = 0"), "entry 0 is missing"),
        (spoiled_by("UPDATE entries SET id = 'p7' WHERE sequence = 1"), "wrong checksum"),
        (spoiled_by("PRAGMA user_version = 9"), "format 9"),
        (spoiled_by("DROP TABLE entries"), "no such table"),
    ],
)
def test_a_damaged_or_foreign_journal_is_refused(
    spoil: Callable[[Path], None], reason: str, model: Path, tmp_path: Path
) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(20):
        add_one(engine, newcomer(number))
    engine.close()
    path = tmp_path / "store" / "journal.sqlite"
    spoil(path)
    with pytest.raises(StoreError, match=reason) as raised:
        Engine.open(model, GRAPH, tmp_path / "store")
    assert "journal" in str(raised.value)


def test_a_store_of_the_first_version_is_refused_with_what_to_do(model: Path, tmp_path: Path) -> None:
    Engine.open(model, GRAPH, tmp_path / "store").close()
    header = tmp_path / "store" / "store.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format_version": 1}))
    with pytest.raises(StoreError, match=r"format 1, .* choose a new --store"):
        Engine.open(model, GRAPH, tmp_path / "store")


@pytest.mark.parametrize("step", ["_save", "Journal", "_check_header"])
def test_creating_a_store_can_be_interrupted(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(store, step, interrupted)
        Engine.open(model, GRAPH, tmp_path / "store").close()
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    add_one(engine, newcomer(1))
    engine.close()
    assert not (tmp_path / "store" / "unfinished").exists()


@pytest.mark.parametrize("name", ["vectors.npy", "uncertainty.npy", "journal.sqlite", "map", "search.json"])
def test_files_of_others_are_never_overwritten(model: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).write_text("the only copy")
    with pytest.raises(StoreError, match=name):
        Engine.open(model, GRAPH, folder)
    assert [path.name for path in folder.iterdir()] == [name]
    assert (folder / name).read_text() == "the only copy"


def test_a_store_that_lost_its_header_is_refused_and_left_as_it_is(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    add_one(engine, newcomer(1))
    engine.close()
    header = (tmp_path / "store" / "store.json").read_text()
    (tmp_path / "store" / "store.json").unlink()
    with pytest.raises(StoreError, match="no store"):
        Engine.open(model, GRAPH, tmp_path / "store")
    (tmp_path / "store" / "store.json").write_text(header)
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics()["added"] == 1
    again.close()


def test_the_digest_of_a_graph_sees_ids_edges_and_weights() -> None:
    def graph(targets: list[int], ids: list[str], weights: list[float] | None = None) -> Graph:
        return Graph.from_edges([0, 1], targets, weights, node_ids=np.array(ids, object))

    digests = {
        graph_digest(graph([1, 2], ["a", "b", "c"])),
        graph_digest(graph([2, 2], ["a", "b", "c"])),
        graph_digest(graph([1, 2], ["a", "b", "d"])),
        graph_digest(graph([1, 2], ["a", "b", "c"], [1, 1])),
        graph_digest(graph([1, 2], ["a", "b", "c"], [1, 2])),
    }
    assert len(digests) == 5
    assert graph_digest(graph([1, 2], ["a", "b", "c"])) in digests


def test_bad_edges_leave_no_row(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    with pytest.raises(FieldError):
        link(engine, [("p1", "p2", 1.0), ("p1", "nobody", 1.0)])
    assert engine.statistics()["journal_rows"] == 0
    engine.close()


def test_a_search_index_is_of_use_after_a_compaction_too(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows the base nodes only; compaction drops the numbers of added nodes that are gone."""
    monkeypatch.setattr(store, "EXACT_ROWS", 100)
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    engine._store.indexing.join()
    for number in range(60):
        add_one(engine, newcomer(number))
    delete_one(engine, "new0")
    log = engine._store.journal
    log.rewrite(engine._state.as_entries(log.features_finder()))
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    again._store.indexing.join()
    assert again._state.vectors.index is not None
    for name in ("new50", "p7"):
        vector = engine.node(name).vector
        before, after = (dict(one.similar_to_vector(vector, 1)) for one in (engine, again))
        assert list(before) == list(after) == [name]
    again.close()
