"""load_graph finds the right reader, and says what it accepts when there is none."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph import load
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text("src,dst\na,b\nb,c\n")
    pq.write_table(
        pa.table({"id": ["c", "b", "a"], "size": [1, 2, 3], "note": ["x", None, "z"]}), tmp_path / "nodes.parquet"
    )
    return tmp_path


def test_dataset_by_name(cora: Graph) -> None:
    graph = load_graph("cora")
    assert (graph.num_nodes, graph.num_edges) == (2708, 5278)
    assert graph.features.shape == (2708, 1433)


def test_edge_file_with_and_without_node_table(folder: Path) -> None:
    assert load_graph(folder / "edges.csv").node_ids.tolist() == ["a", "b", "c"]
    graph = load_graph(str(folder / "edges.csv"), node_table=str(folder / "nodes.parquet"), text="note")
    assert graph.node_ids.tolist() == ["c", "b", "a"]
    assert graph.texts is not None
    assert graph.texts.tolist() == ["x", "", "z"]


def test_folder_with_edges_and_nodes(folder: Path) -> None:
    graph = load_graph(folder)
    assert graph.node_ids.tolist() == ["c", "b", "a"]
    assert graph.features.tolist() == [[1], [2], [3]]


def test_folder_without_nodes(folder: Path) -> None:
    (folder / "nodes.parquet").unlink()
    assert load_graph(folder).node_ids.tolist() == ["a", "b", "c"]


def test_folder_with_two_edge_files_is_refused(folder: Path) -> None:
    (folder / "edges.tsv").write_text("src\tdst\na\tb\n")
    with pytest.raises(InputError, match=r"holds edges\.csv and edges\.tsv: keep one"):
        load_graph(folder)


def test_folder_with_nothing_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected edges\."):
        load_graph(tmp_path)


def test_an_edge_list_and_with_the_research_package_a_linqs_folder_and_npz(tmp_path: Path) -> None:
    (tmp_path / "toy.content").write_text("1\t0\tA\n2\t1\tB\n")
    (tmp_path / "toy.cites").write_text("1\t2\n")
    assert load_graph(tmp_path).features.toarray().tolist() == [[0], [1]]
    (tmp_path / "list.txt").write_text("# pairs\n4 5\n")
    assert load_graph(tmp_path / "list.txt").node_ids.tolist() == [4, 5]
    np.savez(tmp_path / "toy.npz", edges=np.array([[0, 1]]))
    assert load_graph(tmp_path / "toy.npz").num_edges == 1


@pytest.mark.parametrize(
    "source",
    [
        np.array([[0, 1], [1, 2]]),
        (np.array([0, 1]), np.array([1, 2])),
        sp.csr_matrix(([1, 1], ([0, 1], [1, 2])), shape=(3, 3)),
        nx.path_graph(3),
        pd.DataFrame({"src": [0, 1], "dst": [1, 2]}),
        pa.table({"src": [0, 1], "dst": [1, 2]}),
    ],
    ids=["array", "tuple", "scipy", "networkx", "pandas", "pyarrow"],
)
def test_the_same_graph_from_memory(source: Any) -> None:
    texts, features = ["x", None, "z"], np.eye(3)
    graph = load_graph(source, text=texts, features=features)
    assert graph.node_ids.tolist() == [0, 1, 2]
    assert graph.indices.tolist() == [1, 0, 2, 1]
    assert graph.texts is not None
    assert graph.texts.tolist() == ["x", "", "z"]
    assert graph.features.dtype == np.float32
    with pytest.raises(InputError, match=r"2 rows of features(, but an edge names node 2| for 3 nodes)"):
        load_graph(source, features=np.eye(2))


def test_arrays_with_a_node_table() -> None:
    graph = load_graph(np.array([["a", "b"]]), node_table=pd.DataFrame({"id": ["b", "a", "z"], "size": [1, 2, 3]}))
    assert graph.node_ids.tolist() == ["b", "a", "z"]
    assert graph.features.tolist() == [[1], [2], [3]]


def test_a_matrix_takes_the_place_of_feature_columns(folder: Path) -> None:
    graph = load_graph(folder, features=sp.identity(3))
    assert sp.issparse(graph.features)
    with pytest.raises(InputError, match=r"node 'b' has the feature nan in column 0"):
        load_graph(folder, features=np.array([[1.0], [np.nan], [2.0]]))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cra", "did you mean 'cora'"),
        ("Pubmed", "did you mean 'pubmed'"),
        ("nowhere", "cora, citeseer, pubmed"),
        ("", "cora"),
        ("x" * 5000, "cora"),
    ],
)
def test_a_name_that_is_nothing(name: str, hint: str) -> None:
    with pytest.raises(InputError, match="neither a file or folder nor a dataset") as caught:
        load_graph(name)
    assert hint in str(caught.value)


def test_a_misspelt_path(folder: Path) -> None:
    with pytest.raises(InputError, match=r"did you mean '.*edges\.csv'"):
        load_graph(folder / "edge.csv")


@pytest.mark.parametrize("source", [42, None, {"src": []}])
def test_an_object_that_is_no_graph(source: Any) -> None:
    with pytest.raises(InputError, match=r"cannot read a graph from a .*dataset name \(cora.*networkx"):
        load_graph(source)


def test_arguments_that_do_not_apply_are_refused(cora: Graph, folder: Path) -> None:
    with pytest.raises(InputError, match=r"node_table= does not apply to dataset 'cora'"):
        load_graph("cora", node_table=folder / "nodes.parquet")
    with pytest.raises(InputError, match="no node table"):
        load_graph("cora", text="abstract")
    with pytest.raises(InputError, match=r"give node_table="):
        load_graph(np.array([[0, 1]]), text="abstract")
    with pytest.raises(InputError, match=r"node table is a int"):
        load_graph(folder / "edges.csv", node_table=3)


def test_reading_files_needs_no_optional_package(folder: Path) -> None:
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "networkx", "torch_geometric"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from sanne.graph.load import load_graph
print(load_graph(sys.argv[1]))
"""
    run = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "Graph(3 nodes, 2 edges, 1 features)"


def test_a_reader_from_outside_the_package_is_used_like_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_pairs(path: Path, directed: bool) -> Graph:
        pairs = np.array(path.read_text().split(), int).reshape(-1, 2)
        return Graph.from_edges(pairs[:, 0], pairs[:, 1], node_ids=np.arange(pairs.max() + 1), directed=directed)

    monkeypatch.setattr(load, "READERS", list(load.READERS))
    load.register(load.Reader("{source}", lambda source: str(source).endswith(".pairs"), read_pairs, ("directed",)))
    (tmp_path / "toy.pairs").write_text("0 1 1 2")
    graph = load_graph(tmp_path / "toy.pairs", directed=True, features=np.eye(3))
    assert (graph.num_edges, graph.directed, graph.features.shape) == (2, True, (3, 3))
    with pytest.raises(InputError, match=r"label= does not apply to .*toy\.pairs"):
        load_graph(tmp_path / "toy.pairs", label="kind")
