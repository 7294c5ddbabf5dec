"""load_graph: pick the reader for whatever holds the user's graph."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sanne.datasets import dataset_names, load_dataset
from sanne.errors import InputError
from sanne.graph.folder.store import is_graph_folder, open_graph
from sanne.graph.graph import Graph
from sanne.graph.readers.arrays import read_arrays
from sanne.graph.readers.edge_list import read_edge_list
from sanne.graph.readers.linqs import read_linqs
from sanne.graph.readers.networkx import read_networkx
from sanne.graph.readers.node_data import as_features, as_texts
from sanne.graph.readers.npz import read_npz
from sanne.graph.readers.planetoid import read_planetoid
from sanne.graph.readers.pyg import read_pyg
from sanne.graph.readers.scipy_sparse import read_scipy
from sanne.graph.readers.tables import DELIMITED, PARQUET, read_tables
from sanne.graph.readers.typed_tables import is_table

TABLES = (*DELIMITED, *PARQUET)
EDGE_LISTS = (".txt", ".edgelist", ".edges")


def load_graph(
    source: Any,
    *,
    node_table: Any = None,
    text: Any = None,
    features: Any = None,
    label: str | None = None,
    directed: bool = False,
    weight: str | bool | None = None,
) -> Graph:
    """The graph of a dataset name, a file, a folder or an object in memory.

    Args:
        source: `"cora"`; an edge file (.csv, .tsv, .parquet, .txt, .npz); a folder with edges.* and nodes.*, or
            with LINQS or Planetoid files, or a graph folder that `sanne build` wrote; a pandas DataFrame or pyarrow
            Table of edges; an (m, 2) array or a tuple (sources, targets); a scipy sparse matrix; a networkx graph;
            a PyG Data object.
        node_table: path or table with the column `id`; its rows are the nodes, in that order.
        text: the column (networkx: node attribute) with documents, or several; or one text per node.
        features: the feature columns (networkx: attributes); or a matrix, dense or sparse, in node order.
            Default: every numeric column of the node table but id and label, unless `text` is given.
        label: the column with classes. Default: `label`, if there is one.
        directed: keep the direction of edges (networkx graphs know it themselves).
        weight: the weight column or attribute. Default: `weight`, if there is one; False reads none.

    >>> load_graph("edges.csv", node_table="nodes.parquet", text="abstract")
    """
    if isinstance(source, str) and source in dataset_names():
        _refuse(f"dataset {source!r}", node_table=node_table, label=label, weight=weight or None)
        if directed:
            raise InputError(f"dataset {source!r} is undirected")
        return _with_node_data(load_dataset(source), text, features, f"dataset {source!r}")
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        if not _exists(path) or not str(source):
            raise InputError(_not_found(str(source)))
        if path.is_dir() and is_graph_folder(path):
            _refuse(f"{path}, a graph folder", node_table=node_table, label=label, weight=weight or None)
            graph = open_graph(path)
            if directed and not graph.directed:
                raise InputError(f"{path} holds an undirected graph: build it again with --directed")
            return _with_node_data(graph, text, features, str(path))
        if path.is_dir():
            edges = _only(path, "edges")
            if edges is None:
                _refuse(str(path), node_table=node_table, label=label, weight=weight or None)
                return _with_node_data(_read_benchmark_folder(path, directed), text, features, str(path))
            path, node_table = edges, _only(path, "nodes") if node_table is None else node_table
        if path.suffix.lower() == ".npz":
            _refuse(str(path), node_table=node_table, label=label, weight=weight or None)
            return _with_node_data(read_npz(path, directed=directed), text, features, str(path))
        if path.suffix.lower() in EDGE_LISTS and node_table is None:
            _refuse(str(path), label=label, weight=weight or None)
            return _with_node_data(read_edge_list(path, directed=directed), text, features, str(path))
        source = path
    elif not is_table(source) and node_table is None:
        return _read_object(source, text, features, label, directed, weight)
    return _read_tables(source, node_table, text, features, label, directed, weight)


def _read_tables(
    source: Any, node_table: Any, text: Any, features: Any, label: str | None, directed: bool, weight: Any
) -> Graph:
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] == 2:
        source = pa.table({"src": pa.array(source[:, 0]), "dst": pa.array(source[:, 1])})
    matrix = features if not _is_names(features) else None
    documents = text if node_table is None and not isinstance(text, str) else None
    graph = read_tables(
        source,
        node_table,
        text=None if documents is not None else text,
        features=features if matrix is None else ([] if node_table is not None else None),
        label=label,
        weight=weight,
        directed=directed,
    )
    return _with_node_data(graph, documents, matrix, "the edge table")


def _read_object(
    source: Any, text: Any, features: Any, label: str | None, directed: bool, weight: str | bool | None
) -> Graph:
    if hasattr(source, "nodes") and hasattr(source, "is_directed") and hasattr(source, "edges"):
        return read_networkx(source, text=text, features=features, label=label, weight=weight)
    weighted = None if weight is None else bool(weight)
    if hasattr(source, "edge_index"):
        _refuse("a PyG Data object", label=label)
        return read_pyg(source, features=features, texts=text, weighted=weighted, directed=directed)
    _refuse(f"a {type(source).__name__}", label=label)
    if isinstance(text, str):
        raise InputError(f"text={text!r} names a column, but there is no node table: give node_table= as well")
    if sp.issparse(source):
        return read_scipy(source, features=features, texts=text, weighted=weighted, directed=directed)
    if isinstance(source, np.ndarray) or (isinstance(source, tuple) and len(source) == 2):
        _refuse("an edge array (use a table with a weight column)", weight=weight or None)
        return read_arrays(source, features=features, texts=text, directed=directed)
    raise InputError(f"cannot read a graph from a {type(source).__name__}; {_accepted()}")


def _read_benchmark_folder(folder: Path, directed: bool) -> Graph:
    if any(folder.glob("ind.*.graph")):
        if directed:
            raise InputError(f"{folder}: Planetoid files hold undirected graphs")
        return read_planetoid(folder)
    if any(folder.glob("*.content")):
        return read_linqs(folder, directed=directed)
    raise InputError(
        f"{folder}: expected edges.csv (or .tsv, .parquet) and perhaps nodes.*, a LINQS folder (*.content, "
        "*.cites), a Planetoid folder (ind.*) or a graph folder (graph.json)"
    )


def _only(folder: Path, stem: str) -> Path | None:
    """The one table of a folder that is called `stem`, whatever its ending."""
    found = sorted(path for path in folder.glob(f"{stem}.*") if path.suffix.lower() in TABLES)
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise InputError(f"{folder} holds {names}: keep one, or name the file to read")
    return found[0] if found else None


def _with_node_data(graph: Graph, text: Any, features: Any, name: str) -> Graph:
    """The graph with texts and features that came in node order."""
    if isinstance(text, str) or (_is_names(features) and features is not None):
        raise InputError(f"{name} has no node table whose columns text= or features= could name")
    if text is not None:
        graph = replace(graph, texts=as_texts(text, graph.node_ids))
    if features is not None:
        graph = replace(graph, features=as_features(features, graph.node_ids))
    return graph


def _is_names(features: Any) -> bool:
    """Whether `features` names columns (or is not given) rather than being a matrix."""
    if features is None or isinstance(features, str):
        return True
    return isinstance(features, Sequence) and all(isinstance(name, str) for name in features)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _refuse(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise InputError(f"{argument}= does not apply to {name}: leave it out")


def _not_found(source: str) -> str:
    known = dataset_names()
    close = difflib.get_close_matches(source.lower(), known, n=1)
    if not close and Path(source).parent.is_dir():
        siblings = [path.name for path in Path(source).parent.iterdir()]
        close = [
            str(Path(source).with_name(name)) for name in difflib.get_close_matches(Path(source).name, siblings, n=1)
        ]
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{source!r} is neither a file or folder nor a dataset ({', '.join(known)}).{hint}"


def _accepted() -> str:
    return (
        f"accepted are a dataset name ({', '.join(dataset_names())}), the path of an edge file or folder, a "
        "pandas DataFrame or pyarrow Table, an (m, 2) array, a scipy sparse matrix, a networkx graph and a "
        "PyG Data object"
    )
