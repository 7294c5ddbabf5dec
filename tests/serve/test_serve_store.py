"""The store: what was acknowledged is there after a kill, one commit serves many, and a wrong store is refused."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lancedb
import numpy as np
import pytest
from engine_parts import add_one, graph_of, newcomer, rebuilt, save_model

from sanne.errors import FieldError, StoreError
from sanne.graph.csr import Graph
from sanne.serve import journal
from sanne.serve.engine import Engine
from sanne.serve.nodes import NewNode
from sanne.serve.store import graph_digest

GRAPH = graph_of("plain")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


def test_every_acknowledged_node_survives_kill_9_at_a_random_moment(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    acknowledged: dict[str, float] = {}
    stream = np.random.default_rng(int(time.time()))
    for number in range(2):
        path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, str(HERE / "killed_writer.py"), str(model), str(store), str(1000 * number)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(stream.uniform(0.05, 1.0))
        child.send_signal(signal.SIGKILL)
        lines = child.communicate()[0].splitlines()
        acknowledged |= {name: float.fromhex(value) for name, value in (line.split() for line in lines)}
    assert len(acknowledged) > 3
    engine = Engine.open(model, GRAPH, store)
    assert engine.statistics()["added"] >= len(acknowledged)
    for name, value in acknowledged.items():
        info = engine.node(name)
        assert info.added
        assert info.vector[0] == value
        assert name in dict(engine.similar_to_vector(info.vector, 20))
        assert sorted(info.neighbours) == sorted(newcomer(int(name[3:])).links)
    engine.close()


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
            engine.add_edges([(some[0][0], some[1][0], 2.5), (some[1][0], some[2][0], 1.0)])
        elif kind == "replace":
            engine.replace(NewNode(some[0][0], features=GRAPH.features[number], links=tuple(some[1:])))
        elif kind == "delete":
            engine.delete(some[0][0])
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
    again.delete("new999")
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
        lambda: engine.replace(NewNode("p3", links=(("p100", 1.0),))),
        lambda: engine.delete("new1"),
        lambda: engine.add_edges([("p0", "p119", 1.0)]),
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


def test_many_requests_are_one_commit(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")

    def commits() -> int:
        return int(lancedb.connect(str(tmp_path / "store")).open_table(journal.NAME).version)

    before = commits()
    engine.add([[newcomer(i)] for i in range(16)], explain=[0] * 16, similar=[0] * 16)
    assert commits() == before + 1
    engine.add([[newcomer(0)]], explain=[0], similar=[0])  # refused: nothing to write
    assert commits() == before + 1
    engine.close()


def test_small_commits_do_not_pile_up(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_COMMITS_TO_JOIN", 20)
    monkeypatch.setattr(journal, "_KEPT_VERSIONS", journal.datetime.timedelta(milliseconds=1))
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(70):
        add_one(engine, newcomer(number))
    engine.close()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert len(files) < 120  # three a commit would be 210
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics()["added"] == 70
    again.close()


def test_a_second_server_is_refused_until_the_first_is_gone(model: Path, tmp_path: Path) -> None:
    first = Engine.open(model, GRAPH, tmp_path / "store")
    with pytest.raises(StoreError, match=f"process {os.getpid()}"):
        Engine.open(model, GRAPH, tmp_path / "store")
    first.close()
    with pytest.raises(StoreError, match="closed"):
        first.delete("p1")
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
    shutil.move(store / "journal.lance", tmp_path / "aside")
    with pytest.raises(StoreError, match="journal"):
        Engine.open(model, GRAPH, store)
    shutil.move(tmp_path / "aside", store / "journal.lance")
    (store / "vectors.npy").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="base vectors"):
        Engine.open(model, GRAPH, store)


def test_making_a_store_can_be_interrupted(model: Path, tmp_path: Path) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    add_one(engine, newcomer(1))
    engine.close()
    (tmp_path / "store" / "store.json").unlink()  # written last: without it, the rest is the beginning of a store
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics()["added"] == 0
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
        engine.add_edges([("p1", "p2", 1.0), ("p1", "nobody", 1.0)])
    assert engine.statistics()["journal_rows"] == 0
    engine.close()
