"""Read LINQS files (NAME.content: id, words, class; NAME.cites: cited id, citing id) as a graph."""

import logging
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.graph.ids import clean_ids, id_array, match_ids, number_ids
from sanne.graph.readers.columns import Block, read_features
from sanne.graph.readers.delimited import DelimitedFile, check_is_file
from sanne.graph.readers.tables import read_unique_ids

logger = logging.getLogger(__name__)


def read_linqs(folder: str | Path, *, directed: bool = False) -> Graph:
    """The graph of a LINQS folder: ids as in the files, words as sparse features, class names as labels.

    A citation of a paper that `.content` does not have (the original Citeseer has 17) is left out and
    logged. A directed graph runs from the citing to the cited paper.
    """
    content, cites = (_only_file(Path(folder), ending) for ending in ("content", "cites"))
    key, *words, label = content.columns
    papers = Block.whole(content, content.columns, [key, label])
    ids = read_unique_ids(papers, key)
    listed = cites.read(cites.columns, strings=cites.columns)
    ends = number_ids([clean_ids(listed.column(end), infer=True) for end in (1, 0)])
    position = np.append(match_ids(ends.distinct, ids), -1)[ends.rows].reshape(2, -1)
    known = (position >= 0).all(axis=0)
    if not known.all():
        logger.warning("%s: left out %d citations of unknown papers", cites.path, int((~known).sum()))
    return Graph.from_edges(
        *position[:, known],
        node_ids=id_array(ids),
        directed=directed,
        features=sp.csr_matrix(read_features(papers, words, key)) if words else None,
        labels=np.array(papers.data.column(label).to_pylist(), dtype=object),
    )


def _only_file(folder: Path, ending: str) -> DelimitedFile:
    """The one file with an ending. Its columns are called 1, 2, 3, ...; the first line says how many there are."""
    found = sorted(folder.glob(f"*.{ending}"))
    if len(found) != 1:
        raise InputError(f"{folder}: expected one *.{ending} file, found {len(found)}")
    path = found[0]
    check_is_file(path)
    with path.open("rb") as file:
        first = file.readline().strip()
    mark = "\t" if b"\t" in first else " "
    width = len(first.split(mark.encode()))
    if width < 2:
        raise InputError(f"{path}, line 1: expected fields separated by tabs")
    return DelimitedFile(path, mark, tuple(str(number) for number in range(1, width + 1)), skip=0)
