"""A folder built within bounded memory is the graph that the in-memory reader gives, and so are the errors."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planted import assert_same_graph
from sanne.errors import InputError, MissingExtraError
from sanne.graph.folder.build import build_graph, parse_size
from sanne.graph.folder.numbering import DatabaseIds
from sanne.graph.folder.store import open_graph
from sanne.graph.load import load_graph

IDS: dict[str, list[Any]] = {
    "counting": [0, 1, 2, 3, 4, 5, 6],
    "close": [-3, 7, 8, 20, 21, 40, 41],
    "scattered": [0, 2**40, -(2**50), 17, 2**62, 9, 3],
    "text": ["b", "Ä", "z z", "a", "10", "9", "B"],
    "padded numbers": ["007", "7", "8", "9", "10", "11", "12"],
}


def small_blocks(patch: pytest.MonkeyPatch) -> None:
    """Make the limits so small that a few edges need many blocks and parts."""
    patch.setattr("sanne.graph.folder.build._ROWS_AT_ONCE", 3)
    patch.setattr("sanne.graph.folder.arcs._BYTES_PER_ARC", 2**29)
    patch.setattr("sanne.graph.folder.arcs._ARCS_AT_ONCE", 4)
    patch.setattr("sanne.graph.folder.numbering._IDS_AT_ONCE", 2)
    patch.setattr("sanne.graph.folder.build._ROWS_AT_ONCE", 2)


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.parametrize("ids", ["counting", "text"])
def test_how_often_a_file_is_opened_does_not_depend_on_its_columns(
    ids: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    for owner, name in ((pyarrow.csv, "open_csv"), (pyarrow.csv, "read_csv"), (Path, "open")):
        original = getattr(owner, name)

        def counted(path: Any, *args: Any, _original: Any = original, **options: Any) -> Any:
            opened.append(path)
            return _original(path, *args, **options)

        monkeypatch.setattr(owner, name, counted)
    edges = write(pa.table({"src": IDS[ids], "dst": IDS[ids][::-1]}), tmp_path / "edges.csv")
    times = []
    for width in (1, 60):
        columns = {f"feature {number}": [0.5] * len(IDS[ids]) for number in range(width)}
        nodes = write(pa.table({"id": IDS[ids], **columns}), tmp_path / f"nodes {width}.csv")
        graph = build_graph(edges, tmp_path / f"{width}.graph", node_table=nodes)
        assert graph.features is not None
        assert graph.features.shape == (len(IDS[ids]), width)
        times.append(opened.count(nodes))
    assert times[0] == times[1] <= 20


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_folder_is_the_graph_that_the_reader_gives(data: st.DataObject) -> None:
    ids = IDS[data.draw(st.sampled_from(sorted(IDS)))]
    edges = data.draw(st.lists(st.tuples(*(st.sampled_from(range(len(ids))) for _ in range(2))), min_size=1))
    ending = data.draw(st.sampled_from([".csv", ".parquet"]))
    directed, weighted, with_nodes = (data.draw(st.booleans()) for _ in range(3))
    columns: dict[str, Any] = {"src": [ids[a] for a, _ in edges], "dst": [ids[b] for _, b in edges]}
    if weighted:
        columns["weight"] = data.draw(
            st.lists(st.sampled_from([0.25, 1.0, 3.5]), min_size=len(edges), max_size=len(edges))
        )
    order = data.draw(st.permutations(range(len(ids))))
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        small_blocks(patch)
        folder = Path(place)
        options: dict[str, Any] = {"directed": directed}
        table = pa.table(columns)
        whole = write(table, folder / f"edges{ending}")
        cut = data.draw(st.integers(0, len(edges) - 1)) if ending == ".parquet" else 0
        parts = [write(table.slice(0, cut), folder / "1.parquet"), write(table.slice(cut), folder / "2.parquet")]
        if with_nodes:
            rows = pa.table({
                "id": [ids[i] for i in order],
                "size": [i if i < 4 else i + 0.5 for i in range(len(ids))],
                "vector": [[float(i), 1.0] for i in range(len(ids))],
                "note": [None if i == 1 else f"note {i}" for i in range(len(ids))],
                "label": ["x", "y", "", "x", "z", "y", "x"],
            })  # fmt: skip
            rows = rows.drop(["vector"]) if ending == ".csv" else rows
            options["node_table"] = write(rows, folder / f"nodes{ending}")
            if data.draw(st.booleans()):
                options["text"] = ["note", "label"]
        expected = load_graph(whole, **options)
        built = build_graph(parts if cut else [whole], folder / "g", **options)
        assert_same_graph(built, expected)
        assert built.ids_count_up == expected.ids_count_up
        assert_same_graph(open_graph(folder / "g", verify=True), expected)
        assert {path.name for path in folder.iterdir() if path.name.startswith(".")} == set()


def test_labels_and_features_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    (tmp_path / "edges.csv").write_text("source,target\n 3,1\n1,2\n")
    (tmp_path / "nodes.csv").write_text("id,size,on,note,class\n1,1,true,x,4\n2,2.5,false,,\n3,3,true,5,-7\n")
    for options in ({"label": "class"}, {"features": ["size", "on"]}, {"features": ["size"], "text": "note"}):
        options = {"node_table": tmp_path / "nodes.csv"} | options
        built = build_graph(tmp_path / "edges.csv", tmp_path / "g", **options)  # type: ignore[arg-type]
        assert_same_graph(built, load_graph(tmp_path / "edges.csv", **options))  # type: ignore[arg-type]
    for label in ([1.0, None, 3.0], [True, False, None], pa.array(["a", "b", "a"]).dictionary_encode()):
        pq.write_table(pa.table({"id": [1, 2, 3], "label": label}), tmp_path / "nodes.parquet")
        built = build_graph(tmp_path / "edges.csv", tmp_path / "g", node_table=tmp_path / "nodes.parquet")
        assert_same_graph(built, load_graph(tmp_path / "edges.csv", node_table=tmp_path / "nodes.parquet"))


def test_integers_and_their_texts_are_the_same_node(tmp_path: Path) -> None:
    """Edges that name integers as text find them, and the ids keep the node table's type."""
    edges = write(pa.table({"src": ["3", "1"], "dst": ["1", "2"]}), tmp_path / "edges.parquet")
    for ids in ([3, 1, 2], ["3", "1", "2"]):
        nodes = write(pa.table({"id": ids, "size": [1, 2, 3]}), tmp_path / "nodes.parquet")
        built = build_graph(edges, tmp_path / "g", node_table=nodes)
        assert_same_graph(built, load_graph(edges, node_table=nodes))


