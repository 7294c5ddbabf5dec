"""What the server stores: the current state of nodes and edges that differ from the base graph.

A write is one transaction for all of its requests, all or nothing. SQLite runs in WAL mode with
`synchronous=FULL`: the write-ahead log is fsynced at each commit, so that a commit survives a power failure.

| file of the store folder | what |
|---|---|
| `changes.sqlite` (`-wal`, `-shm`) | all changes, and digests of the model and the graph that they belong to |
| `vectors.npy`, `uncertainty.npy` | of the base graph's nodes, in their order, as they were when the store was made |
| `map` | where the nodes are on the page's map; can be made again |
| `unfinished` | marks a folder in which a store is being created |
"""

import contextlib
import hashlib
import itertools
import json
import logging
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from sanne.errors import InputError, StoreError
from sanne.files.atomic import check_target, claimed, replaced_file
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.embed import embed
from sanne.model.artifact import VECTORS, Artifact
from sanne.serve.store.vectors import LiveVectors
from sanne.vectors.formats import read_vectors

logger = logging.getLogger(__name__)

_NAME = "changes.sqlite"
_UNFINISHED = "unfinished"
_APPLICATION_ID = 0x53414E4E  # "SANN": marks the file as ours
_VERSION = 4  # earlier versions kept digests in a separate file
_NODES_AT_ONCE = 4096
_SAMPLED = 65_536  # entries of each array of a graph that its digest reads
_MAPPED_BYTES = 2**28  # base vectors of more than this stay on disk

_TABLES = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
BEGIN;
CREATE TABLE made_for (name TEXT PRIMARY KEY, digest TEXT NOT NULL); -- model, graph
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
COMMIT;
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

