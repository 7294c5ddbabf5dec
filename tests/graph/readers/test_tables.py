"""Edge and node tables: every way to write one that works, and what they become."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph
from sanne.graph.readers.tables import read_tables


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def edges_of(graph: Graph) -> set[frozenset[Any]]:
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    return {frozenset({graph.node_ids[a], graph.node_ids[b]}) for a, b in zip(rows, graph.indices, strict=True)}


AB_BC = {frozenset({"a", "b"}), frozenset({"b", "c"})}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", "src,dst\na,b\nb,c\n"),
        ("bom.csv", b"\xef\xbb\xbfsrc,dst\na,b\nb,c\n"),
        ("crlf.csv", "src,dst\r\na,b\r\nb,c\r\n"),
        ("tail.csv", "src,dst\na,b\nb,c\n\n\n"),
        ("no_newline.csv", "src,dst\na,b\nb,c"),
        ("tab.tsv", "src\tdst\na\tb\nb\tc\n"),
        ("tab.csv", "src\tdst\na\tb\nb\tc\n"),
        ("semicolon.csv", "src;dst\na;b\nb;c\n"),
        ("quoted.csv", '"src","dst"\n"a","b"\n"b","c"\n'),
        ("blanks.csv", " src , dst \na, b\nb, c\n"),
        ("names.csv", "source,target\na,b\nb,c\n"),
        ("case.csv", "Source,Target\na,b\nb,c\n"),
        ("extra.csv", "when,src,note,dst\n1,a,x,b\n2,b,y,c\n"),
        ("stray_mark.csv", 'src,dst,note\na,b,5" pipe\nb,c,\n'),
        ("blank_lines.csv", "\nsrc,dst\na,b\n\nb,c\n"),
    ],
)
def test_ways_to_write_the_same_edges(tmp_path: Path, name: str, content: str | bytes) -> None:
    graph = read_tables(write(tmp_path, name, content))
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert edges_of(graph) == AB_BC
    assert graph.weights is None


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"src": ["a", "b"], "dst": ["b", "c"]}),
        pa.table({"src": pa.array(["a", "b"]).dictionary_encode(), "dst": pa.array(["b", "c"], pa.large_string())}),
        pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}),
        pd.DataFrame({"src": pd.Categorical(["a", "b"]), "dst": ["b", "c"]}, index=[7, 9]),
    ],
)
def test_tables_in_memory_and_parquet(tmp_path: Path, table: Any) -> None:
    assert edges_of(read_tables(table)) == AB_BC
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    pq.write_table(arrow, tmp_path / "edges.parquet")
    assert edges_of(read_tables(tmp_path / "edges.parquet")) == AB_BC


def test_integer_ids_are_sorted_as_numbers_and_may_have_gaps(tmp_path: Path) -> None:
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\n1000,9\n9,-3\n"))
    assert graph.node_ids.dtype == np.int64
    assert graph.node_ids.tolist() == [-3, 9, 1000]


def test_one_leading_zero_keeps_all_ids_as_text(tmp_path: Path) -> None:
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\n007,7\n7,12\n"))
    assert graph.node_ids.tolist() == ["007", "12", "7"]
    assert edges_of(graph) == {frozenset({"007", "7"}), frozenset({"7", "12"})}


@pytest.mark.parametrize("odd", ["+7", "7.0", "0x10", "1e3", "99999999999999999999", "-0", "NA", "null", "true"])
def test_what_is_no_plain_integer_stays_as_written(tmp_path: Path, odd: str) -> None:
    graph = read_tables(write(tmp_path, "e.csv", f"src,dst\n{odd},1\n1,2\n"))
    assert odd in graph.node_ids.tolist()


def test_quoted_ids_with_commas_and_quotation_marks(tmp_path: Path) -> None:
    graph = read_tables(write(tmp_path, "e.csv", 'src,dst\n"Smith, J.","Li ""L"" W"\n"a\n","Smith, J."\n'))
    assert sorted(graph.node_ids.tolist()) == ['Li "L" W', "Smith, J.", "a"]


def test_weights(tmp_path: Path) -> None:
    path = write(tmp_path, "e.csv", "src,dst,weight,cost\na,b,0.5,1\nb,c,2,4\n")
    weighted = read_tables(path)
    assert weighted.weights is not None
    assert weighted.weights.tolist() == [0.5, 0.5, 2, 2]
    assert read_tables(path, weight=False).weights is None
    by_cost = read_tables(path, weight="cost")
    assert by_cost.weights is not None
    assert by_cost.weights.tolist() == [1, 1, 4, 4]


def test_directed(tmp_path: Path) -> None:
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\nb,a\n"), directed=True)
    assert graph.indptr.tolist() == [0, 0, 1]


NODES = """id,year,score,open,title,abstract,label
c,2001,0.5,true,C,about c,x
a,2002,1.5,false,A,,y
z,3,4,true,Z,NA,
b,1,1,false,B,b b,x
"""


def test_the_node_table_gives_order_isolated_nodes_features_and_labels(tmp_path: Path) -> None:
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\na,b\nb,c\n"), write(tmp_path, "n.csv", NODES))
    assert graph.node_ids.tolist() == ["c", "a", "z", "b"]
    assert edges_of(graph) == AB_BC
    assert np.diff(graph.indptr).tolist() == [1, 1, 0, 2]
    assert graph.features.dtype == np.float32
    assert graph.features.tolist() == [[2001, 0.5, 1], [2002, 1.5, 0], [3, 4, 1], [1, 1, 0]]
    assert graph.labels is not None
    assert graph.labels.tolist() == ["x", "y", "", "x"]
    assert graph.texts is None


def test_text_columns(tmp_path: Path) -> None:
    edges, nodes = write(tmp_path, "e.csv", "src,dst\na,b\n"), write(tmp_path, "n.csv", NODES)
    graph = read_tables(edges, nodes, text="abstract")
    assert graph.texts is not None
    assert graph.texts.tolist() == ["about c", "", "NA", "b b"]
    assert graph.features is None
    joined = read_tables(edges, nodes, text=["title", "abstract"], features=["year"])
    assert joined.texts is not None
    assert joined.texts.tolist()[0] == "C about c"
    assert joined.features.tolist() == [[2001], [2002], [3], [1]]


def test_another_label_column(tmp_path: Path) -> None:
    nodes = write(tmp_path, "n.csv", "id,kind,size\na,3,1\nb,,2\n")
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\na,b\n"), nodes, label="kind")
    assert graph.labels is not None
    assert graph.labels.tolist() == [3, -1]
    assert graph.features.tolist() == [[1], [2]]


def test_long_texts_with_line_breaks(tmp_path: Path) -> None:
    long = 'word, "quoted"\n' * 700_000  # more than one block of the parser
    quoted = long.replace('"', '""')
    nodes = write(tmp_path, "n.csv", f'id,abstract\na,"{quoted}"\nb,short\n')
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\na,b\n"), nodes, text="abstract")
    assert graph.texts is not None
    assert graph.texts.tolist() == [long, "short"]


@pytest.mark.parametrize("fixed", [True, False])
def test_a_list_column_is_a_block_of_features(tmp_path: Path, fixed: bool) -> None:
    kind = pa.list_(pa.float32(), 2) if fixed else pa.list_(pa.float64())
    nodes = pa.table({"id": [1, 2], "embedding": pa.array([[1, 2], [3, 4]], kind), "size": [5, 6]})
    pq.write_table(nodes, tmp_path / "n.parquet")
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\n1,2\n"), tmp_path / "n.parquet")
    assert graph.features.tolist() == [[1, 2, 5], [3, 4, 6]]
    assert graph.features.flags.c_contiguous


@pytest.mark.parametrize(
    ("node_ids", "expected"),
    [([2, 1], [2, 1]), (["2", "1"], ["2", "1"]), ([2.0, 1.0], [2, 1])],
)
def test_edge_ids_and_node_ids_of_different_types_meet_as_text(node_ids: list[Any], expected: list[Any]) -> None:
    for edges in ({"src": [1], "dst": [2]}, {"src": ["1"], "dst": ["2"]}):
        graph = read_tables(pa.table(edges), pa.table({"id": node_ids}))
        assert graph.node_ids.tolist() == expected
        assert graph.num_edges == 1


def test_ids_in_the_index_of_a_data_frame() -> None:
    edges = pd.DataFrame({"src": ["a", "b"], "dst": ["b", "c"]})
    nodes = pd.DataFrame({"id": ["c", "a", "b"], "size": [3.0, 1.0, 2.0]})
    for table, options in (
        (nodes.set_index("id"), {}),
        (nodes.rename(columns={"id": "paper"}).set_index("paper"), {}),
        (nodes.rename(columns={"id": "paper"}).set_index("paper"), {"id": "paper"}),
        (nodes.set_index(pd.Index([2020, 2021, 2022], name="year")), {}),  # not a feature either
        (nodes.assign(name=nodes.id).set_index("id"), {"id": "name"}),
    ):
        graph = load_graph(edges, node_table=table, **options)
        assert graph.node_ids.tolist() == ["c", "a", "b"]
        assert graph.features.tolist() == [[3], [1], [2]]
    assert load_graph(edges, node_table=nodes.set_index("id")[[]]).node_ids.tolist() == ["c", "a", "b"]
    with pytest.raises(InputError, match="no column 'id'; found the columns size"):
        load_graph(edges, node_table=nodes[["size"]])
    with pytest.raises(InputError, match="row 2: no node id in column 'id'"):
        load_graph(edges, node_table=nodes.assign(id=["c", None, "b"]).set_index("id"))


@pytest.mark.parametrize("column", [pd.Series(["a", "b"], name="id"), pa.chunked_array([["a", "b"]])])
def test_a_single_column_is_no_table(column: Any) -> None:
    edges = pd.DataFrame({"src": ["a"], "dst": ["b"]})
    with pytest.raises(InputError, match=r"the node table is a (Series|ChunkedArray), a single column; expected a ta"):
        load_graph(edges, node_table=column)
    with pytest.raises(InputError, match=r"the edge table is a .*, a single column"):
        load_graph(column)


def test_pandas_with_mixed_ids_nulls_and_list_features() -> None:
    edges = pd.DataFrame({"src": [1, "x"], "dst": ["x", "y"], "odd": [{1}, None]})
    nodes = pd.DataFrame({"id": ["x", 1, "y"], "vector": [np.ones(2)] * 3, "note": ["n", None, float("nan")]})
    graph = read_tables(edges, nodes)
    assert graph.node_ids.tolist() == ["x", "1", "y"]
    assert graph.features.tolist() == [[1, 1]] * 3
    texts = read_tables(edges, nodes, text="note").texts
    assert texts is not None
    assert texts.tolist() == ["n", "", ""]


def test_every_kind_of_messy_graph_loads(tmp_path: Path) -> None:
    # a self-loop, an edge twice and in both directions, two components
    graph = read_tables(write(tmp_path, "e.csv", "src,dst\na,a\na,b\na,b\nb,a\nc,d\n"))
    assert edges_of(graph) == {frozenset({"a", "b"}), frozenset({"c", "d"})}
    assert graph.num_edges == 2
