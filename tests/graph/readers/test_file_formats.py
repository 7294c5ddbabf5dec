"""Files and objects that people have: compressed, JSON Lines, Excel, lists, tensors, kinds of links."""

import bz2
import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from sanne.errors import InputError
from sanne.graph.load import load_graph

EDGES = "src,dst,weight\na,b,1\nb,c,2\nc,d,2.5\n"
NODES = [{"id": node, "about": f"a few words about the letter {node}", "size": i} for i, node in enumerate("abcd")]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's own
    from torch_geometric.data import HeteroData


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstd)])
def test_compressed_tables_are_read_as_they_are(tmp_path: Path, ending: str, pack: Any) -> None:
    (tmp_path / f"edges.csv.{ending}").write_bytes(pack(EDGES.encode()))
    (tmp_path / f"nodes.jsonl.{ending}").write_bytes(pack("\n".join(map(json.dumps, NODES)).encode()))
    graph = load_graph(tmp_path)
    assert graph.node_ids.tolist() == list("abcd")
    assert (graph.num_edges, graph.weights is not None) == (3, True)
    assert graph.texts is not None
    assert graph.texts[3] == "a few words about the letter d"
    (tmp_path / f"list.txt.{ending}").write_bytes(pack(b"# from SNAP\n1\t2\n2\t3\n"))
    assert load_graph(tmp_path / f"list.txt.{ending}").node_ids.tolist() == [1, 2, 3]


def test_a_problem_in_a_compressed_table_is_named_by_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "edges.csv.gz"
    broken.write_bytes(gzip.compress(b"src,dst\na,b\nb\n"))
    with pytest.raises(InputError, match=r"edges\.csv\.gz, line 3: 1 fields"):
        load_graph(broken)
    broken.write_bytes(b"src,dst\na,b\n")
    with pytest.raises(InputError, match="not compressed as its name says"):
        load_graph(broken)
    broken.write_bytes(gzip.compress(EDGES.encode() * 5000)[:-40])
    with pytest.raises(InputError, match=r"edges\.csv\.gz: damaged"):
        load_graph(broken)
    bomb = tmp_path / "edges.csv.zst"
    bomb.write_bytes(zstd(b"src,dst\na,b\n" + b" " * 2**26))
    with pytest.raises(InputError, match="1100 times its size; unpack it first"):
        load_graph(bomb)


def test_json_lines_keep_types_and_lists(tmp_path: Path) -> None:
    rows = [{"id": i, "vector": [i, 1.5], "label": "xy"[i % 2]} for i in range(4)]
    (tmp_path / "nodes.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    (tmp_path / "edges.ndjson").write_text('{"src": 0, "dst": 1}\n{"src": 1, "dst": 3}\n', encoding="utf-8")
    graph = load_graph(tmp_path / "edges.ndjson", node_table=tmp_path / "nodes.jsonl")
    assert graph.features.tolist() == [[i, 1.5] for i in range(4)]
    assert graph.labels is not None
    assert graph.labels.tolist() == list("xyxy")
    (tmp_path / "bad.jsonl").write_text('{"src": 0, "dst": 1}\n{"src": 1, "dst"\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl: expected one JSON object per line"):
        load_graph(tmp_path / "bad.jsonl")


def test_excel_files(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["source", "target", "weight"], [1, 2, 0.5], [2, "x7", 1], [None, None, None]):
        book.active.append(row)
    book.save(tmp_path / "edges.xlsx")
    graph = load_graph(tmp_path / "edges.xlsx")
    assert graph.node_ids.tolist() == ["1", "2", "x7"]
    assert graph.weights is not None
    (tmp_path / "text.xlsx").write_text("src,dst\n", encoding="utf-8")
    with pytest.raises(InputError, match="not an Excel file"):
        load_graph(tmp_path / "text.xlsx")


def test_lists_of_pairs_and_of_triples_with_a_weight() -> None:
    graph = load_graph([("ann", "bob"), ("bob", 7)])
    assert graph.node_ids.tolist() == ["7", "ann", "bob"]
    weighted = load_graph([(0, 1, 0.5), (1, 2, 3)], text=["zero", "one", "two"])
    assert weighted.weights is not None
    assert weighted.weights.tolist() == [0.5, 0.5, 3, 3]
    assert load_graph([("a", "b")], node_table=pa.table({"id": ["b", "a"], "x": [1.0, 2.0]})).node_ids.tolist() == [
        "b",
        "a",
    ]
    with pytest.raises(InputError, match="the list of edges is empty: give at least one pair"):
        load_graph([])
    for bad in ([1, 2], [("a", "b"), ("a", "b", 1)], [("a", "b", {"weight": 1})]):
        with pytest.raises(InputError, match=r"list of edges holds either pairs|the third item of a triple"):
            load_graph(bad)


def test_tensors_are_edge_indices_or_pairs() -> None:
    index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    assert load_graph(index).indices.tolist() == load_graph(index.T.contiguous()).indices.tolist()
    assert load_graph(index, features=torch.eye(5)).num_nodes == 5


@pytest.fixture
def library() -> HeteroData:
    data = HeteroData()
    data["paper"].x = torch.arange(6.0).reshape(3, 2)
    data["paper"].y = torch.tensor([0, 1, 1])
    data["paper"].title = ["graphs", "walks", "words"]
    data["author"].x = torch.tensor([[1.0], [3.0]])
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 2]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 0], [1, 2]])
    return data


