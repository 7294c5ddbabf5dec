"""Bad tables: the message names the file, the line and the remedy, in at most two lines."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanne.errors import InputError
from sanne.graph.readers.tables import read_tables

GOOD_EDGES = "src,dst\na,b\n"
GOOD_NODES = "id,size\na,1\nb,2\n"


def failure(folder: Path, edges: str | bytes, nodes: str | bytes | None = None, **options: object) -> str:
    """The message for a pair of CSV files."""
    for name, content in (("edges.csv", edges), ("nodes.csv", nodes)):
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_tables(folder / "edges.csv", None if nodes is None else folder / "nodes.csv", **options)
    message = str(caught.value).replace(f"{folder}/", "")
    assert len(message.splitlines()) <= 2
    return message


@pytest.mark.parametrize(
    ("edges", "parts"),
    [
        ("", ["edges.csv: the file is empty"]),
        ("\n\n", ["edges.csv: the file is empty"]),
        ("src,dst\n", ["edges.csv: it has no edges"]),
        ("one,other\na,b\n", ["expected the columns src,dst", "found the columns one, other", "--src"]),
        ("1,2\n2,3\n", ["expected the columns src,dst", "add a header line"]),
        ("src,dst,dst\na,b,c\n", ["line 1: two columns are called 'dst'"]),
        ("src,dst\na,b\na,b,c\nb,c\n", ["edges.csv, line 3: 3 fields, but the header has 2"]),
        ("src,dst\na,b\n\n\nb\n", ["edges.csv, line 5: 1 fields"]),
        ('src,dst\n"a\nx",b\nb\n', ["edges.csv, line 4: 1 fields"]),
        ('src,dst\na,b\nc,"d\ne,f\n', ["edges.csv, line 3: a quotation mark opens here and is never closed"]),
        (b"src,dst\na,b\nb,\xe9t\xe9\n", ["edges.csv, line 3: byte 0xe9 is not UTF-8", "save the file as UTF-8"]),
        (b"src,dst\xe9\na,b\n", ["edges.csv, line 1: byte 0xe9"]),
        ("src,dst\na,b\n,c\n", ["edges.csv, line 3: no node id in column 'src'"]),
        ('src,dst\na,b\nc," "\n', ["edges.csv, line 3: no node id in column 'dst'"]),
        ("src,dst,weight\na,b,1\nb,c,heavy\n", ["line 3: weight 'heavy' in column 'weight' is not a number"]),
        ("src,dst,weight\na,b,1\nb,c,\n", ["line 3: no weight"]),
        ("src,dst,weight\na,b,0\nb,c,-1\n", ["line 2: weight 0", "and 1 more rows"]),
        ("src,dst,weight\na,b,1\n\nb,c,inf\n", ["line 4: weight inf"]),
        ("src,dst,weight\na,b,1e300\n", ["line 2: weight 1e+300"]),
    ],
)
def test_bad_edge_files(tmp_path: Path, edges: str | bytes, parts: list[str]) -> None:
    message = failure(tmp_path, edges)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("nodes", "parts"),
    [
        ("name,size\na,1\nb,2\n", ["no column 'id'", "found the columns name, size"]),
        ("id,size\n", ["nodes.csv: it has no nodes"]),
        ("id,size\na,1\nb,2\na,3\n", ["nodes.csv, line 4: id 'a' already occurs in line 2"]),
        ("id,size\na,1\n,2\nb,3\n", ["nodes.csv, line 3: no node id"]),
        ("id,size,age\na,1,1\nb,2,NaN\n", ["nodes.csv, line 3: node 'b' has no number", "column 'age'"]),
        ("id,size\na,1\nb,\n", ["nodes.csv, line 3: node 'b' has no number (empty or NaN) in column 'size'"]),
        ("id,size\na,inf\nb,2\n", ["nodes.csv, line 2: node 'a' has the value inf in column 'size'"]),
        ("id,size\na,1e200\nb,2\n", ["node 'a' has the value 1e+200"]),
        (
            "id,size\nx,1\na,1\n",
            ["edges.csv, line 2: node 'b' has no row in nodes.csv", "add a row for it to the node table"],
        ),
    ],
)
def test_bad_node_files(tmp_path: Path, nodes: str, parts: list[str]) -> None:
    message = failure(tmp_path, GOOD_EDGES, nodes)
    for part in parts:
        assert part in message


def test_the_first_edge_without_a_node_is_named_and_the_others_counted(tmp_path: Path) -> None:
    message = failure(tmp_path, "src,dst\na,b\nb,q\np,a\nr,p\n", GOOD_NODES)
    assert "edges.csv, line 3: node 'q' has no row in nodes.csv (nor have 2 more ids)" in message


def test_leading_zeros_do_not_match_an_integer(tmp_path: Path) -> None:
    message = failure(tmp_path, "src,dst\n007,8\n", "id,size\n7,1\n8,2\n")
    assert "node '007' has no row" in message


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"text": "abstrct"}, ["no text column 'abstrct'", "did you mean 'abstract'?", "id, abstract, word, label"]),
        ({"label": "kind"}, ["no label column 'kind'"]),
        ({"features": ["size"]}, ["no feature column 'size'"]),
        ({"features": ["label"]}, ["column 'label' is the label"]),
        ({"features": ["word"]}, ["nodes.csv, line 3: value 'two' in column 'word' is not a number"]),
        ({"weight": "w"}, ["edges.csv: no weight column 'w'"]),
        ({"weight": True}, ["edges.csv: no column 'weight'"]),
    ],
)
def test_unknown_or_unfit_columns(tmp_path: Path, options: dict[str, object], parts: list[str]) -> None:
    nodes = "id,abstract,word,label\na,x,1,l\nb,y,two,l\n"
    message = failure(tmp_path, GOOD_EDGES, nodes, **options)
    for part in parts:
        assert part in message


def test_columns_without_a_node_table(tmp_path: Path) -> None:
    assert "give node_table=" in failure(tmp_path, GOOD_EDGES, text="abstract")


def test_missing_files_and_odd_endings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.csv: no such file"):
        read_tables(tmp_path / "gone.csv")
    with pytest.raises(InputError, match=r"gone\.parquet: no such file"):
        read_tables(tmp_path / "gone.parquet")
    with pytest.raises(InputError, match="unknown table format"):
        read_tables(tmp_path / "edges.ods")
    (tmp_path / "text.parquet").write_text("src,dst\n")
    with pytest.raises(InputError, match=r"text\.parquet: not a Parquet file"):
        read_tables(tmp_path / "text.parquet")


def test_parquet_and_data_frames_name_the_row(tmp_path: Path) -> None:
    edges = pa.table({"src": ["a", "b"], "dst": ["b", None]})
    pq.write_table(edges, tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=r"edges\.parquet, row 2: no node id in column 'dst'"):
        read_tables(tmp_path / "edges.parquet")
    nodes = pd.DataFrame({"id": ["a", "b"], "size": [1.0, float("nan")]})
    with pytest.raises(InputError, match=r"node table, row 2: node 'b' has no number"):
        read_tables(pd.DataFrame({"src": ["a"], "dst": ["b"]}), nodes)


def test_lists_of_different_length() -> None:
    edges = pa.table({"src": [1], "dst": [2]})
    with pytest.raises(InputError, match=r"row 2: node 2 has a list of 1 numbers .* where row 1 has 2"):
        read_tables(edges, pa.table({"id": [1, 2], "v": [[1.0, 2.0], [3.0]]}))
    with pytest.raises(InputError, match=r"row 2: node 2 has no list"):
        read_tables(edges, pa.table({"id": [1, 2], "v": [[1.0, 2.0], None]}))
    with pytest.raises(InputError, match=r"row 2: node 2 has no number"):
        read_tables(edges, pa.table({"id": [1, 2], "v": [[1.0, 2.0], [3.0, None]]}))


def test_a_column_that_is_no_text() -> None:
    nodes = pa.table({"id": [1, 2], "v": [[1.0], [2.0]]})
    with pytest.raises(InputError, match=r"node table: column 'v' .* does not hold text"):
        read_tables(pa.table({"src": [1], "dst": [2]}), nodes, text="v")


@pytest.mark.parametrize("ids", [[1.5, 2.0], [True, False]])
def test_ids_of_a_wrong_type(ids: list[object]) -> None:
    with pytest.raises(InputError, match="edge table: ids must be integers or text"):
        read_tables(pa.table({"src": ids, "dst": ids}))


@pytest.mark.parametrize("column", ["src", "id", "about", "label"])
@pytest.mark.parametrize("in_memory", [True, False])
def test_bytes_that_a_typed_table_calls_text(tmp_path: Path, column: str, in_memory: bool) -> None:
    columns = {"src": ["a", "b"], "dst": ["b", "a"], "id": ["a", "b"], "about": ["x", "y"], "label": ["p", "q"]}
    arrays = {name: pa.array(values) for name, values in columns.items()}
    arrays[column] = pa.array([b"a", b"\xff\xfe"], pa.binary()).view(pa.string())
    edges, nodes = (
        pa.table({name: arrays[name] for name in names}) for names in (("src", "dst"), ("id", "about", "label"))
    )
    sources: list[pa.Table | Path] = [edges, nodes]
    if not in_memory:
        sources = [tmp_path / "edges.parquet", tmp_path / "nodes.parquet"]
        pq.write_table(edges, sources[0])
        pq.write_table(nodes, sources[1])
    with pytest.raises(InputError, match=f"damaged .*column '{column}': .*UTF8"):
        read_tables(*sources, text="about")
