"""Embedding with Ray: the vectors of the local engine, even when a worker is killed; nothing half-written."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planted import TINY, planted_graph
from sanne.cli import main
from sanne.errors import InputError, MissingExtraError, SanneError
from sanne.estimator import SANNE
from sanne.graph.folder.store import save_graph
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph
from sanne.infer import ray as ray_engine
from sanne.infer.partitioned import cut_rows, embed_partitioned
from sanne.infer.ray import Embedder, Job, check_ray_output, embed_with_ray
from sanne.vectors.formats import read_vectors

GRAPH = planted_graph(size=300)  # 900 nodes
SETTINGS = {"epochs": 1, "steps_per_epoch": 3}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[SANNE, Path]:
    folder = tmp_path_factory.mktemp("fitted")
    ends = np.repeat(GRAPH.node_ids, np.diff(GRAPH.indptr)), GRAPH.node_ids[GRAPH.indices]
    pq.write_table(pa.table({"src": ends[0], "dst": ends[1]}), folder / "edges.parquet")
    columns = {f"f{i}": column for i, column in enumerate(GRAPH.features.T)}  # type: ignore[union-attr]
    pq.write_table(pa.table({"id": GRAPH.node_ids, **columns}), folder / "nodes.parquet")
    model = SANNE(settings=TINY | SETTINGS, progress=False).fit(GRAPH)
    model.artifact_.record["source"] = {"source": str(folder)}
    model.save(folder / "model")
    return model, folder


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """A Ray of this test file's own, that finds modules where this process does."""
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        with warnings.catch_warnings(action="ignore"), ray_engine.ray_session(workers=3, address=None):
            yield


