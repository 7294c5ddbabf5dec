"""Acknowledged writes a second of the server's store.

python benchmarks/journal.py [--seconds 5] [--folder FOLDER]

Each client writes a node and waits until it is acknowledged. One thread writes what is waiting, in one commit, as the
server does. FOLDER must be on the disk that is to be measured. Prints JSON.
"""

import argparse
import contextlib
import json
import queue
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from sanne.serve.store.store import Changes, FolderStore, NodeRow

DIM = 128
CLIENTS = (1, 16)
ROUNDS = 3  # of each, in turn: the machine may be busier at one time than at another
LINKS = 3
WORDS, VOCABULARY = 20, 1433  # as in a paper of Cora


def measure(database: FolderStore, clients: int, seconds: float) -> tuple[int, int]:
    """Acknowledged writes and commits of clients that each write one node after the other."""
    waiting: queue.SimpleQueue[tuple[NodeRow, list[str], threading.Event] | None] = queue.SimpleQueue()
    ended = time.perf_counter() + seconds

    def client(number: int) -> int:
        stream = np.random.default_rng(number)
        count = 0
        while time.perf_counter() < ended:
            done = threading.Event()
            ends = [str(end) for end in stream.integers(0, 2708, LINKS)]
            waiting.put((new_node(f"node-{number}-{count}", stream), ends, done))
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
            changes = Changes({node.id: node for node, _, _ in batch})
            for node, ends, _ in batch:
                changes.edges.update({(min(node.id, end), max(node.id, end)): 1.0 for end in ends})
                changes.stale.update(dict.fromkeys(ends, True))
            database.write(changes)
            commits += 1
            for _, _, done in batch:
                done.set()
        return commits

    with ThreadPoolExecutor(clients + 1) as pool:
        writer = pool.submit(write)
        writes = sum(pool.map(client, range(clients)))
        waiting.put(None)
        return writes, writer.result()


def new_node(name: str, stream: np.random.Generator) -> NodeRow:
    features = np.zeros(VOCABULARY, np.float32)
    features[stream.choice(VOCABULARY, WORDS, replace=False)] = 1
    return NodeRow(name, "added", stream.normal(size=DIM).astype(np.float32), 0.02, None, features)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, help="where to write; default: the folder for temporary files")
    options = parser.parse_args()
    results = {clients: [0, 0, 0] for clients in CLIENTS}
    for _ in range(ROUNDS):
        for clients, total in results.items():
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                place = Path(folder)
                vectors = np.zeros((1, DIM), np.float32), np.zeros(1, np.float32)
                database = FolderStore(place, model="", graph="", dim=DIM, make_vectors=lambda found=vectors: found)
                writes, commits = measure(database, clients, options.seconds)
                database.close()
                for i, value in enumerate((writes, commits, size_of(place))):
                    total[i] += value
    rows = [
        {
            "clients": clients,
            "writes_per_second": round(writes / (ROUNDS * options.seconds), 1),
            "writes_a_commit": round(writes / commits, 1),
            "bytes_a_write": round(size / writes),
        }
        for clients, (writes, commits, size) in results.items()
    ]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
