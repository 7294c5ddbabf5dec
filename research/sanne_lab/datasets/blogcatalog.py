"""Read BlogCatalog as it is published: nodes.csv, edges.csv and group-edges.csv, none with a header."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import clean_ids, id_array, match_ids, number_ids, sort_ids
from sanne.graph.readers.delimited import DelimitedFile, check_is_file


def read_blogcatalog(folder: str | Path) -> Graph:
    """The graph, with labels as a sparse 0/1 matrix (nodes, groups): a blogger may be in several groups."""
    folder = Path(folder)
    (nodes,) = _columns(folder / "nodes.csv", 1)
    sources, targets = _columns(folder / "edges.csv", 2)
    members, groups = _columns(folder / "group-edges.csv", 2)
    ids = number_ids([nodes]).distinct
    named = number_ids([sources, targets, members])
    position = np.append(match_ids(named.distinct, ids), -1)[named.rows]
    if len(position) and position.min() < 0:
        raise InputError(f"{folder}: an edge or a group names a node that nodes.csv does not have")
    source, target, member = np.split(position, [len(sources), len(sources) + len(targets)])
    named_groups = sort_ids(number_ids([groups]))
    if len(group := named_groups.rows) and group.min() < 0:
        raise InputError(f"{folder / 'group-edges.csv'}, row {int(group.argmin()) + 1}: no group; fill it in")
    shape = (len(ids), len(named_groups.distinct))
    labels = sp.csr_matrix((np.ones(len(member), np.int8), (member, group)), shape=shape)
    labels.data[:] = 1
    return Graph.from_edges(source, target, node_ids=id_array(ids), labels=labels)


def _columns(path: Path, width: int) -> list[pa.ChunkedArray]:
    check_is_file(path)
    file = DelimitedFile(path, ",", tuple(map(str, range(width))), skip=0)
    return [clean_ids(column, infer=True) for column in file.read(file.columns, strings=file.columns).columns]