def test_every_node_type_has_its_own_columns(library: HeteroData) -> None:
    graph = load_graph(library)
    assert graph.node_ids.tolist() == ["paper:0", "paper:1", "paper:2", "author:0", "author:1"]
    # In another type's columns a node has their mean, which is zero once they are standardised.
    assert graph.features.tolist() == [[0, 1, 2], [2, 3, 2], [4, 5, 2], [2, 3, 1], [2, 3, 3]]
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 1, 1, -1, -1]
    assert graph.num_edges == 5
    texts = load_graph(library, text="title").texts
    assert texts is not None
    assert texts.tolist() == ["graphs", "walks", "words", "", ""]
    assert load_graph(library, features=np.eye(5)).features.tolist() == np.eye(5).tolist()


def test_relations_are_kinds_with_weights(library: HeteroData) -> None:
    assert load_graph(library, kind_weights={"cites": 0}).num_edges == 3
    weights = load_graph(library, kind_weights={"writes": 2.0}).weights
    assert weights is not None
    assert sorted(set(weights.tolist())) == [1, 2]
    with pytest.raises(InputError, match="no edge has the type 'cite'; did you mean 'cites'"):
        load_graph(library, kind_weights={"cite": 2.0})
    with pytest.raises(InputError, match="no node type has such an attribute"):
        load_graph(library, text="abstract")


def test_kinds_are_weighted_or_left_out() -> None:
    edges = pa.table({"src": [0, 1, 2, 0], "dst": [1, 2, 3, 1], "how": ["cites", "Cites", "mentions", "mentions"]})
    assert load_graph(edges, kind="how").weights is None  # equal by default: as if nothing were said
    weights = load_graph(edges, kind="how", kind_weights={"mentions": 0.5, "cites": 2}).weights
    assert weights is not None
    assert sorted(weights.tolist()) == [0.5, 0.5, 2, 2, 2.5, 2.5]
    assert load_graph(edges, kind="how", kind_weights={"mentions": 0}).num_nodes == 4
    for wrong, message in (
        ({"mention": 2}, "did you mean 'mentions'"),
        ({"mentions": -1}, "positive number, or 0"),
        ({"mentions": "much"}, "positive number, or 0"),
        ({"mentions": 0, "cites": 0}, "every edge type has weight 0"),
        ("auto", "give a node table"),
        ([1], "dictionary of edge types"),
    ):
        with pytest.raises(InputError, match=message):
            load_graph(edges, kind="how", kind_weights=wrong)


