"""A LanceDB index over the vectors of a large graph: kept on disk, and rebuilt when much has changed."""

import datetime
import json
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sanne.errors import MissingExtraError
from sanne.files.atomic import replaced_file
from sanne.graph.graph import FloatArray, IntArray
from sanne.serve.store.vectors import EXACT_ROWS, LiveVectors

logger = logging.getLogger(__name__)

NAME = "search"
_PROBES = 40  # partitions that a search reads; benchmarks/search.py shows the recall
_ROWS_AT_ONCE = 65_536
_HEADER = "search.json"


def connect(folder: Path) -> Any:
    """The LanceDB database in a folder."""
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("lancedb", "serve", "the search index of a large graph") from None
    return lancedb.connect(str(folder))


class SearchIndex:
    """The nearest of many vectors by cosine, found in partitions (IVF) of uncompressed vectors."""

    def __init__(self, table: Any) -> None:
        self._table = table

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

        database = connect(folder)
        there = (folder / f"{NAME}.lance").exists()
        if there:  # keep the version in use, remove older ones
            database.open_table(NAME).optimize(cleanup_older_than=datetime.timedelta(minutes=1))
        table = database.create_table(
            NAME, pa.RecordBatchReader.from_batches(schema, batches()), mode="overwrite" if there else "create"
        )
        table.create_index("vector", config=IvfFlat(distance_type="cosine"))
        return cls(table)

    def nearest(self, query: FloatArray, count: int) -> IntArray:
        """The numbers of about the `count` nearest."""
        search = self._table.search(query).distance_type("cosine").nprobes(_PROBES).limit(count)
        found: IntArray = search.select(["number", "_distance"]).to_arrow()["number"].to_numpy()
        return found


class IndexKeeper:
    """Builds an index for a large graph, and a new one when many vectors are newer than it."""

    def __init__(self, folder: Path, vectors: LiveVectors) -> None:
        self._folder = folder
        self._vectors = vectors
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="sanne-index")
        self._making: Future[None] | None = None
        self._given_up = False

    @property
    def journal_end(self) -> int | None:
        """Where the journal ended when the index on disk was made; None if there is no index."""
        try:
            header = json.loads((self._folder / _HEADER).read_text(encoding="utf-8"))
            return int(header["journal_end"])
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def restore(self) -> None:
        """Use the index on disk; called when the vectors are those that it was built from."""
        table = connect(self._folder).open_table(NAME)
        self._vectors.begin_index()
        self._vectors.use_index(SearchIndex(table))

    def look(self, journal_end: int) -> None:
        """Start building an index in the background, if one is due."""
        due = self._vectors.count > EXACT_ROWS and (
            self._vectors.index is None or self._vectors.num_newer > EXACT_ROWS // 2
        )
        if due and not self._given_up and (self._making is None or self._making.done()):
            with self._vectors.lock:
                vectors = self._vectors.begin_index()
            self._making = self._maker.submit(self._make, vectors, journal_end)

    def close(self) -> None:
        """Wait for an index that is being built."""
        self._maker.shutdown(wait=True)

    def _make(self, vectors: FloatArray, journal_end: int) -> None:
        try:
            (self._folder / _HEADER).unlink(missing_ok=True)  # until the new one is complete
            index = SearchIndex.build(self._folder, vectors)
            with replaced_file(self._folder / _HEADER) as part:
                part.write_text(json.dumps({"journal_end": journal_end}) + "\n", encoding="utf-8")
        except (OSError, ValueError, RuntimeError) as error:
            self._given_up = True  # until the next start; search works without
            logger.warning("%s: the search index could not be built (%s)", self._folder, error)
            return
        with self._vectors.lock:
            self._vectors.use_index(index)
