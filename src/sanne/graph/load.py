"""load_graph: the list of readers, and the choice among them."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.datasets.catalogue import BENCHMARKS, dataset_names, load_dataset
from sanne.errors import InputError
from sanne.graph.folder.store import is_graph_folder, open_graph
from sanne.graph.graph import Graph
from sanne.graph.readers.arrays import edge_table, read_arrays
from sanne.graph.readers.edge_list import read_edge_list
from sanne.graph.readers.networkx import read_networkx
from sanne.graph.readers.node_data import as_features, as_texts
from sanne.graph.readers.pyg import read_pyg
from sanne.graph.readers.scipy_sparse import read_scipy
from sanne.graph.readers.tables import DELIMITED, PARQUET, read_tables
from sanne.graph.readers.typed_tables import is_table
from sanne.research import WHERE

EDGE_LISTS = (".txt", ".edgelist", ".edges")


@dataclass(frozen=True)
class Reader:
    """One kind of source.

    `read` is called with the source and, by name, with those options of `load_graph` that it takes; others are
    refused. Where it takes neither text nor features, `load_graph` adds those that come in node order.
    """

    name: str  # for messages; may contain {source} and {type}
    accepts: Callable[[Any], bool]  # asked with a path, or an object in memory
    read: Callable[..., Graph]
    takes: tuple[str, ...] = ()


def register(reader: Reader) -> None:
    """Add a reader; it is tried before the others.

    >>> register(Reader("{source}", lambda source: str(source).endswith(".gml"), read_gml))
    """
    READERS.insert(0, reader)


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
        source: `"cora"`; an edge file (.csv, .tsv, .parquet, .txt); a folder with edges.* and nodes.*, or a graph
            folder that `sanne build` wrote; a pandas DataFrame or pyarrow Table of edges; an (m, 2) array or a tuple
            (sources, targets); a scipy sparse matrix; a networkx graph; a PyG Data object.
        node_table: path or table with the column `id`; its rows are the nodes, in that order.
        text: the column (networkx: node attribute) with documents, or several; or one text per node.
        features: the feature columns (networkx: attributes); or a matrix, dense or sparse, in node order.
            Default: every numeric column of the node table but id and label, unless `text` is given.
        label: the column with classes. Default: `label`, if there is one.
        directed: keep the direction of edges (networkx graphs know it themselves).
        weight: the weight column or attribute. Default: `weight`, if there is one; False reads none.

    >>> load_graph("edges.csv", node_table="nodes.parquet", text="abstract")
    """
    options = {
        "node_table": node_table,
        "text": text,
        "features": features,
        "label": label,
        "directed": directed,
        "weight": weight,
    }
    known = dataset_names()
    if isinstance(source, Path) or (isinstance(source, str) and source not in known):
        source = _path(str(source))
    for reader in READERS:
        if reader.accepts(source):
            return _read(reader, source, options)
    if node_table is not None:
        return _read(_TABLES, source, options)
    raise InputError(
        f"cannot read a graph from a {type(source).__name__}; accepted are a dataset name ({', '.join(known)}), the "
        "path of an edge file or folder, a pandas DataFrame or pyarrow Table, an (m, 2) array, a scipy sparse matrix, "
        "a networkx graph and a PyG Data object"
    )


def _path(source: str) -> Path:
    path = Path(source).expanduser()
    try:
        there = bool(source) and path.exists()
    except OSError:  # a name that no file can have
        there = False
    if not there:
        raise InputError(_not_found(source))
    return path


def _read(reader: Reader, source: Any, options: dict[str, Any]) -> Graph:
    if options["node_table"] is not None and "node_table" not in reader.takes and _can_be_an_edge_table(source):
        reader = _TABLES
    name = reader.name.format(source=source, type=type(source).__name__)
    for option, value in options.items():
        if option not in (*reader.takes, "text", "features") and value is not None and value is not False:
            raise InputError(f"{option}= does not apply to {name}: leave it out")
    graph = reader.read(source, **{option: options[option] for option in reader.takes})
    return graph if "text" in reader.takes else _with_node_data(graph, options["text"], options["features"], name)


