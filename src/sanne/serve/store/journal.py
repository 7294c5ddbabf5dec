"""The journal: every change in order, in one SQLite file; a change is on disk before it is acknowledged.

An append is one transaction for all the requests that it holds, whole or not at all. SQLite runs in WAL mode with
`synchronous=FULL`: the write-ahead log is fsynced at each commit, so that a commit survives a power failure.
"""

import contextlib
import itertools
import json
import logging
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sanne.errors import StoreError
from sanne.graph.graph import FloatArray

logger = logging.getLogger(__name__)

NAME = "journal.sqlite"
FILES = (NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal")
_APPLICATION_ID = 0x53414E4E  # "SANN": marks the file as ours
_VERSION = 2
# A write-ahead log of this many pages, 16 MiB, is moved into the main file. This is rare, so that a copy of a running
# server's files seldom falls into it; one that does is detected when it is opened.
_LARGEST_LOG = 4096
_FEWEST_ROWS = 1000  # below this the journal is not compacted
_ROWS_AT_ONCE = 8192

Kind = Literal["add", "replace", "delete", "edges", "vector", "stale"]


@dataclass(frozen=True, eq=False)
class Entry:
    """One change of one node.

    Compaction writes two forms that no request does: a weight of zero in "edges" removes an edge, and "stale"
    lists all nodes whose vectors are out of date (weight 1: their own edges changed; 0: those of a neighbour did).
    """

    kind: Kind
    id: str
    text: str | None = None
    features: FloatArray | None = None
    links: tuple[tuple[str, float], ...] = ()
    vector: FloatArray | None = None
    uncertainty: float = float("nan")


Change = Sequence[Entry]  # what one request asked for
FeaturesOf = Callable[[str], FloatArray | None]  # the features that a node was last sent with, by its id
_Row = tuple[Any, ...]

_TABLES = """
CREATE TABLE state (first INTEGER NOT NULL, kept INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY,
  change INTEGER NOT NULL,  -- the sequence number of the first entry of the same request
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  text TEXT,
  features BLOB,            -- float32, compressed by zlib
  links TEXT,               -- JSON: ids, or [id, weight] where the weight is not 1
  vector BLOB,              -- float32
  uncertainty REAL,
  checksum INTEGER NOT NULL -- CRC-32 of the other columns
);
"""
_INSERT = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Journal:
    """Appends entries and reads them back in order.

    Entries are numbered. `first` is the number of the first one that is kept and `end` the number of the next one.
    """

    def __init__(self, folder: Path, dim: int, *, new: bool) -> None:
        self._path = folder / NAME
        self._dim = dim
        if new:
            for name in FILES:  # left by an interrupted creation
                (folder / name).unlink(missing_ok=True)
        elif not self._path.is_file():
            raise StoreError(f"{self._path}: the journal of the store is missing; restore it, or use a new --store")
        with contextlib.ExitStack() as undo:
            try:
                address = f"{self._path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}"
                self._database = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
                undo.callback(self._database.close)
                self._open(new)
            except sqlite3.Error as error:
                raise self._unusable("opened", error) from None
            undo.pop_all()

    def _open(self, new: bool) -> None:
        ask = self._database.execute
        if new:
            ask(f"PRAGMA application_id = {_APPLICATION_ID}")
            ask(f"PRAGMA user_version = {_VERSION}")
        elif ask("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise StoreError(f"{self._path}: not a journal of sanne; restore the file, or use a new --store")
        elif (version := ask("PRAGMA user_version").fetchone()[0]) != _VERSION:
            raise StoreError(f"{self._path}: written in format {version}, this version of sanne reads {_VERSION}")
        ask("PRAGMA journal_mode = WAL")
        ask("PRAGMA synchronous = FULL")
        ask(f"PRAGMA wal_autocheckpoint = {_LARGEST_LOG}")
        if new:
            self._database.executescript(f"BEGIN;{_TABLES}COMMIT;")
        self.first, kept = ask("SELECT first, kept FROM state").fetchone()
        last = ask("SELECT MAX(sequence) FROM entries").fetchone()[0]
        self.end = self.first if last is None else last + 1
        self._next_look = max(_FEWEST_ROWS, 2 * kept)

    @property
    def rows(self) -> int:
        """How many entries are kept."""
        return int(self.end - self.first)

    def append(self, changes: Sequence[Change]) -> None:
        """Write changes, all or none; they are on disk when this returns."""
        rows = list(_rows(changes, self.end))
        if not rows:
            return
        with self._transaction():
            self._database.executemany(_INSERT, rows)
        self.end += len(rows)

    def read(self) -> Iterator[list[Change]]:
        """All changes in order, some at a time."""
        changes: list[Change] = []
        for _, part in itertools.groupby(self._checked_rows(), key=lambda row: row[1]):
            changes.append([self._entry(row) for row in part])
            if len(changes) == _ROWS_AT_ONCE:
                yield changes
                changes = []
        yield changes

    def is_half_dead(self) -> bool:
        """Whether compaction would drop about half of the entries or more; counted each time their number doubles."""
        if self.rows < self._next_look:
            return False
        self._next_look = 2 * self.rows
        last = "SELECT kind, MAX(sequence) FROM entries GROUP BY id"
        ((live,),) = self._ask(f"SELECT COUNT(*) FROM ({last}) WHERE kind != 'delete'")
        return bool(self.rows >= 2 * live)

    def features_finder(self) -> FeaturesOf:
        """A function that reads the features of nodes."""
        found = self._ask("SELECT id, MAX(sequence) FROM entries WHERE kind IN ('add', 'replace') GROUP BY id")
        entries: dict[str, int] = dict(found)

        def find(node_id: str) -> FloatArray | None:
            ((blob,),) = self._ask("SELECT features FROM entries WHERE sequence = ?", entries[node_id])
            return _features(blob)

        return find

    def rewrite(self, entries: Iterable[Entry]) -> None:
        """Replace all entries by these, all or none; the file shrinks."""
        first = self.end + 1  # a gap: numbers noted before are no longer valid
        with self._transaction():
            self._database.executemany(_INSERT, _rows(([entry] for entry in entries), first))
            self._database.execute("DELETE FROM entries WHERE sequence < ?", (first,))
            (kept,) = self._database.execute("SELECT COUNT(*) FROM entries").fetchone()
            self._database.execute("UPDATE state SET first = ?, kept = ?", (first, kept))
        self.first, self.end = first, first + kept
        self._next_look = max(_FEWEST_ROWS, 2 * kept)
        self._tidy("VACUUM")
        self._tidy("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Accept no more changes and close the file."""
        self._database.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._database:  # commits, or rolls back
                self._database.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.Error as error:
            raise self._unusable("written", error) from error

    def _ask(self, question: str, *values: Any) -> list[_Row]:
        try:
            return self._database.execute(question, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable("read", error) from error

    def _tidy(self, command: str) -> None:
        """Run a command that may fail without harm."""
        try:
            self._database.execute(command).fetchall()
        except sqlite3.Error as error:
            logger.warning("%s: %s failed (%s); nothing is lost", self._path, command, error)

    def _checked_rows(self) -> Iterator[_Row]:
        expected = self.first
        try:
            for row in self._database.execute("SELECT * FROM entries ORDER BY sequence"):
                if row[0] != expected:
                    raise StoreError(
                        f"{self._path}: damaged (entry {expected} is missing); if this is a copy of a running server's "
                        "store, copy it again"
                    )
                if _checksum(row[:-1]) != row[-1]:
                    raise StoreError(f"{self._path}: damaged (wrong checksum of entry {expected}); restore the file")
                expected += 1
                yield row
        except sqlite3.Error as error:
            raise self._unusable("read", error) from None

    def _entry(self, row: _Row) -> Entry:
        _, _, kind, node_id, text, features, links, vector, uncertainty, _ = row
        if vector is not None and len(vector) != 4 * self._dim:
            raise StoreError(f"{self._path}: damaged (a vector of another size); restore the file")
        ends = [] if links is None else json.loads(links)
        return Entry(
            kind,
            node_id,
            text,
            _features(features),
            tuple((end, 1.0) if isinstance(end, str) else tuple(end) for end in ends),
            None if vector is None else np.frombuffer(vector, "<f4"),
            math.nan if uncertainty is None else uncertainty,
        )

    def _unusable(self, verb: str, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self._path}: the journal of the store cannot be {verb} ({error})")


def _rows(changes: Iterable[Change], first: int) -> Iterator[_Row]:
    """Changes as rows of the table, numbered from `first`."""
    number = first
    for change in changes:
        start = number
        for entry in change:
            row = (
                number,
                start,
                entry.kind,
                entry.id,
                entry.text,
                None if entry.features is None else zlib.compress(np.asarray(entry.features, "<f4").tobytes(), 1),
                _links_json(entry.links) if entry.links else None,
                None if entry.vector is None else np.asarray(entry.vector, "<f4").tobytes(),
                None if math.isnan(entry.uncertainty) else float(entry.uncertainty),
            )
            yield (*row, _checksum(row))
            number += 1


def _features(blob: bytes | None) -> FloatArray | None:
    return None if blob is None else np.frombuffer(zlib.decompress(blob), "<f4")


def _links_json(links: tuple[tuple[str, float], ...]) -> str:
    ends = [end if weight == 1 else [end, weight] for end, weight in links]
    return json.dumps(ends, ensure_ascii=False, separators=(",", ":"))


def _checksum(values: _Row) -> int:
    checksum = 0
    for value in values:
        checksum = zlib.crc32(value if isinstance(value, bytes) else repr(value).encode(), checksum)
    return checksum