def sanne_embed(monkeypatch: pytest.MonkeyPatch, model: Path, *options: Any) -> int:
    """Run the command in this process, which has a Ray already; the exit code."""
    monkeypatch.setattr(sys, "argv", ["sanne", "embed", str(model), "--engine", "ray", "--json", *map(str, options)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def ray_workers(driver: int) -> list[int]:
    """The processes below the driver that embed, or are about to."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            names[int(folder.name)] = (folder / "cmdline").read_bytes()
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])

    def is_below(pid: int) -> bool:
        return pid == driver or (pid in parents and is_below(parents[pid]))

    return [pid for pid, name in names.items() if b"(Embedder))" in name and is_below(pid)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the process to kill in /proc")
def test_killed_workers_cost_no_vector(fitted: tuple[SANNE, Path], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    model, folder = fitted
    small = "from sanne import cli; from sanne.infer import ray as r; r._NODES_AT_ONCE = 10; cli.main()"
    options = ["--engine", "ray", "--json", "--workers", "2", "--out", str(tmp_path / "vectors.parquet")]
    command = subprocess.Popen(
        [sys.executable, "-c", small, "embed", str(folder / "model"), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def parts() -> int:
        return len(list(tmp_path.glob(".part-*/*_*.parquet")))

    while not parts() and command.poll() is None:
        time.sleep(0.01)
    killed = {}
    for worker in ray_workers(command.pid):  # the second may still be starting: the first is embedding for sure
        os.kill(worker, signal.SIGKILL)
        killed[worker] = parts()
    out, err = command.communicate()
    assert command.returncode == 0, err
    assert killed
    assert max(killed.values()) < 90 / 2, "killed too late to matter"
    assert json.loads(out)["nodes"] == 900  # one object, whoever died
    found, expected = read_vectors(tmp_path / "vectors.parquet"), model.embed(GRAPH)
    assert found.node_ids.tolist() == GRAPH.node_ids.tolist()  # each once, in the order asked for
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-5)
    np.testing.assert_allclose(found.uncertainty, expected.uncertainty, atol=1e-5)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.parquet"]  # no litter


@pytest.mark.usefixtures("local_ray")
def test_every_batch_of_an_actor_gives_the_vectors_of_the_local_engine(
    fitted: tuple[SANNE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, folder = fitted
    monkeypatch.setattr(ray_engine, "_NODES_AT_ONCE", 150)  # six batches, each of 150 * 8 walks * 5 > 900 positions
    assert sanne_embed(monkeypatch, folder / "model", "--workers", 1, "--out", tmp_path / "v.parquet") == 0
    found, expected = read_vectors(tmp_path / "v.parquet"), model.embed(GRAPH)
    assert found.node_ids.tolist() == GRAPH.node_ids.tolist()
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-5)
    np.testing.assert_allclose(found.uncertainty, expected.uncertainty, atol=1e-5)  # type: ignore[arg-type]


def drawn_graph(kind: str) -> Graph:
    """A graph with a hub, whose row is longer than a third of all, and nodes without links."""
    stream = np.random.default_rng(5)
    ends = stream.integers(0, 280, (2, 500))
    hub = np.stack([np.full(270, 90), np.arange(270)])
    pairs = np.concatenate([ends, np.repeat(hub, 3, axis=1) if "directed" in kind else hub], axis=1)
    weights = stream.uniform(0.5, 3, pairs.shape[1]) if "weighted" in kind else None
    values: dict[str, Any] = {"features": stream.normal(size=(300, 12)).astype(np.float32)}
    if "text" in kind:
        words = stream.integers(0, 40, (300, 8)) + np.arange(300)[:, None] // 100 * 20
        values = {"texts": np.array([" ".join(f"w{word}" for word in row) for row in words], object)}
    if "bare" in kind:
        values = {}
    ids = np.array([f"n{i}" for i in range(300)], object)
    return Graph.from_edges(*pairs, weights, node_ids=ids, directed="directed" in kind, **values)


@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize("kind", ["numbers", "weighted text", "directed weighted along", "directed against", "bare"])
def test_parts_of_a_graph_give_the_vectors_of_the_whole(kind: str, tmp_path: Path) -> None:
    graph = drawn_graph(kind)
    direction = {"along", "against"} & set(kind.split())
    settings = TINY | {"direction": direction.pop() if direction else "both"}
    model = SANNE(settings=settings, progress=False).fit(graph)
    model.save(tmp_path / "model")
    save_graph(graph, tmp_path / "graph")
    load = partial(load_graph, tmp_path / "graph")
    assert embed_partitioned(tmp_path / "model", load, tmp_path / "vectors", workers=3) == 300
    files = sorted((tmp_path / "vectors").iterdir())
    assert len(files) > 1
    found, expected = [read_vectors(path) for path in files], model.embed(graph)
    assert [name for part in found for name in part.node_ids] == graph.node_ids.tolist()
    np.testing.assert_allclose(np.concatenate([part.vectors for part in found]), expected.vectors, atol=1e-5)
    uncertainty = np.concatenate([part.uncertainty for part in found])
    np.testing.assert_allclose(uncertainty, expected.uncertainty, atol=1e-5)


def test_every_node_is_in_one_part_of_about_the_same_size() -> None:
    cuts = cut_rows(GRAPH.indptr, 5)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, 900, 6)
    sizes = np.diff(GRAPH.indptr[cuts] + cuts)
    assert sizes.max() < 1.2 * sizes.min()
    assert cut_rows(np.array([0, 0, 100, 101]), 3) == [0, 2, 2, 3]  # a part may be empty beside a hub


@pytest.mark.usefixtures("local_ray")
def test_the_command_writes_one_file_of_all_parts(
    fitted: tuple[SANNE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    model, folder = fitted
    options = ["--partitioned", "--workers", 2, "--out", tmp_path / "v.parquet"]
    assert sanne_embed(monkeypatch, folder / "model", *options) == 0
    assert json.loads(capfd.readouterr().out)["nodes"] == 900
    found = read_vectors(tmp_path / "v.parquet")
    assert found.node_ids.tolist() == GRAPH.node_ids.tolist()
    np.testing.assert_allclose(found.vectors, model.embed(GRAPH).vectors, atol=1e-5)
    assert sanne_embed(monkeypatch, folder / "model", *options, "--explain", 2) == 2
    assert capfd.readouterr().err.startswith("error: --partitioned embeds all nodes")
    assert [path.name for path in tmp_path.iterdir()] == ["v.parquet"]


def ended() -> Graph:
    os._exit(1)


@pytest.mark.usefixtures("local_ray")
def test_a_part_that_dies_is_an_error_and_nothing_is_written(fitted: tuple[SANNE, Path], tmp_path: Path) -> None:
    with pytest.raises(SanneError, match="nothing was written; embed again"):
        embed_partitioned(fitted[1] / "model", ended, tmp_path / "vectors", workers=2)
    assert not list(tmp_path.iterdir())


def test_walks_cannot_be_drawn_in_parts(tmp_path: Path) -> None:
    SANNE("paper", settings=TINY | SETTINGS | {"features": "numeric"}, progress=False).fit(GRAPH).save(tmp_path / "m")
    with pytest.raises(InputError, match="walk by walk"):
        embed_partitioned(tmp_path / "m", lambda: GRAPH, tmp_path / "vectors", workers=2)


@pytest.mark.parametrize("recipe", ["best", "paper"])  # with visit weights and without
def test_an_actor_gives_the_same_vectors_again(recipe: str, tmp_path: Path) -> None:
    model = SANNE(recipe, settings=TINY | SETTINGS | {"features": "numeric"}, progress=False).fit(GRAPH)
    model.save(tmp_path / "model")
    actor = Embedder(Job(tmp_path / "model", lambda: GRAPH, tmp_path / "nodes.parquet"))
    ids = pa.table({"id": GRAPH.node_ids[:150]})
    first, second = (actor(ids)["embedding"].combine_chunks().flatten().to_numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, model.transform(GRAPH, nodes=ids["id"].to_pylist()).ravel(), atol=1e-5)


@pytest.mark.usefixtures("local_ray")
def test_an_error_in_a_worker_is_one_line_and_nothing_is_written(
    fitted: tuple[SANNE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nodes.txt").write_text("p7\nnobody\n", encoding="utf-8")
    options = ["--workers", 1, "--nodes", tmp_path / "nodes.txt", "--out", tmp_path / "folder"]
    assert sanne_embed(monkeypatch, fitted[1] / "model", *options) == 2
    assert capfd.readouterr().err.startswith("error: 1 of 2 node ids are not in the graph ('nobody')")
    assert [path.name for path in tmp_path.iterdir()] == ["nodes.txt"]


def test_more_workers_than_ray_has_room_for_are_refused(local_ray: None) -> None:
    with pytest.raises(InputError, match="4 workers need 5 CPUs, Ray has 4"), ray_engine.ray_session(4, None):
        pass


def test_without_ray_the_extra_is_named(fitted: tuple[SANNE, Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="distributed"):
        embed_with_ray(Job(fitted[1] / "model", lambda: GRAPH, ["p1"]), tmp_path / "v", workers=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["v.csv", "v.npy", "no/such/folder/v.parquet", "mine"])
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError):
        check_ray_output(tmp_path / name)


def test_a_folder_of_somebody_elses_parquet_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    pq.write_table(pa.table({"id": ["a"], "price": [1.5]}), tmp_path / "sales" / "2024.parquet")
    with pytest.raises(InputError, match=r"2024\.parquet is not a file of vectors that sanne wrote"):
        check_ray_output(tmp_path / "sales")


@pytest.mark.usefixtures("local_ray")
def test_a_folder_of_vectors_is_replaced(
    fitted: tuple[SANNE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nodes.txt").write_text("p7\np8\n", encoding="utf-8")
    options = ["--workers", 1, "--nodes", tmp_path / "nodes.txt", "--out", tmp_path / "folder"]
    for _ in range(2):
        assert sanne_embed(monkeypatch, fitted[1] / "model", *options) == 0
    assert sorted(pq.read_table(tmp_path / "folder")["id"].to_pylist()) == ["p7", "p8"]


def test_a_list_of_nodes_that_is_no_list_is_refused(fitted: tuple[SANNE, Path], tmp_path: Path) -> None:
    pq.write_table(pa.table({"node": ["p1"]}), tmp_path / "wrong.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    (tmp_path / "text.parquet").write_text("p1", encoding="utf-8")
    for name, reason in (
        ("wrong", "no column 'id'"),
        ("empty", "no node ids"),
        ("text", "not a Parquet file"),
        ("no", "no such file"),
    ):
        job = Job(fitted[1] / "model", lambda: GRAPH, tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match=reason):
            embed_with_ray(job, tmp_path / "v", workers=1)
