"""The journal: what the engine was told, in order, in one LanceDB table; what was appended survives a kill.

An append is one commit, whole or not at all, for all the requests that it holds. Every commit leaves a small file and
a list of all files; a thread in the background joins them.
"""

import datetime
import itertools
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sanne.errors import MissingExtraError, StoreError
from sanne.graph.csr import FloatArray

logger = logging.getLogger(__name__)

NAME = "journal"
_COMMITS_TO_JOIN = 100
_KEPT_VERSIONS = datetime.timedelta(seconds=10)
_ROWS_AT_ONCE = 8192

Kind = Literal["add", "replace", "delete", "edges", "vector"]


@dataclass(frozen=True, eq=False)
class Entry:
    """One thing that happened to one node."""

    kind: Kind
    id: str
    text: str | None = None
    features: FloatArray | None = None
    links: tuple[tuple[str, float], ...] = ()
    vector: FloatArray | None = None
    spread: float = float("nan")


Change = Sequence[Entry]  # what one request asked for


def connect(folder: Path) -> Any:
    """The LanceDB database of a folder."""
    try:
        import lancedb
    except ImportError:
        raise MissingExtraError("lancedb", "serve", "the store of added nodes") from None
    return lancedb.connect(str(folder))


class Journal:
    """Appends entries and reads them back in order."""

    def __init__(self, folder: Path, dim: int, width: int | None, *, new: bool) -> None:
        self._folder = folder
        self._dim = dim
        self._width = width
        self._schema = _schema(dim)
        database = connect(folder)
        try:
            if new:
                database.drop_table(NAME, ignore_missing=True)  # of a store whose making was interrupted
                self._table = database.create_table(NAME, schema=self._schema)
            else:
                self._table = database.open_table(NAME)
            self.rows = int(self._table.count_rows())
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"{folder}: the journal of the store cannot be opened ({reason})") from None
        if self._table.schema != self._schema:
            raise StoreError(f"{folder}: the journal of the store has other columns than this version writes")
        self._commits = _COMMITS_TO_JOIN  # as left by who wrote before: join soon
        self._joiner = ThreadPoolExecutor(1, thread_name_prefix="sanne-journal")
        self._joining: Future[None] | None = None
        self._closed = False

    def append(self, changes: Sequence[Change]) -> None:
        """Write changes, all or none; they are on disk when this returns."""
        count = sum(map(len, changes))
        if count == 0:
            return
        if self._closed:
            raise StoreError(f"{self._folder}: the store is closed")
        try:
            self._table.add(self._to_arrow(changes))
        except (OSError, ValueError, RuntimeError) as error:
            if not self._has_written(count):
                reason = str(error).splitlines()[0]
                raise StoreError(f"{self._folder}: the store cannot be written ({reason})") from error
        self.rows += count
        self._commits += 1
        if self._commits >= _COMMITS_TO_JOIN and (self._joining is None or self._joining.done()):
            self._commits = 0
            self._joining = self._joiner.submit(self._join)

    def _has_written(self, count: int) -> bool:
        """Whether an append of so many rows took place, although it ended in an error."""
        self._table.checkout_latest()
        return int(self._table.count_rows()) == self.rows + count

    def read(self) -> Iterator[list[Change]]:
        """All changes in order, some at a time."""
        try:
            table = self._table.to_arrow().sort_by("sequence")
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"{self._folder}: the journal of the store cannot be read ({reason})") from None
        rows = itertools.chain.from_iterable(batch.to_pylist() for batch in table.to_batches(_ROWS_AT_ONCE))
        changes: list[Change] = []
        for _, part in itertools.groupby(rows, key=lambda row: row["change"]):
            changes.append([self._entry(row) for row in part])
            if len(changes) == _ROWS_AT_ONCE:
                yield changes
                changes = []
        yield changes

    def close(self) -> None:
        """Take nothing more, and wait for the thread in the background."""
        self._closed = True
        self._joiner.shutdown(wait=True)

    def _join(self) -> None:
        """Join small files and drop old lists of files; appends go on meanwhile."""
        try:
            connect(self._folder).open_table(NAME).optimize(cleanup_older_than=_KEPT_VERSIONS)
        except (OSError, ValueError, RuntimeError) as error:  # what was written is whole; the next time may succeed
            logger.warning("%s: the files of the journal could not be joined (%s)", self._folder, error)

    def _to_arrow(self, changes: Sequence[Change]) -> pa.Table:
        entries = [entry for change in changes for entry in change]
        starts = itertools.accumulate(map(len, changes), initial=self.rows)
        numbers = [start for start, change in zip(starts, changes, strict=False) for _ in change]
        features = [_sparse(entry.features) for entry in entries]
        zeros = np.zeros(self._dim, np.float32)
        vectors = np.concatenate([zeros if entry.vector is None else entry.vector for entry in entries])
        columns = [
            pa.array(range(self.rows, self.rows + len(entries)), pa.int64()),
            pa.array(numbers, pa.int64()),
            pa.array([entry.kind for entry in entries]),
            pa.array([entry.id for entry in entries]),
            pa.array([entry.text for entry in entries], pa.string()),
            pa.array([places for places, _ in features], pa.list_(pa.int32())),
            pa.array([values for _, values in features], pa.list_(pa.float32())),
            pa.array([[end for end, _ in entry.links] for entry in entries], pa.list_(pa.string())),
            pa.array([[weight for _, weight in entry.links] for entry in entries], pa.list_(pa.float32())),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32)), self._dim),
            pa.array([entry.spread for entry in entries], pa.float32()),
        ]
        return pa.table(columns, schema=self._schema)

    def _entry(self, row: dict[str, Any]) -> Entry:
        features = None
        if row["feature_places"] is not None:
            features = np.zeros(self._width or 0, np.float32)
            features[row["feature_places"]] = row["feature_values"]
        links = tuple(zip(row["link_ids"], row["link_weights"], strict=True))
        has_vector = row["kind"] in ("add", "replace", "vector")
        vector = np.array(row["vector"], np.float32) if has_vector else None
        return Entry(row["kind"], row["id"], row["text"], features, links, vector, row["spread"])


def _sparse(features: FloatArray | None) -> tuple[Any, Any]:
    if features is None:
        return None, None
    places = np.flatnonzero(features)
    return places.astype(np.int32), np.asarray(features, np.float32)[places]


def _schema(dim: int) -> pa.Schema:
    return pa.schema(
        [
            ("sequence", pa.int64()),
            ("change", pa.int64()),  # the sequence number of the first row of what was asked for at once
            ("kind", pa.string()),
            ("id", pa.string()),
            ("text", pa.string()),
            ("feature_places", pa.list_(pa.int32())),
            ("feature_values", pa.list_(pa.float32())),
            ("link_ids", pa.list_(pa.string())),
            ("link_weights", pa.list_(pa.float32())),
            ("vector", pa.list_(pa.float32(), dim)),
            ("spread", pa.float32()),
        ]
    )
