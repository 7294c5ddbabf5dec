"""Nearest of many vectors: how long the server's exact search takes.

python benchmarks/search.py [ROWS] [DIM]      default: a million vectors of 512 numbers, 2 GB
"""

import statistics
import sys
import time

import numpy as np

from sanne.serve.store.vectors import LiveVectors

ROUNDS = 15


def main(count: int = 1_000_000, dim: int = 512) -> None:
    stream = np.random.default_rng(0)
    rows = stream.standard_normal((count, dim), dtype=np.float32)
    vectors, alive = LiveVectors(rows, np.zeros(count, np.float32)), np.ones(count, bool)
    for queries in (1, 16):
        times, processor = [], []
        for _ in range(ROUNDS):
            start, busy = time.perf_counter(), time.process_time()
            vectors.search(rows[:queries], 10, alive)
            times.append(1000 * (time.perf_counter() - start))
            processor.append(1000 * (time.process_time() - busy))
        times_a_query, used = statistics.median(times) / queries, statistics.median(processor) / queries
        print(f"{queries:3} together: {times_a_query:6.1f} ms a query, processor {used:6.1f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
