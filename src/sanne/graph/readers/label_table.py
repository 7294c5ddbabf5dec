"""Read a table of classes, columns `id` and `label`, for nodes that are known already."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.graph.ids import encode_ids, match_ids, refuse_control_characters
from sanne.graph.readers.columns import read_labels
from sanne.graph.readers.tables import open_table


def read_label_table(source: Any, node_ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One label per node of `node_ids`: -1 or "" where the table has none. Rows of other nodes are passed over."""
    table = open_table(source, "label table")
    names = {name.lower(): name for name in table.columns}
    if "id" not in names or "label" not in names:
        found = ", ".join(table.columns) or "none"
        raise InputError(f"{table.name}: a label table needs the columns id and label; found {found}")
    data = table.read([names["id"], names["label"]], strings=[names["id"], names["label"]])
    ids = encode_ids([data.column(names["id"])], infer=not table.typed)
    refuse_control_characters(ids, table.place)
    if len(np.unique(ids.rows)) != len(ids.rows):
        raise InputError(f"{table.name}: an id stands more than once or is missing; keep one row per node")
    given = read_labels(table, data.column(names["label"]), names["label"])
    position = match_ids(pa.array(node_ids), ids.distinct)
    if not (position >= 0).any():
        raise InputError(f"{table.name}: none of its ids is a node of the model; check the column 'id'")
    row_of = np.empty(len(ids.rows), np.int64)
    row_of[ids.rows] = np.arange(len(ids.rows))
    nothing = -1 if given.dtype.kind == "i" else ""
    labels = np.full(len(node_ids), nothing, dtype=given.dtype)
    labels[position >= 0] = given[row_of[position[position >= 0]]]
    return labels
