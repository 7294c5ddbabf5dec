"""A graph folder gives back the graph, reads no more than it must, and says what is wrong with a damaged one."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from planted import assert_same_graph, planted_graph, tiny_config
from sanne.errors import InputError, UnknownNodeError
from sanne.graph.folder.store import is_graph_folder, open_graph, save_graph
from sanne.graph.folder.strings import MappedStrings
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph
from sanne.infer.embed import embed, embed_present
from sanne.model.fit import fit_model

TEXTS = np.array(["", "zwei Wörter", "line\nbreak", "x" * 200_000, "語"], dtype=object)
COMMON: dict[str, Any] = {"sources": [0, 1, 2], "targets": [1, 2, 3]}
GRAPHS: dict[str, Graph] = {
    "text ids, all there is": Graph.from_edges(
        **COMMON, weights=[1.5, 2, 3], node_ids=["a", "ü", "", "d d", "007"], texts=TEXTS,
        features=np.arange(10, dtype=np.float32).reshape(5, 2), labels=np.array(["x", "", "y", "x", "y"], object),
    ),
    "sparse and directed": Graph.from_edges(
        **COMMON, node_ids=[5, -9, 2**60, 0, 7], directed=True, labels=sp.csr_matrix(np.eye(5)),
        features=sp.csr_matrix(np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3], [0, 0, 0], [0, 0, 4]], np.float32)),
    ),
    "bare": Graph.from_edges(**COMMON, node_ids=range(5), labels=np.arange(5)),
    "no edges": Graph.from_edges([], [], node_ids=["a"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_a_folder_gives_the_graph_back(tmp_path: Path, name: str) -> None:
    save_graph(GRAPHS[name], tmp_path / "g")
    assert_same_graph(open_graph(tmp_path / "g", verify=True), GRAPHS[name])
    assert_same_graph(load_graph(tmp_path / "g"), GRAPHS[name])
    save_graph(open_graph(tmp_path / "g"), tmp_path / "g")  # onto itself, from the mapped files
    assert_same_graph(open_graph(tmp_path / "g", verify=True), GRAPHS[name])


def test_texts_and_ids_are_read_by_row(tmp_path: Path) -> None:
    save_graph(GRAPHS["text ids, all there is"], tmp_path / "g")
    graph = open_graph(tmp_path / "g")
    assert isinstance(graph.texts, MappedStrings)
    assert graph.texts[np.array([4, 1, 4, -1])].tolist() == ["語", "zwei Wörter", "語", "語"]
    assert graph.texts[TEXTS != ""].tolist() == TEXTS[1:].tolist()
    assert graph.texts[2] == "line\nbreak"
    assert list(graph.texts) == TEXTS.tolist()
    with pytest.raises(IndexError):
        graph.texts[[5]]
    assert graph.nodes_of(["007", "ü", ""]).tolist() == [4, 1, 2]
    with pytest.raises(UnknownNodeError, match="'7'"):
        graph.nodes_of(["7"])
    part = graph.subgraph([1, 0])
    assert part.node_ids.tolist() == ["ü", "a"]
    assert part.texts is not None
    assert part.texts.tolist() == ["zwei Wörter", ""]


def test_ids_that_count_up_need_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_graph(GRAPHS["bare"], tmp_path / "g")
    monkeypatch.setattr("sanne.graph.graph.pc.index_in", None)
    for graph in (open_graph(tmp_path / "g"), GRAPHS["bare"]):
        assert graph.nodes_of([4, "0", np.int64(2)]).tolist() == [4, 0, 2]
        with pytest.raises(UnknownNodeError, match=r"2 of 3 node ids .*\(5, -1\)"):
            graph.nodes_of([5, 0, -1])


def test_opening_does_not_read_the_graph(tmp_path: Path) -> None:
    """A process that opens 400 MB of graph and walks to one node grows by a small part of that."""
    n, degree = 1_000_000, 50
    indptr = np.arange(n + 1, dtype=np.int64) * degree
    indices = np.zeros(n * degree, np.int32)
    features = np.lib.format.open_memmap(tmp_path / "f.npy", "w+", np.float32, (n, 50))
    save_graph(Graph(indptr, indices, None, np.arange(n), features=features), tmp_path / "g")
    code = """
import resource, sys
from sanne.graph.load import load_graph
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
graph = load_graph(sys.argv[1])
graph.nodes_of([999_999]); graph.indices[graph.indptr[7]]; graph.features[[5, 999_999]]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "g"], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 40


