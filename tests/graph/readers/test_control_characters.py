"""Ids with line breaks and other control characters are refused by every reader, with the place where they are."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanne.errors import InputError, UnknownNodeError
from sanne.graph.folder.build import build_graph
from sanne.graph.graph import Graph
from sanne.graph.ids import control_character
from sanne.graph.load import load_graph
from sanne.graph.readers.tables import read_label_table
from sanne.source import read_node_list

BAD = ["line\nbreak", "cr\rhere", "tab\there", "zero\x00byte", "escape\x1b[31m", "del\x7fete", "next\x85line"]


def csv_file(path: Path, *columns: tuple[str, list[str]]) -> Path:
    rows = zip(*(values for _, values in columns), strict=True)
    lines = [",".join(name for name, _ in columns), *(",".join(f'"{value}"' for value in row) for row in rows)]
    path.write_bytes("\n".join(lines).encode() + b"\n")
    return path


def edge_csv(folder: Path, bad: str) -> Any:
    return load_graph(csv_file(folder / "e.csv", ("src", ["a", "b"]), ("dst", ["b", bad])))


def node_csv(folder: Path, bad: str) -> Any:
    edges = csv_file(folder / "e.csv", ("src", ["a"]), ("dst", ["b"]))
    return load_graph(edges, node_table=csv_file(folder / "n.csv", ("id", ["a", bad, "b"])))


def built_edges(folder: Path, bad: str) -> Any:
    return build_graph(csv_file(folder / "e.csv", ("src", ["a", "b"]), ("dst", ["b", bad])), folder / "g")


def built_nodes(folder: Path, bad: str) -> Any:
    edges = csv_file(folder / "e.csv", ("src", ["a"]), ("dst", ["b"]))
    nodes = csv_file(folder / "n.csv", ("id", ["a", bad, "b"]), ("size", ["1", "2", "3"]))
    return build_graph(edges, folder / "g", node_table=nodes)


def parquet(folder: Path, bad: str) -> Any:
    pq.write_table(pa.table({"src": ["a", "b"], "dst": ["b", bad]}), folder / "e.parquet")
    return load_graph(folder / "e.parquet")


def built_parquet(folder: Path, bad: str) -> Any:
    pq.write_table(pa.table({"src": ["a", "b"], "dst": ["b", bad]}), folder / "e.parquet")
    return build_graph(folder / "e.parquet", folder / "g")


def label_table(folder: Path, bad: str) -> Any:
    path = csv_file(folder / "l.csv", ("id", ["a", bad]), ("label", ["x", "y"]))
    return read_label_table(path, np.array(["a", "b"], object))


def node_list(folder: Path, bad: str) -> Any:
    pq.write_table(pa.table({"id": ["a", bad]}), folder / "n.parquet")
    return read_node_list(folder / "n.parquet")


DOORS: dict[str, tuple[Callable[[Path, str], Any], str]] = {
    "csv": (edge_csv, r"e\.csv, line 3: "),
    "node csv": (node_csv, r"n\.csv, line 3: "),
    "built edges": (built_edges, r"e\.csv, line 3: "),
    "built nodes": (built_nodes, r"n\.csv, line 3: "),
    "parquet": (parquet, r"e\.parquet, row 2: "),
    "built parquet": (built_parquet, r"e\.parquet, row 2: "),
    "label table": (label_table, r"l\.csv, line 3: "),
    "node list": (node_list, r"n\.parquet, row 2: "),
    "frame": (lambda _, bad: load_graph(pd.DataFrame({"src": ["a", "b"], "dst": ["b", bad]})), "row 2: "),
    "networkx": (lambda _, bad: load_graph(nx.Graph([("a", "b"), ("b", bad)])), "node 3 of 3: "),
    "array": (lambda _, bad: load_graph(np.array([["a", "b"], ["b", bad]], object)), "pair 2: "),
    "graph": (lambda _, bad: Graph.from_edges([0], [1], node_ids=["a", bad]), "node 2 of 2: "),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_a_control_character_is_refused_with_its_place(door: str, bad: str, tmp_path: Path) -> None:
    read, place = DOORS[door]
    code = f"U+{ord(control_character(bad) or ''):04X}"
    with pytest.raises(InputError, match=rf"{place}node id .* has the control character {code.replace('+', '[+]')}"):
        read(tmp_path, bad)
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize("bad", ["tab\there", "zero\x00byte", "next\x85line"])
def test_edge_lists_and_node_lists_name_the_line(bad: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(f"# comment\na b\nb {bad}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"e\.txt, line 3: "):
        load_graph(tmp_path / "e.txt")
    (tmp_path / "n.txt").write_text(f"a\n\n{bad}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"n\.txt, line 3: node id"):
        read_node_list(tmp_path / "n.txt")


def test_half_of_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"row 2: 'b\\ud800'"):
        load_graph(pd.DataFrame({"src": ["a", "b\ud800"], "dst": ["b", "a"]}, dtype=object))
    for source in (nx.Graph([("a", "b\ud800")]), np.array([["a", "b\ud800"]], object)):
        with pytest.raises(InputError, match=r"node id 'b\\ud800'"):
            load_graph(source)


def test_ids_asked_for_that_no_graph_can_have_are_named() -> None:
    graph = Graph.from_edges([0], [1], node_ids=["a", "b"])
    for bad in ("b\n", "b\ud800"):
        with pytest.raises(UnknownNodeError, match=r"'b\\"):
            graph.nodes_of([bad])


def test_other_odd_letters_are_read() -> None:
    fine = ["é", "日本", "😀", "\u200b", "\u202e", "\u2028", "\xa0x", "\xadx", "a b"]
    assert [control_character(text) for text in fine] == [None] * len(fine)
    graph = load_graph(nx.Graph([("a", text) for text in fine]))
    assert graph.node_ids.tolist() == ["a", *fine]
    data = SimpleNamespace(edge_index=np.array([[0], [1]]), num_nodes=2)  # PyG has integers only
    assert load_graph(data).node_ids.tolist() == [0, 1]


def test_a_node_list_keeps_lines_whole(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_bytes("\ufeffa\u2028b\r\n c \n".encode())
    assert read_node_list(tmp_path / "n.txt") == ["a\u2028b", "c"]
