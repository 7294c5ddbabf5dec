"""Graphs that are in memory already: arrays, scipy, networkx, PyG."""

import warnings
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.load import load_graph
from sanne.graph.readers.arrays import read_arrays, read_scipy
from sanne.graph.readers.networkx import read_networkx
from sanne.graph.readers.pyg import read_pyg

PAIRS = np.array([[0, 1], [1, 3]])


def test_array_values_are_ids_when_nothing_says_how_many_nodes_there_are() -> None:
    graph = read_arrays(np.array([[70, 5], [5, 900]]))
    assert graph.node_ids.tolist() == [5, 70, 900]
    assert graph.indices.tolist() == [1, 2, 0, 0]


def test_array_values_are_indices_when_the_number_of_nodes_is_known() -> None:
    assert read_arrays(PAIRS, num_nodes=5).indptr.tolist() == [0, 1, 3, 3, 4, 4]
    assert read_arrays(PAIRS, features=np.eye(5)).num_nodes == 5


@pytest.mark.parametrize("edges", [torch.tensor([[0, 1, 2], [1, 2, 3]]), np.array([[0, 1], [1, 2], [2, 3]]), [(0, 3)]])
def test_fewer_rows_than_the_nodes_that_edges_name(edges: Any) -> None:
    for rows in (torch.randn(3, 5), np.zeros((3, 5)), sp.csr_matrix((3, 5))):
        with pytest.raises(InputError, match=r"3 rows of features, but an edge names node 3: .*must be at least 4;"):
            load_graph(edges, features=rows)
    with pytest.raises(InputError, match=r"2 texts, but an edge names node 3: .*node_table="):
        load_graph(edges, text=["zero", "one"])
    with pytest.raises(InputError, match=r"3 nodes, but an edge names node 3: .*must be at least 4$"):
        read_arrays(edges, num_nodes=3)
    assert load_graph(edges, features=np.eye(4)).num_nodes == 4
    with pytest.raises(InputError, match=r"outside 0\.\.3"):
        load_graph([(0, -1)], features=np.eye(4))


def test_arrays_of_text_and_tuples() -> None:
    graph = read_arrays((["b", "c"], ["a", "b"]), weights=[1, 2])
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert graph.weights is not None
    assert graph.weights.tolist() == [1, 1, 2, 2]


NOTHING = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
@pytest.mark.parametrize("good", ["a", 7])
def test_a_pair_without_one_of_its_nodes_is_refused(nothing: Any, good: Any) -> None:
    pairs = [(good, good), (good, nothing)]
    array = np.array(pairs, object)
    for edges in (pairs, array, (array[:, 0], array[:, 1]), ([good, good], [good, nothing])):
        with pytest.raises(InputError, match=r"pair 2: no node id in column 'dst'; fill it in"):
            load_graph(edges)
    with pytest.raises(InputError, match=r"pair 2: no node id in column 'src'"):
        load_graph([(good, good), (nothing, good)], features=np.eye(2))
    with pytest.raises(InputError, match=r"pair 1: no node id in column 'dst'"):
        load_graph([(good, nothing, 0.5)], node_table=pd.DataFrame({"id": ["a", "nan", "None"]}))


@pytest.mark.parametrize("nothing", NOTHING, ids=repr)
def test_a_node_without_an_id_is_refused(nothing: Any) -> None:
    for ids in (["a", nothing], ("a", nothing), [7, nothing], np.array(["a", nothing], object)):
        with pytest.raises(InputError, match="node 2 of 2: no node id"):
            Graph.from_edges([0], [1], node_ids=ids)


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_the_arrays_of_a_graph_may_not_lack_an_id_either(nothing: Any) -> None:
    with pytest.raises(InputError, match="node 2 of 2: no node id"):
        Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), None, np.array(["a", nothing], object))


def test_a_networkx_node_nan_is_refused_and_the_word_none_is_an_id() -> None:
    with pytest.raises(InputError, match="node 2 of 2: no node id"):
        load_graph(nx.Graph([("a", float("nan"))]))
    assert load_graph([("None", "nan"), ("nan", 1)]).node_ids.tolist() == ["1", "None", "nan"]


def test_labels_come_in_node_order() -> None:
    graph = read_arrays(np.array([["b", "a"], ["c", "a"]]), labels=["x", None, "y"])
    assert graph.labels is not None
    assert graph.labels.tolist() == ["x", "", "y"]


@pytest.mark.parametrize("edges", [np.zeros((2, 5), int), np.zeros(4, int), np.zeros((3, 2)), ([1, 2], [1])])
def test_arrays_of_a_wrong_shape_or_type(edges: Any) -> None:
    with pytest.raises(InputError, match=r"shape|hold integers|equally long"):
        read_arrays(edges)


def test_dense_and_sparse_features() -> None:
    dense = read_arrays(PAIRS, features=np.asfortranarray(np.arange(8).reshape(4, 2))).features
    assert dense.dtype == np.float32
    assert dense.flags.c_contiguous
    sparse = read_arrays(PAIRS, features=sp.coo_matrix(np.eye(4))).features
    assert sp.issparse(sparse)
    assert (sparse.format, sparse.dtype) == ("csr", np.float32)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_features_that_are_no_finite_numbers_name_the_node(bad: float, kind: Any) -> None:
    features = np.ones((3, 4))
    features[1, 2] = bad
    with pytest.raises(InputError, match=r"node 'b' has the feature (nan|inf) in column 2"):
        read_arrays(np.array([["a", "b"], ["b", "c"]]), features=kind(features))