def _can_be_an_edge_table(source: Any) -> bool:
    return source.suffix.lower() in EDGE_LISTS if isinstance(source, Path) else not isinstance(source, str)


def _read_tables(
    source: Any, node_table: Any, text: Any, features: Any, label: str | None, directed: bool, weight: Any
) -> Graph:
    if isinstance(source, np.ndarray):
        source = edge_table(source)
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


def _read_table_folder(folder: Path, node_table: Any, **options: Any) -> Graph:
    edges = _only(folder, "edges")
    if edges is None:
        raise InputError(
            f"{folder}: expected edges.csv (or .tsv, .parquet) and perhaps nodes.*, or a graph folder (graph.json)"
        )
    return _read_tables(edges, _only(folder, "nodes") if node_table is None else node_table, **options)


def _only(folder: Path, stem: str) -> Path | None:
    """The one table of a folder that is called `stem`, whatever its ending."""
    found = sorted(path for path in folder.glob(f"{stem}.*") if path.suffix.lower() in (*DELIMITED, *PARQUET))
    if len(found) > 1:
        names = " and ".join(path.name for path in found)
        raise InputError(f"{folder} holds {names}: keep one, or name the file to read")
    return found[0] if found else None


def _open_graph_folder(path: Path, directed: bool) -> Graph:
    graph = open_graph(path)
    if directed and not graph.directed:
        raise InputError(f"{path} holds an undirected graph: build it again with --directed")
    return graph


def _read_networkx(source: Any, text: Any, features: Any, directed: bool, **options: Any) -> Graph:
    named, matrix = (features, None) if _is_names(features) else (None, features)
    attribute, documents = (text, None) if isinstance(text, str) else (None, text)
    graph = read_networkx(source, text=attribute, features=named, **options)  # it knows its direction itself
    return _with_node_data(graph, documents, matrix, "a networkx graph")


def _is_edge_list(source: Any) -> bool:
    return isinstance(source, Path) and source.is_file() and source.suffix.lower() in EDGE_LISTS


def _is_networkx(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed"))


def _is_pairs(source: Any) -> bool:
    return isinstance(source, np.ndarray) or (isinstance(source, tuple) and len(source) == 2)


_ALL = ("node_table", "text", "features", "label", "directed", "weight")
_TABLES = Reader("{source}", lambda source: isinstance(source, Path) or is_table(source), _read_tables, _ALL)
_OBJECT = ("text", "features", "directed", "weight")
# In this order: the first that accepts a source reads it.
READERS = [
    Reader("dataset {source!r}", lambda source: isinstance(source, str), load_dataset),
    Reader(
        "{source}, a graph folder",
        lambda source: isinstance(source, Path) and is_graph_folder(source),
        _open_graph_folder,
        ("directed",),
    ),
    Reader("{source}", lambda source: isinstance(source, Path) and source.is_dir(), _read_table_folder, _ALL),
    Reader("{source}", _is_edge_list, read_edge_list, ("directed",)),
    _TABLES,
    Reader("a networkx graph", _is_networkx, _read_networkx, (*_OBJECT, "label")),
    Reader("a PyG Data object", lambda source: hasattr(source, "edge_index"), read_pyg, _OBJECT),
    Reader("a {type}", sp.issparse, read_scipy, ("directed", "weight")),
    Reader("an edge array (use a table with a weight column)", _is_pairs, read_arrays, _OBJECT[:3]),
]


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


def _not_found(source: str) -> str:
    known = dataset_names()
    if source.lower() in BENCHMARKS and source.lower() not in known:
        return f"the dataset {source!r} is {WHERE}"
    close = difflib.get_close_matches(source.lower(), known, n=1)
    if not close and Path(source).parent.is_dir():
        siblings = [path.name for path in Path(source).parent.iterdir()]
        close = [
            str(Path(source).with_name(name)) for name in difflib.get_close_matches(Path(source).name, siblings, n=1)
        ]
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{source!r} is neither a file or folder nor a dataset ({', '.join(known)}).{hint}"