def test_named_columns_kinds_and_unknown_nodes_are_those_of_load_graph(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b,how\n1,2,x\n2,3,y\n3,4,x\n1,9,x\n", encoding="utf-8")
    (tmp_path / "n.csv").write_text("key,size\n1,0.5\n2,1\n3,2\n4,3\n", encoding="utf-8")
    options: dict[str, Any] = {"src": "a", "dst": "b", "id": "key", "kind": "how", "kind_weights": {"y": 3}}
    for more in ({}, {"kind_weights": {"Y": 0}}):
        wanted = options | more | {"unknown": "drop", "node_table": tmp_path / "n.csv"}
        built = build_graph(tmp_path / "e.csv", tmp_path / "folder", **wanted)
        read = load_graph(tmp_path / "e.csv", **wanted)
        assert built.indices.tolist() == read.indices.tolist()
        assert (built.weights is None) == (read.weights is None) == bool(more)
        if not more:
            assert np.array_equal(built.weights, read.weights)
        assert built.num_edges == (2 if more else 3)


BAD: list[tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any], str]] = [
    ({"one": [1], "other": [2]}, None, {}, r"expected the columns src,dst.*found the columns one, other"),
    ({"src": [1, None], "dst": [2, 3]}, None, {}, r"(row 2|line 3): no node id in column 'src'"),
    ({"src": ["a", "b"], "dst": ["b", " "]}, None, {}, r"(row 2|line 3): no node id in column 'dst'"),
    ({"src": [1], "dst": [2], "weight": [0.0]}, None, {}, r"(row 1|line 2): weight 0 .*positive"),
    ({"src": [1, 1], "dst": [2, 3], "weight": [1.0, None]}, None, {}, r"(row 2|line 3): no weight"),
    ({"src": [1], "dst": [2]}, None, {"weight": "w"}, r"no weight column 'w'"),
    ({"src": [1], "dst": [2]}, None, {"text": "note"}, r"give node_table="),
    ({"src": [1], "dst": [2]}, None, {"src": "s"}, r"no edge column 's'"),
    (
        {"src": [1], "dst": [2], "k": ["x"]},
        None,
        {"kind": "k", "kind_weights": {"y": 2}},
        r"no edge has the type 'y'",
    ),
    (
        {"src": [1], "dst": [2], "k": ["x"]},
        None,
        {"kind": "k", "kind_weights": "auto"},
        r"weights of edge types as numbers",
    ),
    ({"src": [1], "dst": [2]}, None, {"unknown": "drop"}, r"give a node table"),
    ({"src": [1], "dst": [2]}, {"id": [1, 3], "x": [1, 2]}, {}, r"node 2 has no row in .*nodes"),
    ({"src": ["a"], "dst": ["q"]}, {"id": ["a", "b"], "x": [1, 2]}, {}, r"node 'q' has no row in .*nodes"),
    ({"src": ["a"], "dst": ["b"]}, {"id": ["a", "b", "a"], "x": [1, 2, 3]}, {}, r"id 'a' occurs more than once"),
    ({"src": [1], "dst": [2]}, {"id": [1, 2, 1], "x": [1, 2, 3]}, {}, r"id 1 occurs more than once"),
    ({"src": [1], "dst": [2]}, {"id": [1, 2], "x": [1.0, None]}, {}, r"(row 2|line 3): node '?2'? has no number"),
    ({"src": [1], "dst": [2]}, {"node": [1, 2]}, {}, r"no column 'id'"),
    ({"src": [1], "dst": [2]}, {"id": [1, 2]}, {"text": "note"}, r"no text column 'note'"),
    ({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())}, None, {}, r"it has no edges"),
]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(("edges", "nodes", "options", "message"), BAD, ids=[row[3] for row in BAD])
def test_bad_input_is_named_and_leaves_nothing(
    tmp_path: Path, ending: str, edges: Any, nodes: Any, options: dict[str, Any], message: str
) -> None:
    path = write(pa.table(edges), tmp_path / f"edges{ending}")
    if nodes is not None:
        options = options | {"node_table": write(pa.table(nodes), tmp_path / f"nodes{ending}")}
    before = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=message):
        build_graph(path, tmp_path / "g", **options)
    assert set(tmp_path.iterdir()) == before