def test_scipy_adjacency() -> None:
    matrix = sp.csr_matrix(np.array([[0, 2.5, 0], [2.5, 0, 0], [0, 0, 7]]))
    graph = read_scipy(matrix)
    assert graph.num_nodes == 3
    assert graph.weights is not None
    assert graph.weights.tolist() == [2.5, 2.5]
    assert read_scipy(matrix, weight=False).weights is None
    assert read_scipy(matrix.astype(bool)).weights is None
    one_way = sp.coo_matrix(([1], ([2], [0])), shape=(3, 3))
    assert read_scipy(one_way).num_edges == 1
    assert read_scipy(one_way, directed=True).indptr.tolist() == [0, 0, 0, 1]


def test_stored_zeros_are_no_edges() -> None:
    assert read_scipy(sp.coo_matrix(([0, 1], ([0, 1], [1, 2])), shape=(3, 3))).num_edges == 1


def test_bad_scipy_adjacency() -> None:
    with pytest.raises(InputError, match="square, not 2 x 3"):
        read_scipy(sp.csr_matrix((2, 3)))
    with pytest.raises(InputError, match="edge from node 0 to node 1 has the weight -1;"):
        read_scipy(sp.csr_matrix(np.array([[0, -1], [0, 0]])))


def test_networkx_ids_order_attributes_and_weights() -> None:
    source = nx.Graph()
    source.add_node("z", abstract="last letter", vector=[1.0, 2.0], label="x")
    source.add_node("a", vector=[3.0, 4.0], label="y")
    source.add_edge("z", "a", weight=2.0, cost=7)
    graph = read_networkx(source, text="abstract", features="vector")
    assert graph.node_ids.tolist() == ["z", "a"]
    assert graph.texts is not None
    assert graph.texts.tolist() == ["last letter", ""]
    assert graph.features.tolist() == [[1, 2], [3, 4]]
    assert graph.labels is not None
    assert graph.labels.tolist() == ["x", "y"]
    assert graph.weights is not None
    assert graph.weights.tolist() == [2, 2]
    assert read_networkx(source, weight=False).weights is None
    by_cost = read_networkx(source, weight="cost").weights
    assert by_cost is not None
    assert by_cost.tolist() == [7, 7]


def test_networkx_kinds_of_graph() -> None:
    arcs = nx.DiGraph([(5, 3), (3, 4)])
    assert read_networkx(arcs).directed
    assert read_networkx(arcs).node_ids.tolist() == [5, 3, 4]
    assert read_networkx(arcs).indptr.tolist() == [0, 1, 2, 2]
    many = nx.MultiGraph([(1, 2, {"weight": 1.0}), (1, 2, {"weight": 2.0})])
    weights = read_networkx(many).weights
    assert weights is not None
    assert weights.tolist() == [3, 3]
    repeated = read_networkx(nx.MultiGraph([(1, 2), (1, 2)]))
    assert (repeated.num_edges, repeated.weights) == (1, None)
    grid = read_networkx(nx.grid_2d_graph(2, 2))
    assert grid.node_ids.tolist()[0] == "(0, 0)"
    some = nx.Graph([(1, 2, {"weight": 1.0}), (2, 3)])
    assert read_networkx(some).weights is None


def test_bad_networkx_attributes() -> None:
    source = nx.path_graph(3)
    with pytest.raises(InputError, match=r"networkx edges, row 1: no weight in column .cost"):
        read_networkx(source, weight="cost")
    with pytest.raises(InputError, match=r"no node has the attribute 'vector'"):
        read_networkx(source, features="vector")
    source.nodes[1]["vector"] = [1.0, 2.0]
    with pytest.raises(InputError, match=r"node 0 has no list in column 'vector'"):
        read_networkx(source, features="vector")
    with pytest.raises(InputError, match=r"no node has the attribute 'abstract'"):
        read_networkx(source, text="abstract")
    with pytest.raises(InputError, match="no nodes"):
        read_networkx(nx.Graph())


def test_pyg_data() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package warns about torch while it is imported
        from torch_geometric.data import Data
    data = Data(
        x=torch.eye(4),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_attr=torch.tensor([[0.5], [0.5], [2.0], [2.0]]),
        y=torch.tensor([0, 1, 0, 2]),
        words=["w", "x", "y", "z"],
    )
    graph = read_pyg(data, text="words")
    assert (graph.num_nodes, graph.num_edges) == (4, 2)
    assert graph.weights is not None
    assert graph.weights.tolist() == [0.5, 0.5, 2, 2]
    assert graph.features.tolist() == np.eye(4).tolist()
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 1, 0, 2]
    assert graph.texts is not None
    assert graph.texts.tolist() == ["w", "x", "y", "z"]
    assert read_pyg(data, weight=False).weights is None


def test_pyg_is_read_by_its_attributes_alone() -> None:
    data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), edge_attr=np.ones((2, 3)), num_nodes=5)
    graph = read_pyg(data)
    assert (graph.num_nodes, graph.num_edges) == (5, 2)
    assert graph.weights is None
    with pytest.raises(InputError, match=r"shape \(2, edges\)"):
        read_pyg(SimpleNamespace(edge_index=np.zeros((3, 4), int)))
