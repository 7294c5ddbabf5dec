"""Read a networkx graph: node and edge attributes become columns of tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import id_array
from sanne.graph.readers.arrays import id_column
from sanne.graph.readers.columns import Block, read_weights
from sanne.graph.readers.named import NodeColumns, as_names
from sanne.graph.readers.typed_tables import column_of, open_memory_table


def read_networkx(
    source: Any,
    *,
    text: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    label: str | None = None,
    weight: str | bool | None = None,
    directed: bool = False,
) -> Graph:
    """The graph of a networkx Graph, DiGraph or their multigraph kinds, nodes in networkx's order.

    text, features, label: node attributes (label by default: `label`, if every node has it).
    weight: an edge attribute (default: `weight`, if every edge has it); False reads none.
    Ids that are neither integers nor text are written as text. The graph knows itself whether it is directed.
    """
    attributes = [data for _, data in source.nodes(data=True)]
    if label is None and attributes and all("label" in data for data in attributes):
        label = "label"
    known = {name for data in attributes for name in data}
    columns = {}
    for name in (*as_names(text), *as_names(features), *([label] if label else [])):
        if name not in known:
            found = ", ".join(sorted(map(str, known))) or "none"
            raise InputError(f"no node has the attribute {name!r}; found {found}")
        columns[name] = column_of([data.get(name) for data in attributes], f"networkx nodes, attribute {name!r}")
    ids = id_column(list(source.nodes))
    nodes = open_memory_table(pa.table({**columns, "id": ids}), "networkx nodes")
    named = NodeColumns("id", as_names(text), as_names(features), label)
    position = {node: index for index, node in enumerate(source.nodes)}
    ends = np.array([(position[u], position[v]) for u, v in source.edges()], np.int64).reshape(-1, 2)
    return Graph.from_edges(
        *(ends[:, 0], ends[:, 1], _weights(source, weight)),
        node_ids=id_array(ids),
        directed=source.is_directed(),
        **named.read(Block.whole(nodes, nodes.columns, ()), infer=False),
    )


def _weights(source: Any, weight: str | bool | None) -> npt.NDArray[np.float64] | None:
    name = weight if isinstance(weight, str) else "weight"
    values = [data.get(name) for _, _, data in source.edges(data=True)]
    if weight is False or not values or (weight is None and None in values):
        return None
    edges = open_memory_table(pa.table({name: column_of(values, "networkx edges")}), "networkx edges")
    return read_weights(Block.whole(edges, [name], ()), name)