@pytest.mark.parametrize("features", ["numeric", "structure", "tfidf"])
def test_a_model_trains_and_embeds_on_a_mapped_graph_as_in_memory(tmp_path: Path, features: str) -> None:
    graph = planted_graph()
    if features == "tfidf":
        texts = [f"word{label} and {'more' * label}" for label in graph.labels.tolist()]  # type: ignore[union-attr]
        graph = replace(graph, texts=np.array(texts, object))
    save_graph(graph, tmp_path / "g")
    mapped = open_graph(tmp_path / "g")
    config = tiny_config(epochs=1, features=features)
    one, other = (fit_model(each, config, 0) for each in (graph, mapped))
    np.testing.assert_allclose(embed(one, graph).vectors, embed(other, mapped).vectors, atol=1e-4)
    np.testing.assert_array_equal(embed_present(one, graph).vectors, embed_present(other, mapped).vectors)
    np.testing.assert_array_equal(embed(one, graph, ["p3"]).vectors, embed(other, mapped, ["p3"]).vectors)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def edit(**changes: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("indices.npy", cut, r"indices\.npy: damaged .*bytes.*build the folder again"),
        ("weights.npy", Path.unlink, r"incomplete graph folder, weights\.npy is missing: build it again"),
        ("texts.bytes.npy", cut, r"texts\.bytes\.npy: damaged"),
        ("graph.json", cut, r"graph\.json: damaged \(not readable as JSON"),
        ("graph.json", edit(format="other"), "not a sanne graph"),
        ("graph.json", edit(format_version=2), "format 2 of a newer sanne.*upgrade"),
        ("graph.json", edit(directed=None), "no valid 'directed'"),
        ("graph.json", edit(files={}), "does not describe"),
        ("graph.json", Path.unlink, "no graph.json; make one with sanne build"),
    ],
)
def test_damaged_folders_name_the_file(tmp_path: Path, name: str, damage: Callable[[Path], None], message: str) -> None:
    save_graph(GRAPHS["text ids, all there is"], tmp_path / "g")
    damage(tmp_path / "g" / name)
    with pytest.raises(InputError, match=message):
        open_graph(tmp_path / "g")


def test_files_that_do_not_fit_together_are_noticed(tmp_path: Path) -> None:
    save_graph(GRAPHS["text ids, all there is"], tmp_path / "g")
    np.save(tmp_path / "g" / "indptr.npy", np.array([0, 6, 6, 6, 6, 6]))
    with pytest.raises(InputError, match=r"checksum differs"):
        open_graph(tmp_path / "g", verify=True)
    np.save(tmp_path / "g" / "indptr.npy", np.zeros(6, np.int64))
    with pytest.raises(InputError, match=r"indptr\.npy: damaged \(its rows do not fit"):
        open_graph(tmp_path / "g")
    np.save(tmp_path / "g" / "indptr.npy", np.zeros(12, np.int32))
    with pytest.raises(InputError, match=r"indptr\.npy: damaged \(it holds int32, expected int64"):
        open_graph(tmp_path / "g")


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    save_graph(GRAPHS["bare"], tmp_path / "g")
    path = tmp_path / "g" / "labels.npy"
    np.save(path, np.array([{}] * 5, dtype=object), allow_pickle=True)
    facts = json.loads((tmp_path / "g" / "graph.json").read_text())
    facts["files"]["labels.npy"]["bytes"] = path.stat().st_size
    (tmp_path / "g" / "graph.json").write_text(json.dumps(facts))
    with pytest.raises(InputError, match=r"labels\.npy: damaged"):
        open_graph(tmp_path / "g")


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="not replaced"):
        save_graph(GRAPHS["bare"], tmp_path / "g")
    save_graph(GRAPHS["bare"], tmp_path / "h")
    (tmp_path / "h" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"other files in this folder \(thesis\.tex\)"):
        save_graph(GRAPHS["bare"], tmp_path / "h")


def test_what_the_folder_knows_cannot_be_said_again(tmp_path: Path) -> None:
    save_graph(GRAPHS["bare"], tmp_path / "g")
    assert is_graph_folder(tmp_path / "g")
    with pytest.raises(InputError, match="node_table= does not apply"):
        load_graph(tmp_path / "g", node_table="nodes.csv")
    with pytest.raises(InputError, match="--directed"):
        load_graph(tmp_path / "g", directed=True)
    assert load_graph(tmp_path / "g", features=np.eye(5)).features.shape == (5, 5)