def test_a_column_of_numbers_that_turns_into_text_far_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.graph.readers.delimited.STREAM_BLOCK", 4096)
    (tmp_path / "edges.csv").write_text("src,dst\n0,1\n")
    rows = "".join(f"{i},{i}\n" for i in range(2000))
    (tmp_path / "nodes.csv").write_text(f"id,size\n{rows}2000,large\n")
    with pytest.raises(InputError, match=r"nodes\.csv, line 2002: value 'large' in column 'size' is not a number"):
        build_graph(tmp_path / "edges.csv", tmp_path / "g", node_table=tmp_path / "nodes.csv")


def test_files_must_agree_on_weights(tmp_path: Path) -> None:
    one = write(pa.table({"src": [1], "dst": [2]}), tmp_path / "1.parquet")
    two = write(pa.table({"src": [1], "dst": [2], "weight": [1.0]}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet has weights and .*1\.parquet has none"):
        build_graph([one, two], tmp_path / "g")
    assert build_graph([one, two], tmp_path / "g", weight=False).num_edges == 1


def test_without_duckdb_close_integers_work_and_text_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    build_graph(write(pa.table({"src": [5], "dst": [9]}), tmp_path / "e.parquet"), tmp_path / "g")
    with pytest.raises(MissingExtraError, match=r"sanne\[scale\]"):
        build_graph(write(pa.table({"src": ["a"], "dst": ["b"]}), tmp_path / "t.parquet"), tmp_path / "g")
    assert open_graph(tmp_path / "g").node_ids.tolist() == [5, 9]


def test_memory_is_an_amount() -> None:
    assert [parse_size(text) for text in ("4GB", "1.5 GiB", "2048mib", "2000000000")] == [
        4 * 10**9,
        3 * 2**29,
        2**31,
        2 * 10**9,
    ]
    for text in ("much", "4 apples", "-1GB"):
        with pytest.raises(InputError, match="write it as 4GB"):
            parse_size(text)
    with pytest.raises(InputError, match="at least 1 GiB"):
        parse_size("1000")


def test_memory_does_not_grow_with_the_edges(tmp_path: Path) -> None:
    """6 million edges (290 MB at 48 bytes an arc in the reader) are built with little above the libraries."""
    count = 6_000_000
    with pq.ParquetWriter(tmp_path / "e.parquet", pa.schema([("src", pa.int64()), ("dst", pa.int64())])) as file:
        for number in range(6):
            ends = np.random.default_rng(number).integers(0, 100_000, (2, count // 6))
            file.write_table(pa.table({"src": ends[0], "dst": ends[1]}))
    code = """
import resource, sys
from sanne.graph.folder import arcs
from sanne.graph.folder import build
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
arcs._BYTES_PER_ARC *= 64
build._ROWS_AT_ONCE = arcs._ARCS_AT_ONCE = 100_000
graph = build.build_graph(sys.argv[1], sys.argv[2])
print(graph.num_edges, peak() - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "e.parquet", tmp_path / "g"], capture_output=True, text=True, check=True
    )
    edges, grown = run.stdout.split()
    assert int(edges) > 5_900_000
    assert float(grown) < 150


def test_a_database_of_ids_forgets_none(tmp_path: Path) -> None:
    columns = (pa.chunked_array([[f"n{i}" for i in range(first, first + 700)]]) for first in (0, 500, 100))
    ids = DatabaseIds(columns, 2**30, tmp_path, pa.string(), in_order=False)
    expected = sorted(f"n{i}" for i in range(1200))
    assert [item for part in ids.ids() for item in part.to_pylist()] == expected
    assert ids.codes(pa.chunked_array([["n0", "nowhere", "n999", "n0"]])).tolist() == [0, -1, 1199, 0]
    ids.close()


def test_a_directed_graph_walked_both_ways_is_the_undirected_one(tmp_path: Path) -> None:
    """So a directed graph without weights that must stay on disk can be built undirected, as the docs say."""
    ends = np.random.default_rng(0).integers(0, 50, (2, 400))
    edges = write(pa.table({"src": ends[0], "dst": ends[1]}), tmp_path / "e.parquet")
    both = build_graph(edges, tmp_path / "d", directed=True).adjacency("both")
    undirected = build_graph(edges, tmp_path / "u").adjacency()
    np.testing.assert_array_equal(both.indptr, undirected.indptr)
    np.testing.assert_array_equal(both.indices, undirected.indices)
