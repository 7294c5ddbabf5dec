"""The changes of a store in one SQLite file; they are on disk before they are acknowledged.

A write is one transaction for all the requests that it holds, whole or not at all. SQLite runs in WAL mode with
`synchronous=FULL`: the write-ahead log is fsynced at each commit, so that a commit survives a power failure.
"""

import contextlib
import itertools
import math
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sanne.errors import StoreError
from sanne.graph.graph import FloatArray
from sanne.serve.store.changes import Changes, NodeRow

NAME = "changes.sqlite"
FILES = (NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal")
_APPLICATION_ID = 0x53414E4E  # "SANN": marks the file as ours
_VERSION = 3  # before, the file was a journal of all changes
_NODES_AT_ONCE = 8192

_TABLES = """
CREATE TABLE nodes (
  place INTEGER PRIMARY KEY,  -- in order of arrival
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,         -- added, replaced, or refreshed: a node of the base with another vector
  vector BLOB NOT NULL,       -- float32
  uncertainty REAL,
  text TEXT,
  features BLOB               -- float32, compressed by zlib
);
CREATE TABLE edges (source TEXT, target TEXT, weight REAL NOT NULL, PRIMARY KEY (source, target)) WITHOUT ROWID;
CREATE INDEX edges_by_target ON edges (target);
CREATE TABLE deleted (id TEXT PRIMARY KEY) WITHOUT ROWID;                    -- nodes of the base
CREATE TABLE stale (id TEXT PRIMARY KEY, own INTEGER NOT NULL) WITHOUT ROWID; -- vectors that are out of date
"""
_PUT_NODE = """
INSERT INTO nodes (id, kind, vector, uncertainty, text, features) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
SET vector = excluded.vector, uncertainty = excluded.uncertainty"""
_PUT_CONTENT = f"""{_PUT_NODE}, text = excluded.text, features = excluded.features,
kind = CASE kind WHEN 'added' THEN 'added' ELSE 'replaced' END"""
# Nothing is left to say of an edge that was removed if one of its ends is not of the base.
_FORGET_REMOVED = """
DELETE FROM edges WHERE weight = 0
AND EXISTS (SELECT * FROM nodes WHERE kind = 'added' AND id IN (source, target))"""


class Database:
    """Writes changes, and reads back what they lead to."""

    def __init__(self, folder: Path, dim: int, *, new: bool) -> None:
        self._path = folder / NAME
        self._dim = dim
        if new:
            for name in FILES:  # left by an interrupted creation
                (folder / name).unlink(missing_ok=True)
        elif not self._path.is_file():
            raise StoreError(f"{self._path}: this file of the store is missing; restore it, or use a new --store")
        with contextlib.ExitStack() as undo:
            try:
                address = f"{self._path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}"
                self._connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
                undo.callback(self._connection.close)
                self._open(new)
            except sqlite3.Error as error:
                raise self._unusable("opened", error) from None
            undo.pop_all()

    def _open(self, new: bool) -> None:
        ask = self._connection.execute
        if new:
            ask(f"PRAGMA application_id = {_APPLICATION_ID}")
            ask(f"PRAGMA user_version = {_VERSION}")
        elif ask("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise StoreError(f"{self._path}: not a file of a sanne store; restore the file, or use a new --store")
        elif (version := ask("PRAGMA user_version").fetchone()[0]) != _VERSION:
            raise StoreError(f"{self._path}: written in format {version}, this version of sanne reads {_VERSION}")
        ask("PRAGMA journal_mode = WAL")
        ask("PRAGMA synchronous = FULL")
        if new:
            self._connection.executescript(f"BEGIN;{_TABLES}COMMIT;")
        elif (found := ask("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise self._damaged(found)
        ask(_FORGET_REMOVED)

    def write(self, changes: Changes) -> None:
        """Write changes, all or none; they are on disk when this returns."""
        many = self._connection.executemany
        nodes, edges, stale = changes.nodes.values(), changes.edges.items(), changes.stale.items()
        try:
            with self._connection:  # commits, or rolls back
                self._connection.execute("BEGIN IMMEDIATE")
                many(_PUT_NODE, (_values(node) for node in nodes if node.kind == "refreshed"))
                many(_PUT_CONTENT, (_values(node) for node in nodes if node.kind != "refreshed"))
                many("INSERT OR REPLACE INTO edges VALUES (?, ?, ?)", ((*pair, weight) for pair, weight in edges))
                many("INSERT OR REPLACE INTO stale VALUES (?, ?)", ((id, own) for id, own in stale if own is not None))
                many("DELETE FROM stale WHERE id = ?", ((id,) for id, own in stale if own is None))
                for id, of_base in changes.deleted.items():
                    for table, column in (("nodes", "id"), ("edges", "source"), ("edges", "target"), ("stale", "id")):
                        self._connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (id,))
                    if of_base:
                        self._connection.execute("INSERT INTO deleted VALUES (?)", (id,))
        except sqlite3.Error as error:
            raise self._unusable("written", error) from error

    def deleted(self) -> Iterator[str]:
        """As in `Contents`, like the following."""
        return (id for (id,) in self._rows("SELECT id FROM deleted"))

    def edges(self) -> Iterator[tuple[str, str, float]]:
        return self._rows("SELECT source, target, weight FROM edges")

    def stale(self) -> Iterator[tuple[str, bool]]:
        return ((id, bool(own)) for id, own in self._rows("SELECT id, own FROM stale"))

    def nodes(self) -> Iterator[list[NodeRow]]:
        rows = self._rows("SELECT id, kind, vector, uncertainty, text, features FROM nodes ORDER BY place")
        while some := [self._node(row) for row in itertools.islice(rows, _NODES_AT_ONCE)]:
            yield some

    def close(self) -> None:
        """Accept no more changes and close the file."""
        self._connection.close()

    def _rows(self, question: str) -> Iterator[Any]:
        try:
            for row in self._connection.execute(question):  # noqa: UP028 (`yield from` would close the cursor later)
                yield row
        except sqlite3.Error as error:
            raise self._unusable("read", error) from None

    def _node(self, row: tuple[Any, ...]) -> NodeRow:
        id, kind, vector, uncertainty, text, features = row
        if len(vector) != 4 * self._dim:
            raise self._damaged("a vector of another size")
        given = None if features is None else np.frombuffer(zlib.decompress(features), "<f4")
        uncertainty = math.nan if uncertainty is None else uncertainty
        return NodeRow(id, kind, np.frombuffer(vector, "<f4"), uncertainty, text, given)

    def _damaged(self, how: str) -> StoreError:
        return StoreError(f"{self._path}: damaged ({how}); restore the file, or use a new --store")

    def _unusable(self, verb: str, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self._path}: the store cannot be {verb} ({error})")


def _values(node: NodeRow) -> tuple[Any, ...]:
    """A node as a row of the table."""
    features = None if node.features is None else zlib.compress(_bytes(node.features), 1)
    uncertainty = None if math.isnan(node.uncertainty) else float(node.uncertainty)
    return node.id, node.kind, _bytes(node.vector), uncertainty, node.text, features


def _bytes(numbers: FloatArray) -> bytes:
    return np.asarray(numbers, "<f4").tobytes()
