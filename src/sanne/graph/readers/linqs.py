"""Read LINQS files (NAME.content: id, words, class; NAME.cites: cited id, citing id) as a graph."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import encode_ids, id_array, match_ids, refuse_control_characters
from sanne.graph.readers.delimited import DelimitedFile, check_is_file

logger = logging.getLogger(__name__)


def read_linqs(folder: str | Path, *, directed: bool = False) -> Graph:
    """The graph of a LINQS folder: ids as in the files, words as sparse features, class names as labels.

    A citation of a paper that `.content` does not have (the original Citeseer has 17) is left out and
    logged. A directed graph runs from the citing to the cited paper.
    """
    folder = Path(folder)
    content, cites = (_only_file(folder, ending) for ending in ("content", "cites"))
    table = content.read(content.columns, strings=[content.columns[0], content.columns[-1]])
    ids = encode_ids([table.column(0)], infer=True)
    if len(ids.distinct) != len(ids.rows):
        row = int(np.flatnonzero(ids.rows != np.arange(len(ids.rows)))[0])
        raise InputError(f"{content.place(row)}: id {table.column(0)[row].as_py()!r} is empty or a repeat")
    refuse_control_characters(ids, content.place)
    listed = cites.read(cites.columns, strings=cites.columns)
    ends = encode_ids([listed.column(1), listed.column(0)], infer=True)
    position = np.append(match_ids(ends.distinct, ids.distinct), -1)[ends.rows]
    sources, targets = position[: len(listed)], position[len(listed) :]
    known = (sources >= 0) & (targets >= 0)
    if not known.all():
        logger.warning("%s: left out %d citations of unknown papers", cites.path, int((~known).sum()))
    return Graph.from_edges(
        sources[known],
        targets[known],
        node_ids=id_array(ids.distinct),
        directed=directed,
        features=_words(content, table),
        labels=np.array(table.column(table.num_columns - 1).to_pylist(), dtype=object),
    )


def _only_file(folder: Path, ending: str) -> DelimitedFile:
    found = sorted(folder.glob(f"*.{ending}"))
    if len(found) != 1:
        raise InputError(f"{folder}: expected one *.{ending} file, found {len(found)}")
    return _open_without_header(found[0])


def _open_without_header(path: Path) -> DelimitedFile:
    """Columns are called 0, 1, 2, ...; the first line says how many there are."""
    check_is_file(path)
    with path.open("rb") as file:
        first = file.readline().strip()
    mark = "\t" if b"\t" in first else " "
    width = len(first.split(mark.encode()))
    if width < 2:
        raise InputError(f"{path}, line 1: expected fields separated by tabs")
    return DelimitedFile(path, mark, tuple(map(str, range(width))), skip=0)


def _words(content: DelimitedFile, table: pa.Table) -> Any:
    columns = []
    for name in content.columns[1:-1]:
        column = table.column(name)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.null_count:
            raise InputError(f"{content.path}: column {int(name) + 1} holds something else than numbers")
        values: npt.NDArray[Any] = column.to_numpy()
        columns.append(values.astype(np.float32))
    if not columns:
        return None
    return sp.csr_matrix(np.column_stack(columns))
