"""Acknowledged writes a second of the server's journal, and of a LanceDB table in its place.

python benchmarks/journal.py [--seconds 5] [--folder FOLDER]

Each client writes a node and waits until it is acknowledged. One thread writes what is waiting, in one commit, as the
server does. FOLDER must be on the disk that is to be measured. Prints JSON.
"""

import argparse
import contextlib
import datetime
import json
import queue
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import lancedb
import numpy as np
import pyarrow as pa

from sanne.serve.store.journal import Change, Entry, Journal

DIM = 128
CLIENTS = (1, 16)
ROUNDS = 3  # of each, in turn: the machine may be busier at one time than at another
LINKS = 3
WORDS, VOCABULARY = 20, 1433  # as in a paper of Cora


class Log(Protocol):
    def append(self, changes: list[Change]) -> None: ...
    def close(self) -> None: ...


class LanceLog:
    """A LanceDB table with one commit for each append, as sanne 0.1.0 had it: no fsync, files joined in a thread."""

    _COMMITS_TO_JOIN = 100

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        strings, numbers = pa.list_(pa.string()), pa.list_(pa.float32())
        self._schema = pa.schema(
            [
                ("sequence", pa.int64()),
                ("kind", pa.string()),
                ("id", pa.string()),
                ("places", pa.list_(pa.int32())),
                ("values", numbers),
                ("links", strings),
                ("weights", numbers),
                ("vector", pa.list_(pa.float32(), DIM)),
                ("uncertainty", pa.float32()),
            ]
        )
        self._table = lancedb.connect(self._folder).create_table("journal", schema=self._schema)
        self._rows = self._commits = 0
        self._joiner = ThreadPoolExecutor(1)
        self._joining: Any = None

    def append(self, changes: list[Change]) -> None:
        entries = [entry for change in changes for entry in change]
        features = [np.asarray(entry.features) for entry in entries]
        places = [np.flatnonzero(row) for row in features]
        vectors = np.concatenate([np.asarray(entry.vector) for entry in entries])
        columns = [
            pa.array(range(self._rows, self._rows + len(entries)), pa.int64()),
            pa.array([entry.kind for entry in entries]),
            pa.array([entry.id for entry in entries]),
            pa.array([some.astype(np.int32) for some in places], pa.list_(pa.int32())),
            pa.array([row[some] for row, some in zip(features, places, strict=True)], pa.list_(pa.float32())),
            pa.array([[end for end, _ in entry.links] for entry in entries], pa.list_(pa.string())),
            pa.array([[weight for _, weight in entry.links] for entry in entries], pa.list_(pa.float32())),
            pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIM),
            pa.array([entry.uncertainty for entry in entries], pa.float32()),
        ]
        self._table.add(pa.table(columns, schema=self._schema))
        self._rows += len(entries)
        self._commits += 1
        if self._commits >= self._COMMITS_TO_JOIN and (self._joining is None or self._joining.done()):
            self._commits = 0
            self._joining = self._joiner.submit(self._join)

    def close(self) -> None:
        self._joiner.shutdown(wait=True)

    def _join(self) -> None:
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            table = lancedb.connect(self._folder).open_table("journal")
            table.optimize(cleanup_older_than=datetime.timedelta(seconds=10))


def measure(log: Log, clients: int, seconds: float) -> tuple[int, int]:
    """Acknowledged writes and commits of clients that each write one node after the other."""
    waiting: queue.SimpleQueue[tuple[Entry, threading.Event] | None] = queue.SimpleQueue()
    ended = time.perf_counter() + seconds

    def client(number: int) -> int:
        stream = np.random.default_rng(number)
        count = 0
        while time.perf_counter() < ended:
            done = threading.Event()
            waiting.put((new_entry(f"node-{number}-{count}", stream), done))
            done.wait()
            count += 1
        return count

    def write() -> int:
        commits = 0
        while first := waiting.get():
            batch = [first]
            with contextlib.suppress(queue.Empty):
                while more := waiting.get_nowait():
                    batch.append(more)
            log.append([[entry] for entry, _ in batch])
            commits += 1
            for _, done in batch:
                done.set()
        return commits

    with ThreadPoolExecutor(clients + 1) as pool:
        writer = pool.submit(write)
        writes = sum(pool.map(client, range(clients)))
        waiting.put(None)
        return writes, writer.result()


def new_entry(name: str, stream: np.random.Generator) -> Entry:
    features = np.zeros(VOCABULARY, np.float32)
    features[stream.choice(VOCABULARY, WORDS, replace=False)] = 1
    links = tuple((str(end), 1.0) for end in stream.integers(0, 2708, LINKS))
    return Entry("add", name, None, features, links, stream.normal(size=DIM).astype(np.float32), 0.02)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, help="where to write; default: the folder for temporary files")
    options = parser.parse_args()
    results = {(name, clients): [0, 0, 0] for name in ("lancedb", "sqlite") for clients in CLIENTS}
    for _ in range(ROUNDS):
        for (name, clients), total in results.items():
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                place = Path(folder)
                log: Log = LanceLog(place) if name == "lancedb" else Journal(place, DIM, new=True)
                writes, commits = measure(log, clients, options.seconds)
                log.close()
                for i, value in enumerate((writes, commits, size_of(place))):
                    total[i] += value
    rows = [
        {
            "journal": name,
            "clients": clients,
            "writes_per_second": round(writes / (ROUNDS * options.seconds), 1),
            "writes_a_commit": round(writes / commits, 1),
            "bytes_a_write": round(size / writes),
        }
        for (name, clients), (writes, commits, size) in results.items()
    ]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