@pytest.mark.parametrize("words", [True, False])
def test_a_kind_that_joins_anything_with_anything_hardly_counts(words: bool) -> None:
    stream = np.random.default_rng(3)
    topics = np.repeat(np.arange(4), 50)
    near = [(a, b) for a, b in stream.integers(0, 200, (3000, 2)).tolist() if topics[a] == topics[b]]
    far = stream.integers(0, 200, (2 * len(near), 2)).tolist()
    kinds = ["same"] * len(near) + ["random"] * len(far)
    edges = pa.table({"src": [a for a, _ in near + far], "dst": [b for _, b in near + far], "kind": kinds})
    nodes: dict[str, Any] = {"id": np.arange(200)}
    if words:
        nodes["text"] = [" ".join(f"w{t}x{i}" for i in stream.integers(0, 20, 12)) for t in topics]
    else:
        nodes |= {f"x{i}": (topics == i) + stream.normal(0, 0.3, 200) for i in range(4)}
    graph = load_graph(edges, node_table=pa.table(nodes), kind="kind", kind_weights="auto")
    assert graph.chosen["kind_weights"]["same"] == 1
    assert graph.chosen["kind_weights"]["random"] < 0.2


def test_edges_to_nodes_without_a_row_are_refused_dropped_or_added(tmp_path: Path) -> None:
    edges = pa.table({"src": [1, 2, 3], "dst": [2, 9, 1]})
    nodes = pa.table({"id": [1, 2, 3], "size": [1.0, 2.0, 6.0], "label": ["x", "y", "x"]})
    with pytest.raises(InputError, match=r"row 2: node 9 has no row .*--unknown drop"):
        load_graph(edges, node_table=nodes)
    assert load_graph(edges, node_table=nodes, unknown="drop").num_edges == 2
    added = load_graph(edges, node_table=nodes, unknown="add")
    assert added.node_ids.tolist() == [1, 2, 3, 9]
    assert added.features.ravel().tolist() == [1, 2, 6, 3]  # the mean, so that it says nothing
    assert added.labels is not None
    assert added.labels.tolist() == ["x", "y", "x", ""]
    mixed = load_graph(pa.table({"src": ["1"], "dst": ["new"]}), node_table=nodes, unknown="add")
    assert mixed.node_ids.tolist() == ["1", "2", "3", "new"]
    for wrong in ({"unknown": "ignore", "node_table": nodes}, {"unknown": "drop"}):
        with pytest.raises(InputError, match=r"choose refuse, drop, add|give a node table"):
            load_graph(edges, **wrong)


def test_the_obvious_text_column_is_read_and_the_rest_is_said(caplog: pytest.LogCaptureFixture) -> None:
    nodes = pa.table(
        {
            "id": ["a", "b", "c"],
            "topic": ["x", "y", "x"],
            "name": ["Ada Lovelace", "Alan Turing", "Grace Hopper"],
            "abstract": [
                "notes on an engine that computes",
                "on computable numbers and machines",
                "a compiler of words",
            ],
            "year": [1843, 1936, 1952],
        }
    )
    edges = pa.table({"src": ["a", "b"], "dst": ["b", "c"], "since": [1, 2]})
    with caplog.at_level("INFO", "sanne.graph"):
        graph = load_graph(edges, node_table=nodes)
    assert graph.chosen == {"text": ("abstract",)}
    assert graph.features is None
    assert "not read: since" in caplog.text
    assert "text from abstract; not read: topic, name, year" in caplog.text
    assert load_graph(edges, node_table=nodes, features="year").texts is None
    numbers = load_graph(edges, node_table=nodes.drop_columns(["abstract"]))
    assert (numbers.texts, numbers.features.shape) == (None, (3, 1))


def test_texts_without_spaces_are_texts_too() -> None:
    nodes = pa.table({"id": [0, 1], "t": ["図書館で本を読むのが好きです", "電車の時刻表を調べています"]})
    assert load_graph([(0, 1)], node_table=nodes).texts is not None
