"""Nearest of 100,000 vectors: all cosines in memory, LanceDB's exact search, LanceDB's index.

python benchmarks/search.py
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sanne.serve.store.index import SearchIndex
from sanne.serve.store.vectors import LiveVectors

ROWS, DIM, ROUNDS = 100_000, 128, 15


def show(name: str, search: Callable[[int], object]) -> None:
    search(0)
    times, processor = [], []
    for query in range(ROUNDS):
        start, busy = time.perf_counter(), time.process_time()
        search(query)
        times.append(1000 * (time.perf_counter() - start))
        processor.append(1000 * (time.process_time() - busy))
    print(f"{name:16} {statistics.median(times):8.1f} ms, processor {statistics.median(processor):6.1f} ms")


def main() -> None:
    stream = np.random.default_rng(0)
    centres = stream.normal(size=(200, DIM))
    rows = (centres[stream.integers(0, 200, ROWS)] + stream.normal(size=(ROWS, DIM))).astype(np.float32)
    vectors = LiveVectors(rows, np.zeros(ROWS, np.float32))
    alive = np.ones(ROWS, bool)
    show("memory, exact", lambda i: vectors.search(rows[[i]], 10, alive))
    with tempfile.TemporaryDirectory() as folder:
        index = SearchIndex.build(Path(folder), rows)
        table = index._table
        columns = ["number", "_distance"]
        show(
            "LanceDB, exact",
            lambda i: (
                table.search(rows[i]).distance_type("cosine").bypass_vector_index().limit(10).select(columns).to_arrow()
            ),
        )
        show("LanceDB, index", lambda i: index.nearest(rows[i], 10))
        exact = [{node for node, _ in vectors.search(rows[[i]], 10, alive)[0]} for i in range(100)]
        found = [set(index.nearest(rows[i], 10).tolist()) for i in range(100)]
        print(f"found by the index: {sum(len(a & b) for a, b in zip(exact, found, strict=True)) / 1000:.3f}")


if __name__ == "__main__":
    main()
