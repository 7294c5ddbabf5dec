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
from sanne.graph.readers.arrays import as_features, as_texts, edge_table, names_of_columns, read_arrays, read_scipy
from sanne.graph.readers.delimited import ending, near
from sanne.graph.readers.kinds import KindWeights
from sanne.graph.readers.named import TABLES, Unknown
from sanne.graph.readers.networkx import read_networkx
from sanne.graph.readers.pyg import is_hetero, read_hetero, read_pyg
from sanne.graph.readers.tables import read_edge_list, read_tables
from sanne.graph.readers.typed_tables import is_table
from sanne.research import WHERE

EDGE_LISTS = (".txt", ".edgelist", ".edges")


@dataclass(frozen=True)
class Reader:
    """One kind of source.

    `read` is called with the source and those options of `load_graph` that it has as parameters; others are
    refused. If it takes neither text nor features, `load_graph` adds those that are given in node order.
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
    src: str | None = None,
    dst: str | None = None,
    id: str | None = None,
    kind: str | None = None,
    kind_weights: KindWeights | None = None,
    unknown: Unknown | None = None,
) -> Graph:
    """Load a graph from a dataset name, a file, a folder or an object in memory.

    Args:
        source: `"cora"`; an edge file (.csv, .tsv, .jsonl, .txt, also compressed; .parquet, .xlsx); a folder with
            edges.* and nodes.*, or a graph folder that `sanne build` wrote; a pandas DataFrame or pyarrow Table of
            edges; a list of pairs or of triples with a weight, an (m, 2) array, a (2, m) tensor or a tuple (sources,
            targets); a scipy sparse matrix; a networkx graph; a PyG Data or HeteroData object.
        node_table: path or table with the column `id`; its rows are the nodes, in that order.
        text: the column (networkx: node attribute) with documents, or several; or one text per node.
        features: the feature columns (networkx: attributes); or a matrix, dense or sparse, in node order.
            Default, without `text`: columns of the node table that look like text, or else every numeric one except
            id and label.
        label: the column with classes. Default: `label`, if there is one.
        directed: treat edges as directed (networkx graphs say so themselves).
        weight: the weight column or attribute. Default: `weight`, if there is one; False reads none.
        src: the edge column with the source. Default: `src`, `source` or `from`.
        dst: the edge column with the target. Default: `dst`, `target` or `to`.
        id: the node column with ids. Default: `id`, or the named index of a DataFrame.
        kind: the edge column with the edge type.
        kind_weights: weights of edge types, as in `{"cites": 2, "mentions": 0}` (0 drops a type), or "auto".
        unknown: edges to nodes without a row in the node table: "refuse" (default), "drop", or "add" the nodes.

    >>> load_graph("edges.csv", node_table="nodes.parquet", text="abstract")
    """
    options = {name: value for name, value in locals().items() if name != "source"}
    known = dataset_names()
    if isinstance(source, Path) or (isinstance(source, str) and source not in known):
        source = _path(str(source), known)
        if source.is_dir():
            source, options["node_table"] = tables_in(source, node_table)
    for reader in READERS:
        if reader.accepts(source):
            return _read(reader, source, options)
    if isinstance(source, Path):
        raise InputError(f"{source}: expected edges.* ({', '.join(TABLES)}) and perhaps nodes.*, or a graph folder")
    if node_table is not None:
        return _read(_TABLES, source, options)
    raise InputError(
        f"cannot read a graph from a {type(source).__name__}; give a dataset name ({', '.join(known)}), the "
        "path of an edge file or folder, a pandas DataFrame or pyarrow Table, a list of pairs, an (m, 2) array, a "
        "scipy sparse matrix, a networkx graph and a PyG Data or HeteroData object"
    )


def _path(source: str, known: list[str]) -> Path:
    """The path of something that exists, or an error that guesses what was meant."""
    path = Path(source).expanduser()
    try:
        if source and path.exists():
            return path
    except OSError:  # a name that no file can have
        pass
    if source.lower() in BENCHMARKS and source.lower() not in known:
        raise InputError(f"the dataset {source!r} is {WHERE}")
    close = difflib.get_close_matches(path.name.lower(), known, n=1) if path.suffix == "" else []
    hint = f" (did you mean {close[0]!r}?)" if close else near(path)
    raise InputError(f"{source!r} is neither a file or folder nor a dataset ({', '.join(known)}){hint}")


def tables_in(folder: Path, node_table: Any) -> tuple[Path, Any]:
    """The edge and node tables of a folder, whatever their endings; the folder itself if it has no edge table."""
    found = []
    for stem in ("edges", "nodes"):
        paths = sorted(path for path in folder.glob(f"{stem}.*") if ending(path) in TABLES)
        if len(paths) > 1:
            names = " and ".join(path.name for path in paths)
            raise InputError(f"{folder} holds {names}: keep one, or name the file to read")
        found.append(paths[0] if paths else None)
    edges, nodes = found
    return (folder, node_table) if edges is None else (edges, nodes if node_table is None else node_table)


def _read(reader: Reader, source: Any, options: dict[str, Any]) -> Graph:
    has_table = options["node_table"] is not None
    if has_table and "node_table" not in reader.takes and _can_be_an_edge_table(source):
        reader = _TABLES
    name = reader.name.format(source=source, type=type(source).__name__)
    for option, value in options.items():
        if option not in (*reader.takes, "text", "features") and value is not None and value is not False:
            raise InputError(f"{option}= does not apply to {name}: leave it out")
    has_columns = "label" in reader.takes  # which text and features may name
    named = {"text": isinstance(options["text"], str) or has_table, "features": _are_names(options["features"])}
    in_order = {}  # texts and features with a row for each node, which the reader does not see
    for option, are_names in named.items():
        if option not in reader.takes or (has_columns and not are_names):
            in_order[option] = options.pop(option)
            if are_names and in_order[option] is not None:
                raise InputError(f"{name} has no node table whose columns text= or features= could name")
    if has_table and "features" in in_order:
        options["features"] = []  # rather than all columns of numbers
    given = {option: options[option] for option in reader.takes if options.get(option) is not None}
    graph = reader.read(source, **given)
    if (texts := in_order.get("text")) is not None:
        graph = replace(graph, texts=as_texts(texts, graph.node_ids))
    if (features := in_order.get("features")) is not None:
        rows = as_features(features, graph.node_ids)
        graph = replace(graph, features=rows, feature_names=names_of_columns(features))
    return graph


def _can_be_an_edge_table(source: Any) -> bool:
    return ending(source) in EDGE_LISTS if isinstance(source, Path) else not isinstance(source, str)


def _are_names(features: Any) -> bool:
    """Whether `features` names columns (or is not given) rather than being a matrix."""
    if features is None or isinstance(features, str):
        return True
    return isinstance(features, Sequence) and all(isinstance(name, str) for name in features)


def _read_tables(source: Any, node_table: Any = None, **options: Any) -> Graph:
    return read_tables(edge_table(source) if _is_pairs(source) else source, node_table, **options)


def _open_graph_folder(path: Path, directed: bool) -> Graph:
    graph = open_graph(path)
    if directed and not graph.directed:
        raise InputError(f"{path} holds an undirected graph: build it again with --directed")
    return graph


def _is_file(source: Any) -> bool:
    return isinstance(source, Path) and source.is_file()


def _is_networkx(source: Any) -> bool:
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed"))


def _is_pairs(source: Any) -> bool:
    """Whether these are edges in memory: an array, a tensor, a list of pairs, or a tuple of sources and targets."""
    is_tuple = isinstance(source, tuple) and len(source) == 2
    return is_tuple or isinstance(source, np.ndarray | list) or hasattr(source, "detach")


_OBJECT = ("text", "features", "directed", "weight")
_COLUMNS = ("node_table", "label", "src", "dst", "id", "kind", "kind_weights", "unknown")
_TABLES = Reader("{source}", lambda source: _is_file(source) or is_table(source), _read_tables, (*_COLUMNS, *_OBJECT))
# In this order: the first that accepts a source reads it.
READERS = [
    Reader("dataset {source!r}", lambda source: isinstance(source, str), load_dataset),
    Reader(
        "{source}, a graph folder",
        lambda source: isinstance(source, Path) and is_graph_folder(source),
        _open_graph_folder,
        ("directed",),
    ),
    Reader("{source}", lambda source: _is_file(source) and ending(source) in EDGE_LISTS, read_edge_list, ("directed",)),
    _TABLES,
    Reader("a networkx graph", _is_networkx, read_networkx, (*_OBJECT, "label")),
    Reader("a PyG HeteroData object", is_hetero, read_hetero, ("text", "directed", "kind_weights")),
    Reader("a PyG Data object", lambda source: hasattr(source, "edge_index"), read_pyg, _OBJECT),
    Reader("a {type}", sp.issparse, read_scipy, ("directed", "weight")),
    Reader("edges in memory", _is_pairs, read_arrays, _OBJECT[:3]),
]
