"""A bundle is moved to a place where nothing else is, and everything works there."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from planted import TINY, planted_graph
from sanne import SANNE, NodeClassifier
from sanne.cli import main
from sanne.graph.folder.store import save_graph
from sanne.vectors.formats import read_vectors

SETS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]


def sanne(folder: Path, *words: Any) -> dict[str, Any]:
    command = [sys.executable, "-m", "sanne", *map(str, words), "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: Any) -> str:
    monkeypatch.setattr(sys, "argv", ["sanne", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    error = capsys.readouterr().err
    assert (end.value.code, error.count("\n")) == (2, 1)
    return error


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    save_graph(planted_graph(), tmp_path / "here.graph")
    sanne(tmp_path, "fit", "here.graph", "--out", "model", *SETS)
    return tmp_path


def test_a_bundle_embeds_and_serves_where_nothing_else_is(
    fitted: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = read_vectors(fitted / "model" / "vectors.parquet").vectors
    made = sanne(fitted, "bundle", "model", "--out", "bundle")
    assert (made["nodes"], made["bytes"] > 10_000) == (120, True)
    assert str(fitted) not in (fitted / "bundle" / "config.json").read_text(encoding="utf-8")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.move(fitted / "bundle", elsewhere / "moved")
    for old in (fitted / "model", fitted / "here.graph"):
        shutil.rmtree(old)
    sanne(elsewhere, "embed", "moved", "--out", "vectors.parquet")
    np.testing.assert_allclose(read_vectors(elsewhere / "vectors.parquet").vectors, before, atol=1e-4)
    command = [sys.executable, "-m", "sanne", "serve", "moved", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=elsewhere, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        answer = httpx.post(f"{url}/v1/embed", json={"nodes": [{"links": ["p0", "p1"]}]}, timeout=60)
        server.terminate()
    assert len(answer.json()["nodes"][0]["vector"]) == before.shape[1]


def test_a_model_becomes_a_bundle_in_its_own_folder_and_stays_one(fitted: Path) -> None:
    sanne(fitted, "bundle", "model")
    shutil.rmtree(fitted / "here.graph")
    graph = planted_graph()
    NodeClassifier(fitted / "model").fit(graph.node_ids, graph.labels).save(fitted / "model")
    sanne(fitted, "bundle", "model")  # again: its graph is its own
    (fitted / "model").rename(fitted / "renamed")
    assert sanne(fitted, "embed", "renamed", "--out", "v.parquet")["nodes"] == 120
    assert SANNE.load(fitted / "renamed").artifact_.classifier is not None
    sanne(fitted, "fit", "renamed/graph", "--out", "renamed", "--force", *SETS)
    assert (fitted / "renamed" / "graph").is_dir()  # fitted to its own graph, the new model has it too


def test_what_cannot_be_bundled_is_named_with_a_remedy(
    fitted: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fitted)
    sanne(fitted, "bundle", "model", "--out", "bundle")
    assert "give a new folder as --out" in refused(capsys, monkeypatch, "bundle", "model", "--out", "bundle")
    assert "no such model folder" in refused(capsys, monkeypatch, "bundle", "nothing")
    assert "there is no folder" in refused(capsys, monkeypatch, "bundle", "model", "--out", "no/such/place")
    (fitted / "edges.csv").write_text("src,dst\na,b\nb,c\n", encoding="utf-8")
    assert "features" in refused(capsys, monkeypatch, "bundle", "model", "--graph", "edges.csv")
    assert not (fitted / "model" / "graph").exists()
    (fitted / "here.graph").rename(fitted / "there.graph")
    assert "name its new place with --graph" in refused(capsys, monkeypatch, "bundle", "model")
    sanne(fitted, "bundle", "model", "--graph", "there.graph")
    (fitted / "model" / "graph" / "thesis.tex").write_text("years of work", encoding="utf-8")
    assert "thesis.tex" in refused(capsys, monkeypatch, "bundle", "model")


def test_new_nodes_are_read_by_a_bundle_as_by_its_model_and_need_no_label(tmp_path: Path) -> None:
    rows = [f"p{i},{word} {word}s number{i},{word}" for i in range(30) for word in [("graph", "cell", "price")[i % 3]]]
    links = [f"p{i},p{(i + 3) % 30}" for i in range(30)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,abstract,topic", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *links]) + "\n", encoding="utf-8")
    columns = ["--src", "a", "--dst", "b", "--text", "abstract", "--label", "topic"]
    sanne(tmp_path, "fit", "edges.csv", "--node-table", "nodes.csv", *columns, "--out", "model", *SETS)
    sanne(tmp_path, "bundle", "model")
    later = [row.rsplit(",", 1)[0] for row in rows]
    (tmp_path / "nodes2.csv").write_text(
        "\n".join(["id,abstract", *later, "new,a graph of graphs"]) + "\n", encoding="utf-8"
    )
    (tmp_path / "edges2.csv").write_text("\n".join(["a,b", *links, "new,p0"]) + "\n", encoding="utf-8")
    (tmp_path / "new.txt").write_text("new\n", encoding="utf-8")
    now = ["--graph", "edges2.csv", "--node-table", "nodes2.csv", "--nodes", "new.txt"]
    assert sanne(tmp_path, "embed", "model", *now, "--out", "new.parquet")["nodes"] == 1
    predicted = sanne(tmp_path, "predict", "model", "--labels", "nodes.csv", "--label", "topic", *now, "--out", "p.csv")
    assert predicted["rows"] == 1
