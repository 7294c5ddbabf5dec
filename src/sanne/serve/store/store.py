"""The store folder: what was added since the fit, and the vectors that all nodes began with.

| file | what |
|---|---|
| `store.json` | format version, and digests of the model and the graph that the store belongs to; written last |
| `unfinished` | marks a folder in which a store is being created |
| `lock` | held by the server that uses the store |
| `vectors.npy`, `uncertainty.npy` | of the base graph's nodes, in their order |
| `changes.sqlite` (`-wal`, `-shm`) | the nodes, edges and vectors that are not as they were when the store was made |
| `map` | where the nodes are on the page's map; can be made again |
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from sanne.errors import InputError, StoreError
from sanne.files.atomic import check_target, replaced_file
from sanne.files.locks import take_lock
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.embed import embed
from sanne.model.artifact import VECTORS, Artifact
from sanne.serve.store.changes import Changes, Contents
from sanne.serve.store.database import FILES, Database
from sanne.serve.store.vectors import LiveVectors
from sanne.vectors.formats import read_vectors

logger = logging.getLogger(__name__)

FORMAT_VERSION = 3  # before, a store kept a journal of all changes
HEADER = "store.json"
UNFINISHED = "unfinished"
_CREATED = {UNFINISHED, "vectors.npy", "uncertainty.npy", *FILES}  # in this order, before the header
_MAPPED_BYTES = 2**28  # base vectors of more than this stay on disk
_SAMPLED = 65_536  # entries of each array of a graph that its digest reads

MakeVectors = Callable[[], tuple[FloatArray, FloatArray]]


class Store(Protocol):
    """What the engine needs of a store. All but `close` raise StoreError if the store cannot be used."""

    vectors: LiveVectors  # of the base nodes, when the store is opened

    @property
    def contents(self) -> Contents:
        """What was written so far."""

    def write(self, changes: Changes) -> None:
        """Keep changes, all or none; they are durable when this returns."""

    def close(self) -> None:
        """Finish; a second call does nothing."""


class OpenStore(Protocol):
    """Opens a store, or creates one if there is none."""

    def __call__(self, folder: str | Path, *, model: str, graph: str, dim: int, make_vectors: MakeVectors) -> Store:
        """`model` and `graph` are digests; `make_vectors` computes the vectors and uncertainties of the base nodes."""


class FolderStore:
    """A store in a locked folder."""

    def __init__(self, lock: int, vectors: LiveVectors, database: Database) -> None:
        self._lock = lock
        self.vectors = vectors
        self.contents = database

    @classmethod
    def open(cls, folder: str | Path, *, model: str, graph: str, dim: int, make_vectors: MakeVectors) -> Self:
        """As in `OpenStore`."""
        try:
            place = check_target(folder, folder=True)
        except InputError as error:
            raise StoreError(str(error)) from None
        place.mkdir(exist_ok=True)
        _is_new(place)  # before the lock file is written into somebody else's folder
        lock = _take_lock(place)
        try:
            new = _is_new(place)
            if new:
                with replaced_file(place / UNFINISHED) as part:
                    part.touch()
                vectors, uncertainty = make_vectors()
                _save(place / "vectors.npy", np.asarray(vectors, np.float32))
                _save(place / "uncertainty.npy", np.asarray(uncertainty, np.float32))
            else:
                _check_header(place, model, graph)
            database = Database(place, dim, new=new)
            if new:
                header = {"format": "sanne-store", "format_version": FORMAT_VERSION, "model": model, "graph": graph}
                with replaced_file(place / HEADER) as part:
                    part.write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
            (place / UNFINISHED).unlink(missing_ok=True)
            return cls(lock, _load_vectors(place, dim), database)
        except BaseException:
            os.close(lock)
            raise

    def write(self, changes: Changes) -> None:
        self.contents.write(changes)

    def close(self) -> None:
        self.contents.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def base_vectors(model_folder: str | Path, artifact: Artifact, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """Vectors and uncertainties for a new store: as fit wrote them if this is the graph it read, else computed now."""
    fitted = artifact.record.get("data", {})
    served = {"nodes": graph.num_nodes, "edges": graph.num_edges, "directed": graph.directed}
    if all(fitted.get(name) == value for name, value in served.items()):
        try:
            kept = read_vectors(Path(model_folder) / VECTORS)
        except (InputError, OSError):
            kept = None
        if kept is not None and np.array_equal(kept.node_ids, np.asarray(graph.node_ids)):
            uncertainty = np.full(graph.num_nodes, np.nan, np.float32) if kept.uncertainty is None else kept.uncertainty
            return kept.vectors, uncertainty
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


def _take_lock(place: Path) -> int:
    descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    if not take_lock(descriptor):
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise StoreError(
            f"{place}: another server uses this store (process {holder}): stop it, or give this one its own --store"
        )
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _is_new(place: Path) -> bool:
    """Whether a store has to be created: the folder is empty, or an earlier creation was interrupted."""
    names = {path.name for path in place.iterdir() if not path.name.startswith(".part-")} - {"lock"}
    if HEADER in names:
        return False
    if foreign := sorted(names - _CREATED if UNFINISHED in names else names):
        raise StoreError(f"{place}: this folder is no store and has other files ({foreign[0]}); choose an empty one")
    return True


def _check_header(place: Path, model: str, graph: str) -> None:
    try:
        header: Any = json.loads((place / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{place / HEADER}: damaged ({error}); restore it, or start with a new store") from None
    if not isinstance(header, dict) or header.get("format") != "sanne-store":
        raise StoreError(f"{place / HEADER}: not a store of sanne; choose an empty or a new folder")
    if header.get("format_version") != FORMAT_VERSION:
        raise StoreError(
            f"{place}: the store has format {header.get('format_version')}, but this version of sanne reads only "
            f"{FORMAT_VERSION}: choose a new --store and add the nodes again, or serve this store with "
            "the version that wrote it"
        )
    for name, digest in (("model", model), ("graph", graph)):
        if header.get(name) != digest:
            raise StoreError(
                f"{place}: this store was made for another {name}, whose vectors do not fit this one's; "
                f"serve the {name} that it was made for, or choose a new --store"
            )


def _save(path: Path, array: FloatArray) -> None:
    with replaced_file(path) as part:
        np.save(part, array, allow_pickle=False)


def _load_vectors(place: Path, dim: int) -> LiveVectors:
    try:
        vectors = np.load(place / "vectors.npy", mmap_mode="c", allow_pickle=False)  # writes stay in memory
        uncertainty = np.load(place / "uncertainty.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"{place}: the base vectors of the store cannot be read ({error})") from None
    if vectors.ndim != 2 or vectors.shape[1] != dim or uncertainty.shape != (len(vectors),):
        raise StoreError(f"{place}: the base vectors of the store are damaged (shape {vectors.shape})")
    if vectors.nbytes <= _MAPPED_BYTES:
        vectors = np.array(vectors)
    return LiveVectors(vectors, uncertainty)
