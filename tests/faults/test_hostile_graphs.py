"""Hostile graphs, from every reader through fit to transform: finite vectors, or an error that names the place."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hostile_graphs import ODD_IDS, WAYS, Described, as_built, described
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from valid_files import SETTINGS

from sanne.errors import InputError, SanneError
from sanne.estimator import SANNE
from sanne.graph.folder.build import build_graph
from sanne.graph.graph import Graph
from sanne.graph.ids import control_character
from sanne.graph.load import load_graph

Record = Callable[..., None]

THOROUGH = os.environ.get("SANNE_FAULTS", "") not in ("", "0")
READINGS = int(os.environ.get("SANNE_GRAPH_READINGS", "600" if THOROUGH else "30"))  # graphs read, for every reader
FITS = int(os.environ.get("SANNE_GRAPH_FITS", "300" if THOROUGH else "16"))  # graphs fitted and transformed
HUB = int(os.environ.get("SANNE_GRAPH_HUB", "1000000" if THOROUGH else "20000"))  # edges of one node

# What an error about a graph must name: a line, a row, an edge, an entry, a node; or what the whole graph lacks.
PLACE = re.compile(
    r"line \d+|row \d+|edge \(?['\"\d]|entry \(\d|node (id )?['\"\-\d]|in column '|but '|but \"|but -?\d"
    r"|the graph is empty|no edges|no nodes|holds no words"
)


def tries(count: int) -> Any:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],  # what fails is small already, and shrinking it takes minutes
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    )


def tiny(**changes: Any) -> SANNE:
    return SANNE("fast", settings=SETTINGS | changes, progress=False)


def refused(error: SanneError, place: str | re.Pattern[str] = PLACE) -> None:
    assert re.search(place, str(error)), f"an error that names no place: {error}"


@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_read_is_a_graph_or_an_error_that_names_the_place(way: str, tmp_path: Path, record: Record) -> None:
    outcomes = {"read": 0, "refused": 0}

    @tries(READINGS)
    @given(described())
    @example(Described(["a", "b"], [(0, 1)], None, [[1.0], [2.0]], None))  # for the case that no other can be read
    def read(graph: Described) -> None:
        try:
            found = WAYS[way](graph, tmp_path)
        except SanneError as error:
            refused(error)
            outcomes["refused"] += 1
            return
        outcomes["read"] += 1
        assert not any(control_character(str(node_id)) for node_id in found.node_ids.tolist())
        assert found.num_nodes <= max(len(graph.ids), 1) or way in ("arrays", "edge list")
        assert (found.indices >= 0).all()
        assert found.features is None or np.isfinite(_values(found.features)).all()
        assert found.weights is None or (np.isfinite(found.weights).all() and (found.weights > 0).all())
        if way not in ("scipy", "PyG"):
            assert found.nodes_of(found.node_ids.tolist()).tolist() == list(range(found.num_nodes))

    read()
    record("odd graphs read from files, tables and objects", times=sum(outcomes.values()))
    assert outcomes["read"] > 0, outcomes


@pytest.mark.parametrize("way", [*(way for way in WAYS if way not in ("scipy", "PyG")), "built"])
def test_every_odd_id_with_a_control_character_is_refused_by_name(way: str, tmp_path: Path) -> None:
    """Line breaks, zero bytes and their kind; in an edge list a line break is the end of an edge."""
    bad = [text for text in ODD_IDS if control_character(text.strip())]
    assert {"line\nbreak", "cr\rhere", "tab\there", "\x00", "\x7f"} <= set(bad)
    for text in bad:
        graph = Described(["a", "b", text], [(0, 1), (1, 2)], None, None, None)
        with pytest.raises(InputError) as caught:
            (WAYS | {"built": as_built})[way](graph, tmp_path)
        refused(caught.value, PLACE if way == "edge list" else "has the control character U")


def _values(features: Any) -> Any:
    return features.data if sp.issparse(features) else np.asarray(features)


@pytest.mark.parametrize("objective", ["hidden", "neighbours"])
def test_whatever_is_read_is_fitted_and_embedded_or_refused_by_name(
    objective: str, tmp_path: Path, record: Record
) -> None:
    fitted = 0

    @tries(FITS)
    @given(
        described(tame=True) | described(tame=True) | described(tame=True) | described(),
        st.sampled_from(["csv", "networkx", "PyG", "scipy"]),
    )
    def fit(graph: Described, way: str) -> None:
        nonlocal fitted
        try:
            found = WAYS[way](graph, tmp_path)
            model = tiny(objective=objective).fit(found)
            vectors = model.transform(found)
        except SanneError as error:
            refused(error)
            return
        fitted += 1
        assert vectors.shape[0] == found.num_nodes
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(vectors).all()

    fit()
    record("odd graphs fitted, and all their nodes embedded", times=fitted)
    assert fitted > FITS // 10


def base_graph() -> Graph:
    stream = np.random.default_rng(0)
    features = stream.normal(size=(12, 3)).astype(np.float32)
    return load_graph(stream.integers(0, 12, (30, 2)), features=features)


@pytest.fixture(scope="module")
def model() -> SANNE:
    return tiny().fit(base_graph())


def test_newcomers_with_any_features_have_finite_vectors_or_are_named(model: SANNE, record: Record) -> None:
    count = 0

    @tries(5 * FITS)
    @given(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        st.lists(st.integers(0, 13), max_size=4),
    )
    def embed(row: list[float], links: list[int]) -> None:
        nonlocal count
        known = base_graph()
        features = np.vstack([known.features, np.zeros((1, 3), np.float32), np.array([row], np.float32)])
        arcs = known.adjacency().to_scipy().tocoo()
        sources, targets = [*arcs.row.tolist(), *[13] * len(links)], [*arcs.col.tolist(), *links]
        graph = Graph.from_edges(sources, targets, node_ids=np.arange(14), features=features)
        count += 1
        try:
            vectors = model.transform(graph, [13, 12])
        except InputError as error:
            refused(error, "node 13")
            return
        assert np.isfinite(vectors).all()

    embed()
    record("newcomers with features of any size", times=count)


SPOILT_COLUMNS = ["feature", "weight", "id", "src", "repeat"]
SPOILT_CELLS = [float("nan"), float("inf"), float("-inf"), 1e39, None]


@pytest.mark.parametrize("kind", ["csv", "built", "parquet", "frame"])
def test_a_spoilt_cell_is_named_by_its_row_and_its_node(kind: str, tmp_path: Path, record: Record) -> None:
    """One bad number, id or weight anywhere in a table: the message has its line, and the node where there is one."""
    count = 0

    @tries(max(8, READINGS // 5))
    @given(st.integers(0, 5), st.sampled_from(SPOILT_COLUMNS), st.sampled_from(SPOILT_CELLS))
    def spoil(row: int, what: str, value: Any) -> None:
        nonlocal count
        names = [f"n{i}" for i in range(6)]
        edges = pd.DataFrame({"src": names, "dst": names[1:] + names[:1], "weight": [1.0] * 6}).astype(object)
        nodes = pd.DataFrame({"id": names, "x": np.arange(6.0)}).astype(object)
        if what == "feature":
            nodes.loc[row, "x"] = value
        elif what == "weight":
            edges.loc[row, "weight"] = value
        elif what == "src":
            edges.loc[row, "src"] = None
        elif what == "id":
            nodes.loc[row, "id"] = None
        else:
            nodes.loc[row, "id"] = f"n{(row + 1) % 6}"
            row = max(row, (row + 1) % 6)
        count += 1
        with pytest.raises(InputError) as caught:
            _load(kind, edges, nodes, tmp_path)
        number = row + 2 if kind in ("csv", "built") else row + 1
        place = rf"(line|row) {number}\b"
        if (kind, what) == ("built", "repeat"):  # of a table too large for memory, the id must do
            place = r"id 'n\d' occurs more than once"
        assert re.search(place, str(caught.value)), (what, value, str(caught.value))
        if what == "feature":
            assert f"'n{row}'" in str(caught.value)

    spoil()
    record("one spoilt cell in a table, named by its row", times=count)


def _load(kind: str, edges: pd.DataFrame, nodes: pd.DataFrame, folder: Path) -> None:
    if kind == "frame":
        load_graph(edges.infer_objects(), node_table=nodes.infer_objects())
        return
    if kind == "parquet":
        for stem, frame in (("edges", edges), ("nodes", nodes)):
            pq.write_table(pa.Table.from_pandas(frame.infer_objects()), folder / f"{stem}.parquet")
        load_graph(folder / "edges.parquet", node_table=folder / "nodes.parquet")
        return
    for stem, frame in (("edges", edges), ("nodes", nodes)):
        frame.to_csv(folder / f"{stem}.csv", index=False, na_rep="")
    if kind == "csv":
        load_graph(folder)
    else:
        build_graph(folder / "edges.csv", folder / "g.graph", node_table=folder / "nodes.csv")


@pytest.mark.parametrize("content", ["features", "text", "weights"])
def test_a_hub_with_very_many_edges(content: str, record: Record) -> None:
    """A star, every third edge repeated: nothing depends on how many neighbours a node has.

    With weights and nothing else the features are read from the links themselves, on fewer nodes.
    """
    count = min(HUB, 50_000) // 5 if content == "weights" else HUB
    ends = np.stack([np.zeros(count, np.int64), np.arange(1, count + 1)], axis=1)
    if content == "weights":
        table = pa.table({"src": ends[:, 0], "dst": ends[:, 1], "weight": np.linspace(0.01, 100, count)})
        graph = load_graph(table)
    else:
        features = np.arange(count + 1, dtype=np.float32)[:, None] % 7 if content == "features" else None
        text = [f"word{i % 50} more" for i in range(count + 1)] if content == "text" else None
        graph = load_graph(np.concatenate([ends, ends[::3]]), features=features, text=text)
    assert graph.num_edges == count
    model = tiny().fit(graph)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(graph, [0, count])).all()
    record("a hub with very many edges, fitted and embedded", times=1)


@pytest.mark.parametrize("make", ["zero nodes", "one node", "isolated", "loops only"])
def test_a_graph_without_edges_says_so(make: str) -> None:
    size = {"zero nodes": 0, "one node": 1, "isolated": 5, "loops only": 5}[make]
    ends = np.array([[0, 0], [3, 3]]) if make == "loops only" else np.empty((0, 2), np.int64)
    with pytest.raises(InputError, match="the graph is empty" if size == 0 else "no edges"):
        tiny().fit(load_graph(ends, features=np.ones((size, 2))))


def test_a_graph_without_edges_can_still_be_embedded(model: SANNE, tmp_path: Path) -> None:
    """Nodes that arrive alone, or with a loop to themselves, are read by their own features."""
    for ends in (np.empty((0, 2), np.int64), np.array([[0, 0], [1, 1]])):
        vectors = model.transform(load_graph(ends, features=np.ones((2, 3))))
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def test_constant_features_and_repeated_edges_change_nothing(record: Record) -> None:
    """A constant column says nothing; an edge given twice without weights is the same edge."""
    graph = base_graph()
    arcs = graph.adjacency().to_scipy().tocoo()
    twice = np.stack([np.tile(arcs.row, 2), np.tile(arcs.col, 2)], axis=1)
    constant = np.column_stack([graph.features, np.full(12, 3e38, np.float32)])
    plain = tiny().fit(graph).embedding_
    np.testing.assert_array_equal(tiny().fit(load_graph(twice, features=graph.features)).embedding_, plain)
    assert np.isfinite(tiny().fit(load_graph(twice, features=constant)).embedding_).all()
    assert np.isfinite(tiny().fit(load_graph(twice, features=np.ones((12, 3)))).embedding_).all()


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    for ending, mark in (("csv", b","), ("tsv", b"\t")):
        for encoding in ("latin-1", "utf-16", "cp037"):
            rows = "src{0}dst\nün{0}b\nb{0}c\n".format(mark.decode())
            (tmp_path / f"e.{ending}").write_bytes(rows.encode(encoding))
            with pytest.raises(InputError, match=rf"e\.{ending}"):
                load_graph(tmp_path / f"e.{ending}")
        (tmp_path / f"e.{ending}").write_bytes(b"src" + mark + b"dst\na" + mark + b"b\n\xff" + mark + b"c\n")
        with pytest.raises(InputError, match="line 3: byte 0xff is not UTF-8"):
            load_graph(tmp_path / f"e.{ending}")


def test_ids_that_no_file_can_hold_are_named() -> None:
    """Half of a surrogate pair cannot be written as UTF-8, so that it could never be saved or found."""
    graph = nx.Graph([("a", "b\ud800")])
    with pytest.raises(InputError, match=r"node id 'b\\ud800'"):
        load_graph(graph)


def test_a_folder_of_odd_ids_is_built_as_it_is_read(tmp_path: Path, record: Record) -> None:
    """The builder for large files agrees with the reader in memory, or refuses what it refuses."""
    count = 0

    @tries(max(4, READINGS // 20))
    @given(described())
    def build(graph: Described) -> None:
        nonlocal count
        count += 1
        found = []
        for way in (WAYS["csv"], as_built):
            try:
                found.append(way(graph, tmp_path).node_ids.tolist())
            except SanneError as error:
                refused(error)
                found.append(None)
        assert found[0] == found[1]

    build()
    record("odd graphs built into a folder as they are read", times=count)
