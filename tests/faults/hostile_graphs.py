"""Graphs as nobody would wish for them, and the ways to hand each over: files, tables, networkx, PyG, scipy, arrays."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from hypothesis import strategies as st

from sanne.graph.folder.build import build_graph
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph

ODD_IDS = [
    *("", " ", " a ", "a", "A", "007", "7", "-1", "1.0", "1e3", "nan", "None", "NULL", "true", "#", "//"),
    *("x,y", 'q"uote', "'", '""', "tab\there", "line\nbreak", "cr\rhere", "crlf\r\nhere", "\x00", "\x7f", "\\", "\\n"),
    *("\ufeffbom", "é", "e\u0301", "日本", "😀", "\u200b", "\u202e", "a" * 2000, "../..", "=1+1", "{}", "%s"),
    *(str(2**63), str(-(2**63)), str(10**30), "9" * 400),
]
NAN, INF = float("nan"), float("inf")
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e-300, 1e30, -1e38, 3e38, 1e39, 1e308, NAN, INF, -INF]
WEIGHTS = [1.0, 1e-45, 1e-20, 1e30, 3e38, 0.0, -1.0, NAN]
WORDS = ["", " ", "one", "two words", "\x00", "a" * 500]


@dataclass(frozen=True)
class Described:
    """A graph before any reader has seen it."""

    ids: list[Any]
    edges: list[tuple[int, int]]
    weights: list[float] | None
    features: list[list[float]] | None
    texts: list[str] | None


def texts_of(size: int) -> Any:
    return st.lists(st.sampled_from(WORDS) | st.text(), min_size=size, max_size=size)


def odd_ids() -> Any:
    letters = st.text(st.characters(codec="utf-8"), max_size=4)
    return st.sampled_from(ODD_IDS) | st.integers(-(10**30), 10**30) | letters


@st.composite
def described(draw: Any, *, tame: bool = False) -> Described:
    """Up to nine nodes: odd ids, loops, repeats, isolated nodes, features and weights of any size.

    With `tame` ids and numbers are harmless, so that more graphs get as far as a fit.
    """
    size = draw(st.integers(2 if tame else 0, 9))
    odd = st.sampled_from([f"n{i}" for i in range(30)]) if tame else odd_ids()
    ids = draw(st.lists(odd, min_size=size, max_size=size, unique_by=str))
    node = st.integers(0, max(size - 1, 0))
    edges = draw(st.lists(st.tuples(node, node), min_size=2 if tame else 0, max_size=20)) if size else []
    number = st.floats(-10, 10, width=32) if tame else st.one_of(st.sampled_from(NUMBERS), st.floats(width=32))
    weight = st.floats(0.25, 4, width=32) if tame else st.sampled_from(WEIGHTS)
    weights = draw(st.none() | st.lists(weight, min_size=len(edges), max_size=len(edges)))
    width = draw(st.integers(1, 3))
    row = st.lists(number, min_size=width, max_size=width)
    features = draw(st.none() | st.lists(row, min_size=size, max_size=size) | row.map(lambda r: [r] * size))
    texts = draw(st.none() | texts_of(size)) if features is None else None
    return Described(ids, edges, weights, features, texts)


# ways to hand it over


def _written(rows: list[list[Any]], mark: str, end: str, bom: bool) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    return (b"\xef\xbb\xbf" if bom else b"") + out.getvalue().encode()


def _edge_rows(graph: Described) -> list[list[Any]]:
    head = ["src", "dst", *(["weight"] if graph.weights is not None else [])]
    extra = [[weight] for weight in graph.weights] if graph.weights is not None else [[]] * len(graph.edges)
    rows = [[graph.ids[a], graph.ids[b], *more] for (a, b), more in zip(graph.edges, extra, strict=True)]
    return [head, *rows]


def _node_rows(graph: Described) -> list[list[Any]]:
    width = len(graph.features[0]) if graph.features else 0
    head = ["id", *(f"f{i}" for i in range(width)), *(["words"] if graph.texts is not None else [])]
    rows = []
    for i, name in enumerate(graph.ids):
        numbers = graph.features[i] if graph.features else []
        rows.append([name, *numbers, *([graph.texts[i]] if graph.texts is not None else [])])
    return [head, *rows]


def _options(graph: Described) -> dict[str, Any]:
    return {} if graph.texts is None else {"text": "words"}


def as_delimited(mark: str, ending: str, end: str, bom: bool) -> Callable[[Described, Path], Graph]:
    def load(graph: Described, folder: Path) -> Graph:
        (folder / f"edges.{ending}").write_bytes(_written(_edge_rows(graph), mark, end, bom))
        (folder / f"nodes.{ending}").write_bytes(_written(_node_rows(graph), mark, end, bom))
        return load_graph(folder / f"edges.{ending}", node_table=folder / f"nodes.{ending}", **_options(graph))

    return load


def _frames(graph: Described) -> tuple[pd.DataFrame, pd.DataFrame]:
    frames = []
    for head, *rows in (_edge_rows(graph), _node_rows(graph)):
        frames.append(pd.DataFrame({name: pd.Series([row[i] for row in rows]) for i, name in enumerate(head)}))
    return frames[0], frames[1]


def as_frames(graph: Described, folder: Path) -> Graph:
    edges, nodes = _frames(graph)
    return load_graph(edges, node_table=nodes, **_options(graph))


def as_parquet(graph: Described, folder: Path) -> Graph:
    for stem, (head, *rows) in (("edges", _edge_rows(graph)), ("nodes", _node_rows(graph))):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(head)}
        for key in {"id", "src", "dst"} & set(head):
            columns[key] = [str(value) for value in columns[key]]
        pq.write_table(pa.table(columns), folder / f"{stem}.parquet")
    return load_graph(folder / "edges.parquet", node_table=folder / "nodes.parquet", **_options(graph))


def as_built(graph: Described, folder: Path) -> Graph:
    for stem, rows in (("edges", _edge_rows(graph)), ("nodes", _node_rows(graph))):
        (folder / f"{stem}.csv").write_bytes(_written(rows, ",", "\n", False))
    return build_graph(folder / "edges.csv", folder / "g.graph", node_table=folder / "nodes.csv", **_options(graph))


def as_networkx(graph: Described, folder: Path) -> Graph:
    made = nx.MultiGraph()
    for i, name in enumerate(graph.ids):
        made.add_node(name, f=graph.features[i] if graph.features else None, t=graph.texts[i] if graph.texts else None)
    for number, (a, b) in enumerate(graph.edges):
        weight = {} if graph.weights is None else {"weight": graph.weights[number]}
        made.add_edge(graph.ids[a], graph.ids[b], **weight)
    return load_graph(made, features="f" if graph.features else None, text="t" if graph.texts else None)


def _ends(graph: Described) -> np.ndarray[Any, Any]:
    return np.array(graph.edges, np.int64).reshape(-1, 2)


def _matrix(graph: Described) -> Any:
    if graph.features is None:
        return None
    width = len(graph.features[0]) if graph.features else 1
    return np.array(graph.features, np.float64).reshape(len(graph.ids), width)


def as_scipy(graph: Described, folder: Path) -> Graph:
    ends, size = _ends(graph), len(graph.ids)
    values = np.ones(len(ends)) if graph.weights is None else np.array(graph.weights)
    matrix = sp.coo_matrix((values, (ends[:, 0], ends[:, 1])), shape=(size, size))
    features = None if graph.features is None else sp.csr_matrix(np.abs(_matrix(graph)))
    return load_graph(matrix, features=features, text=graph.texts)


def as_pyg(graph: Described, folder: Path) -> Graph:
    weights = None if graph.weights is None else np.array(graph.weights, np.float32)
    data = SimpleNamespace(edge_index=_ends(graph).T, num_nodes=len(graph.ids), x=_matrix(graph), edge_weight=weights)
    return load_graph(data, text=graph.texts)


def as_arrays(graph: Described, folder: Path) -> Graph:
    pairs = np.array([[graph.ids[a], graph.ids[b]] for a, b in graph.edges], object).reshape(-1, 2)
    return load_graph(pairs)


def as_edge_list(graph: Described, folder: Path) -> Graph:
    lines = [f"{graph.ids[a]} {graph.ids[b]}" for a, b in graph.edges]
    (folder / "e.txt").write_bytes("\n".join(lines).encode())
    return load_graph(folder / "e.txt")


WAYS: dict[str, Callable[[Described, Path], Graph]] = {
    "csv": as_delimited(",", "csv", "\n", False),
    "csv with CRLF and BOM": as_delimited(",", "csv", "\r\n", True),
    "tsv": as_delimited("\t", "tsv", "\n", False),
    "parquet": as_parquet,
    "data frames": as_frames,
    "networkx": as_networkx,
    "scipy": as_scipy,
    "PyG": as_pyg,
    "arrays": as_arrays,
    "edge list": as_edge_list,
}
