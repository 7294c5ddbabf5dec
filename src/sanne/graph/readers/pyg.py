"""Read a PyTorch Geometric `Data` object as a graph, by its attributes: the package need not be installed."""

from typing import Any

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.readers.arrays import read_arrays
from sanne.graph.readers.node_data import as_array


def read_pyg(
    data: Any,
    *,
    features: Any = None,
    text: Any = None,
    weight: str | bool | None = None,
    directed: bool = False,
) -> Graph:
    """The graph of `edge_index`, with `x` as features, `y` as labels; ids are 0..num_nodes-1.

    Weights come from `edge_weight`, else from a one-column `edge_attr`; `weight=False` reads none.
    `text` may name an attribute of `data` that holds one text per node.
    """
    edge_index = as_array(data.edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype.kind not in "iu":
        raise InputError(f"edge_index must be integers of shape (2, edges), not {edge_index.shape}")
    if isinstance(text, str):
        if getattr(data, text, None) is None:
            raise InputError(f"text={text!r}: the Data object has no such attribute")
        text = getattr(data, text)
    labels = getattr(data, "y", None)
    if features is None:
        features = getattr(data, "x", None)
    count = getattr(data, "num_nodes", None)
    if count is None:
        count = int(edge_index.max()) + 1 if edge_index.size else 0
    if labels is not None and len(as_array(labels).reshape(-1)) == 1 and count != 1:
        labels = None  # one label for the whole graph
    return read_arrays(
        (edge_index[0], edge_index[1]),
        weights=None if weight is False else _weights(data, required=bool(weight)),
        num_nodes=int(count),
        features=features,
        text=text,
        labels=labels,
        directed=directed,
    )


def _weights(data: Any, *, required: bool) -> Any:
    for name in ("edge_weight", "edge_attr"):
        value = getattr(data, name, None)
        if value is not None:
            array = as_array(value)
            if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
                return array.ravel()
    if required:
        raise InputError("the Data object has neither edge_weight nor a one-column edge_attr")
    return None
