"""Read PyTorch Geometric `Data` and `HeteroData` as graphs, by their attributes: the package need not be installed."""

from typing import Any

import numpy as np

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.readers.arrays import as_array, as_features, as_labels, as_texts, read_arrays
from sanne.graph.readers.kinds import Kinds, KindWeights, weights_by_likeness


def read_pyg(
    data: Any, *, features: Any = None, text: Any = None, weight: str | bool | None = None, directed: bool = False
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


def is_hetero(source: Any) -> bool:
    return hasattr(source, "node_types") and hasattr(source, "edge_types")


def read_hetero(
    data: Any, *, text: str | None = None, directed: bool = False, kind_weights: KindWeights | None = None
) -> Graph:
    """The graph of all node types and relations; node 3 of the type `paper` has the id `paper:3`.

    Each type has its own columns for its `x`; in those of other types it gets their mean, which is neutral. `text`
    names an attribute with one text per node, of the types that have it. Labels are the `y` of the only type with one.
    `kind_weights` is by relation.
    """
    counts = {kind: int(data[kind].num_nodes) for kind in data.node_types}
    starts = dict(zip(counts, np.cumsum([0, *counts.values()]).tolist(), strict=False))
    ids = np.array([f"{kind}:{i}" for kind, count in counts.items() for i in range(count)], object)
    places = {kind: slice(starts[kind], starts[kind] + count) for kind, count in counts.items()}

    def attribute(name: str, read: Any) -> dict[str, Any]:
        given = {kind: data[kind][name] for kind in counts if data[kind].get(name) is not None}
        return {kind: read(value, ids[places[kind]]) for kind, value in given.items()}

    texts = np.full(len(ids), "", object)
    found = attribute(text, as_texts) if text else {}
    if text and not found:
        raise InputError(f"text={text!r}: no node type has such an attribute")
    for kind, own in found.items():
        texts[places[kind]] = own
    columns = []
    for kind, x in attribute("x", as_features).items():
        rows = x.toarray() if hasattr(x, "toarray") else x
        block = np.tile(rows.mean(axis=0), (len(ids), 1)).astype(np.float32)
        block[places[kind]] = rows
        columns.append(block)
    labels = attribute("y", as_labels)
    one = next(iter(labels.items())) if len(labels) == 1 else None
    classes = None
    if one is not None and one[1].ndim == 1:
        classes = np.full(len(ids), -1 if one[1].dtype.kind == "i" else "", one[1].dtype)
        classes[places[one[0]]] = one[1]
    kinds = Kinds.of("relation", kind_weights)
    assert kinds is not None
    ends, codes, names = [], [], [relation for _, relation, _ in data.edge_types]
    for number, (source, relation, target) in enumerate(data.edge_types):
        pairs = as_array(data[source, relation, target].edge_index)
        ends.append(np.stack([pairs[0] + starts[source], pairs[1] + starts[target]]))
        codes.append(np.full(pairs.shape[1], number))
        kinds.seen[relation] += pairs.shape[1]
    kinds.check("the HeteroData object")
    (sources, targets), kind_of = np.concatenate(ends, axis=1), np.concatenate(codes)
    weights = kinds.given(names)
    chosen: dict[str, Any] = {}
    if kinds.auto:
        weights = weights_by_likeness(kind_of, len(names), sources, targets, texts if text else None, None)
        chosen["kind_weights"] = dict(zip(names, weights.tolist(), strict=True))
    kept = weights[kind_of] > 0
    return Graph.from_edges(
        *(sources[kept], targets[kept], weights[kind_of][kept] if kinds.weighted else None),
        node_ids=ids,
        directed=directed,
        features=np.concatenate(columns, axis=1) if columns else None,
        texts=texts if text else None,
        labels=classes,
        chosen=chosen,
    )
