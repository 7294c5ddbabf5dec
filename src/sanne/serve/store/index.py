"""A LanceDB index over the vectors that a large graph began with: made once, in the background, and kept on disk."""

import logging
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sanne.errors import MissingExtraError
from sanne.graph.graph import FloatArray, IntArray

logger = logging.getLogger(__name__)

NAME = "search"
_PROBES = 40  # partitions that a search reads; benchmarks/search.py shows the recall
_ROWS_AT_ONCE = 65_536


class SearchIndex:
    """The nearest of many vectors by cosine, found in partitions (IVF) of uncompressed vectors."""

    def __init__(self, table: Any) -> None:
        self._table = table

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """The index in a folder, if there is one and it is complete."""
        if not (folder / f"{NAME}.lance").exists():
            return None
        table = _connect(folder).open_table(NAME)
        return cls(table) if list(table.list_indices()) else None

    @classmethod
    def build(cls, folder: Path, vectors: FloatArray) -> Self:
        """Write vectors, (count, dim), and index them; an existing table is replaced."""
        from lancedb.index import IvfFlat

        logger.info("indexing %s vectors for search", f"{len(vectors):,}")
        dim = vectors.shape[1]
        schema = pa.schema([("number", pa.int64()), ("vector", pa.list_(pa.float32(), dim))])

        def batches() -> Any:
            for first in range(0, len(vectors), _ROWS_AT_ONCE):
                rows = np.ascontiguousarray(vectors[first : first + _ROWS_AT_ONCE], np.float32)
                lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), dim)
                yield pa.record_batch([pa.array(np.arange(first, first + len(rows))), lists], schema=schema)

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        table = _connect(folder).create_table(NAME, reader, mode="overwrite")
        table.create_index("vector", config=IvfFlat(distance_type="cosine"))
        return cls(table)

    def nearest(self, query: FloatArray, count: int) -> IntArray:
        """The numbers of about the `count` nearest."""
        search = self._table.search(query).distance_type("cosine").nprobes(_PROBES).limit(count)
        found: IntArray = search.select(["number", "_distance"]).to_arrow()["number"].to_numpy()
        return found


def find_or_build(folder: Path, vectors: FloatArray) -> SearchIndex | None:
    """The index in a folder, or a new one of these vectors; None if that fails."""
    try:
        return SearchIndex.open(folder) or SearchIndex.build(folder, vectors)
    except (OSError, ValueError, RuntimeError) as error:  # search works without
        logger.warning("%s: the search index could not be made (%s)", folder, error)
        return None


def _connect(folder: Path) -> Any:
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("lancedb", "serve", "the search index of a large graph") from None
    return lancedb.connect(str(folder))
