"""The store folder: what was added since the fit, and the vectors that all began with.

| file | what |
|---|---|
| `store.json` | format version, and digests of the model and the graph that the store belongs to; written last |
| `lock` | held by the server that uses the store |
| `vectors.npy`, `spread.npy` | of the base graph's nodes, in their order |
| `journal.sqlite` (`-wal`, `-shm`) | everything that was added, replaced, deleted, linked or read again, in order |
| `map` | where the nodes stand on the page's map; can be made again |
| `search.lance`, `search.json` | vectors with an index, for graphs above `EXACT_ROWS` nodes; can be made again |
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np

from sanne.errors import InputError, StoreError
from sanne.files.atomic import check_target, replaced_file
from sanne.files.locks import take_lock
from sanne.graph.graph import FloatArray, Graph
from sanne.model.artifact import Artifact
from sanne.serve.store import journal
from sanne.serve.store.journal import Journal
from sanne.serve.store.vectors import EXACT_ROWS, LiveVectors

FORMAT_VERSION = 2  # 1 (sanne 0.1.0) kept its journal in LanceDB
HEADER = "store.json"
_OWN_FILES = {HEADER, "lock", "vectors.npy", "spread.npy", *journal.FILES, "search.lance", "search.json", "map"}
_SAMPLED = 65_536  # entries of each array of a graph that its digest reads

MakeVectors = Callable[[], tuple[FloatArray, FloatArray]]


class Store:
    """A locked store folder."""

    def __init__(self, folder: Path, lock: int, vectors: LiveVectors, journal: Journal) -> None:
        self.folder = folder
        self._lock = lock
        self.vectors = vectors
        self.journal = journal

    @classmethod
    def open(
        cls, folder: str | Path, *, model: str, graph: str, dim: int, width: int | None, make_vectors: MakeVectors
    ) -> Self:
        """Open a store, or make one; `model` and `graph` are digests, `make_vectors` gives the base nodes' vectors."""
        try:
            place = check_target(folder, folder=True)
        except InputError as error:
            raise StoreError(str(error)) from None
        place.mkdir(exist_ok=True)
        lock = _take_lock(place)
        try:
            new = _is_new(place)
            if new:
                vectors, spread = make_vectors()
                _save(place / "vectors.npy", np.asarray(vectors, np.float32))
                _save(place / "spread.npy", np.asarray(spread, np.float32))
            else:
                _check_header(place, model, graph)
            journal = Journal(place, dim, width, new=new)
            if new:
                header = {"format": "sanne-store", "format_version": FORMAT_VERSION, "model": model, "graph": graph}
                with replaced_file(place / HEADER) as part:
                    part.write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
            return cls(place, lock, _load_vectors(place, dim), journal)
        except BaseException:
            os.close(lock)
            raise

    def close(self) -> None:
        """Finish what is written, and let others use the folder; a second time does nothing."""
        self.journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def model_digest(artifact: Artifact) -> str:
    """Stands for a model that was read from a folder: settings, weights and feature map."""
    files = [artifact.sha256[name] for name in ("features.json", "model.safetensors")]
    described = [artifact.config.to_dict(), artifact.seed, files]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def graph_digest(graph: Graph) -> str:
    """Stands for a graph: its size and evenly spaced samples of its ids and arcs, so that a large one is not read."""
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
    """Whether a store has still to be made: the folder is empty, or making one was interrupted."""
    if (place / HEADER).is_file():
        return False
    foreign = sorted(path.name for path in place.iterdir() if path.name not in _OWN_FILES and path.name[:6] != ".part-")
    if foreign:
        raise StoreError(f"{place}: there are other files in this folder ({foreign[0]}); choose an empty or a new one")
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
            f"{place}: the store has format {header.get('format_version')}, and this version of sanne reads only "
            f"{FORMAT_VERSION} (0.1.0 wrote 1): choose a new --store and add the nodes again, or serve this store with "
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
        spread = np.load(place / "spread.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"{place}: the base vectors of the store cannot be read ({error})") from None
    if vectors.ndim != 2 or vectors.shape[1] != dim or spread.shape != (len(vectors),):
        raise StoreError(f"{place}: the base vectors of the store are damaged (shape {vectors.shape})")
    if len(vectors) <= EXACT_ROWS:
        vectors = np.array(vectors)
    return LiveVectors(vectors, spread)
