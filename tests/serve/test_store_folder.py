"""The store folder: a foreign, damaged or older one is refused, and nothing of anybody's is overwritten."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from engine_parts import add_one, delete_one, graph_of, newcomer, rebuilt, save_model

from sanne.errors import InUseError, StoreError
from sanne.graph.graph import Graph
from sanne.serve.engine.engine import Engine
from sanne.serve.store.store import graph_digest

GRAPH = graph_of("plain")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


def test_a_second_server_is_refused_until_the_first_is_gone(model: Path, tmp_path: Path) -> None:
    first = Engine.open(model, GRAPH, tmp_path / "store")
    with pytest.raises(InUseError, match=rf"process \({os.getpid()}\)"):
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
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letters.txt"]


def test_damaged_vectors_are_named(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    Engine.open(model, GRAPH, store).close()
    (store / "vectors.npy").write_bytes(b"nothing")
    with pytest.raises(StoreError, match="base vectors"):
        Engine.open(model, GRAPH, store)


def spoiled_by(command: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute(command)
            database.commit()

    return spoil


def other_database(path: Path) -> None:
    path.unlink()
    spoiled_by("CREATE TABLE letters (text TEXT)")(path)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (Path.unlink, "not a store"),
        (lambda path: path.write_bytes(b"nothing" * 1000), "file is not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "cannot be|damaged"),
        (other_database, "not a file of a sanne store"),
        (spoiled_by("DELETE FROM nodes WHERE id = 'new3'"), "names a node 'new3'"),
        (spoiled_by("UPDATE nodes SET vector = x'00'"), "another size"),
        (spoiled_by("PRAGMA user_version = 3"), r"format 3, .* choose a new --store"),
        (spoiled_by("DROP TABLE nodes"), "no such table"),
    ],
)
def test_a_damaged_or_foreign_database_is_refused(
    spoil: Callable[[Path], None], reason: str, model: Path, tmp_path: Path
) -> None:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(20):
        add_one(engine, newcomer(number))
    engine.close()
    path = tmp_path / "store" / "changes.sqlite"
    spoil(path)
    with pytest.raises(StoreError, match=reason):
        Engine.open(model, GRAPH, tmp_path / "store")


@pytest.mark.parametrize("step", ["np.save", "sqlite3.connect"])
def test_creating_a_store_can_be_interrupted(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(f"sanne.serve.store.store.{step}", interrupted)
        Engine.open(model, GRAPH, tmp_path / "store").close()
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    add_one(engine, newcomer(1))
    engine.close()
    assert not (tmp_path / "store" / "unfinished").exists()


@pytest.mark.parametrize("name", ["vectors.npy", "uncertainty.npy", "changes.sqlite", "map", "search.json"])
def test_files_of_others_are_never_overwritten(model: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).write_text("the only copy")
    with pytest.raises(StoreError, match=name):
        Engine.open(model, GRAPH, folder)
    assert [path.name for path in folder.iterdir()] == [name]
    assert (folder / name).read_text() == "the only copy"


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