MakeVectors = Callable[[], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class NodeRow:
    """A node that was added or replaced, or a base node whose vector was refreshed."""

    id: str
    kind: Literal["added", "replaced", "refreshed"]
    vector: FloatArray
    uncertainty: float
    text: str | None = None
    features: FloatArray | None = None  # as they were sent


@dataclass(eq=False)
class Changes:
    """Changes to write, by id. An added node stays added when it is written as replaced or refreshed."""

    nodes: dict[str, NodeRow] = field(default_factory=dict)
    edges: dict[tuple[str, str], float] = field(default_factory=dict)  # zero: removed
    deleted: dict[str, bool] = field(default_factory=dict)  # with all their edges; whether they are of the base
    stale: dict[str, bool | None] = field(
        default_factory=dict
    )  # whether their own edges changed; None: no longer stale

    def __bool__(self) -> bool:
        return bool(self.nodes or self.edges or self.deleted or self.stale)

    def copy(self) -> "Changes":
        return Changes(dict(self.nodes), dict(self.edges), dict(self.deleted), dict(self.stale))


class Store(Protocol):
    """What the engine needs from a store. All methods but `close` raise StoreError if the store cannot be used."""

    vectors: LiveVectors  # of the base nodes, when the store is opened

    def deleted(self) -> Iterator[str]:
        """The ids of deleted nodes of the base."""

    def nodes(self) -> Iterator[list[NodeRow]]:
        """Nodes, some at a time, in the order in which they were added."""

    def edges(self) -> Iterator[tuple[str, str, float]]:
        """Edges that are not as in the base, with their weights; zero: removed."""

    def stale(self) -> Iterator[tuple[str, bool]]:
        """Nodes whose vectors are out of date, and whether their own edges changed."""

    def write(self, changes: Changes) -> None:
        """Write changes, all or none; they are durable when this returns."""

    def close(self) -> None:
        """Finish; a second call does nothing."""


class OpenStore(Protocol):
    """Opens a store, or creates one if there is none."""

    def __call__(self, folder: str | Path, *, model: str, graph: str, dim: int, make_vectors: MakeVectors) -> Store:
        """`model` and `graph` are digests; `make_vectors` computes the vectors and uncertainties of the base nodes."""


class FolderStore:
    """A store in a folder, locked against other processes."""

    def __init__(self, folder: str | Path, *, model: str, graph: str, dim: int, make_vectors: MakeVectors) -> None:
        try:
            self._folder = check_target(folder, folder=True)
        except InputError as error:
            raise StoreError(str(error)) from None
        self._folder.mkdir(exist_ok=True)
        self._path = self._folder / _NAME
        self._dim = dim
        with contextlib.ExitStack() as held:
            held.enter_context(claimed(self._path))
            self._create_if_new({"model": model, "graph": graph}, make_vectors)
            try:
                address = f"{self._path.absolute().as_uri()}?mode=rw"
                self._connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
                held.callback(self._connection.close)
                self._check({"model": model, "graph": graph})
            except sqlite3.Error as error:
                raise self._unusable("opened", error) from None
            self.vectors = self._base_vectors()
            self._held = held.pop_all()

    def _create_if_new(self, digests: dict[str, str], make_vectors: MakeVectors) -> None:
        """Create a store in an empty folder, or where an earlier creation was interrupted; the database comes last."""
        names = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        if _NAME in names:
            return
        if names and _UNFINISHED not in names:
            raise StoreError(
                f"{self._folder}: this folder is not a store and has other files ({names[0]}); choose an empty one"
            )
        (self._folder / _UNFINISHED).touch()
        for name, array in zip(("vectors", "uncertainty"), make_vectors(), strict=True):
            with replaced_file(self._folder / f"{name}.npy") as part:
                np.save(part, np.asarray(array, np.float32), allow_pickle=False)
        with replaced_file(self._path) as part, contextlib.closing(sqlite3.connect(part)) as database, database:
            database.executescript(_TABLES)
            database.executemany("INSERT INTO made_for VALUES (?, ?)", digests.items())
        (self._folder / _UNFINISHED).unlink()

    def _check(self, digests: dict[str, str]) -> None:
        ask = self._connection.execute
        if ask("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise StoreError(f"{self._path}: not a file of a sanne store; restore the file, or use a new --store")
        if (version := ask("PRAGMA user_version").fetchone()[0]) != _VERSION:
            raise StoreError(
                f"{self._path}: the store has format {version}, but this version of sanne reads {_VERSION}: choose "
                "a new --store and add the nodes again, or serve this store with the version that wrote it"
            )
        ask("PRAGMA journal_mode = WAL")
        ask("PRAGMA synchronous = FULL")
        if (found := ask("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise self._damaged(found)
        for name, digest in ask("SELECT name, digest FROM made_for"):
            if digests.get(name) != digest:
                raise StoreError(
                    f"{self._folder}: this store was made for another {name}, whose vectors do not fit this one's; "
                    f"serve the {name} that it was made for, or choose a new --store"
                )
        ask(_FORGET_REMOVED)

    def _base_vectors(self) -> LiveVectors:
        try:
            vectors = np.load(self._folder / "vectors.npy", mmap_mode="c", allow_pickle=False)  # writes stay in memory
            uncertainty = np.load(self._folder / "uncertainty.npy", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise StoreError(f"{self._folder}: the base vectors of the store cannot be read ({error})") from None
        if vectors.ndim != 2 or vectors.shape[1] != self._dim or uncertainty.shape != (len(vectors),):
            raise StoreError(f"{self._folder}: the base vectors of the store are damaged (shape {vectors.shape})")
        return LiveVectors(np.array(vectors) if vectors.nbytes <= _MAPPED_BYTES else vectors, uncertainty)

    def write(self, changes: Changes) -> None:
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
        self._held.close()

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


def base_vectors(model_folder: str | Path, artifact: Artifact, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """Vectors and uncertainties for a new store: those of the fit if this is its graph, else computed now."""
    fitted = artifact.record.get("data", {})
    served = {"nodes": graph.num_nodes, "edges": graph.num_edges, "directed": graph.directed}
    if all(fitted.get(name) == value for name, value in served.items()):
        with contextlib.suppress(InputError, OSError):
            kept = read_vectors(Path(model_folder) / VECTORS)
            if np.array_equal(kept.node_ids, np.asarray(graph.node_ids)):
                return kept.vectors, kept.uncertainty
    logger.info("this is not the graph that the model was fitted on: embedding its %s nodes", f"{graph.num_nodes:,}")
    found = embed(artifact, graph)
    return found.vectors, found.uncertainty


def model_digest(artifact: Artifact) -> str:
    """Identifies a model that was read from a folder: settings, weights and feature map."""
    files = [artifact.sha256[name] for name in ("features.json", "model.safetensors")]
    described = [artifact.config.to_dict(), artifact.seed, files]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def graph_digest(graph: Graph) -> str:
    """Identifies a graph by its size and evenly spaced samples of its ids and arcs: a large one is not read whole."""
    digest = hashlib.sha256()
    digest.update(repr((graph.num_nodes, len(graph.indices), graph.directed, graph.weights is not None)).encode())
    for array in (graph.indptr, graph.indices, graph.weights, graph.node_ids):
        if array is not None and len(array):
            rows = np.unique(np.linspace(0, len(array) - 1, _SAMPLED).astype(np.int64))
            sample = array[rows]
            digest.update(repr(sample.tolist()).encode() if sample.dtype == object else np.asarray(sample).tobytes())
    return digest.hexdigest()
