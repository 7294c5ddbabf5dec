"""Build, fit and embed a graph that is larger than the memory which the commands may use; print what each took.

    python benchmarks/larger.py [--nodes 10000000] [--memory 8GiB] [--folder PLACE] [--cgroup PLACE]

Ten edges and 128 numbers a node, communities of a hundred nodes, half of the edges inside them; vectors of 128 numbers.
Every command is a process of its own. With --cgroup, a group of processes that may use so much memory (cgroup v1; its
page cache counts too) holds each of them. One JSON object a line; needs about 4.5 kB of disk a node.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sanne.graph.folder.build import parse_size

WIDTH, DEGREE, COMMUNITY, BLOCK = 128, 10, 100, 100_000


def write_graph(folder: Path, nodes: int) -> None:
    """Edges and node table in Parquet, a block at a time."""
    names = [f"f{i}" for i in range(WIDTH)]
    ends_schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    rows_schema = pa.schema([("id", pa.int64()), *((name, pa.float32()) for name in names)])
    with (
        pq.ParquetWriter(folder / "edges.parquet", ends_schema) as edges,
        pq.ParquetWriter(folder / "nodes.parquet", rows_schema, compression="none", use_dictionary=False) as table,
    ):
        for first in range(0, nodes, BLOCK):
            stream, count = np.random.default_rng((0, first)), min(BLOCK, nodes - first)
            starts = np.repeat(np.arange(first, first + count), DEGREE)
            near = starts // COMMUNITY * COMMUNITY + stream.integers(COMMUNITY, size=len(starts))
            ends = np.where(stream.random(len(starts)) < 0.5, near, stream.integers(nodes, size=len(starts)))
            edges.write_table(pa.table([starts, np.minimum(ends, nodes - 1)], schema=ends_schema))
            rows = stream.standard_normal((count, WIDTH), np.float32)
            topics = stream.standard_normal((-(-count // COMMUNITY), WIDTH), np.float32)
            rows += np.repeat(topics, COMMUNITY, axis=0)[:count]
            table.write_table(pa.table([np.arange(first, first + count), *rows.T.copy()], schema=rows_schema))


def run(command: list[object], enter: Callable[[], None] | None) -> None:
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "sanne", *map(str, command), "--json"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    after, found = resource.getrusage(resource.RUSAGE_CHILDREN), json.loads(done.stdout)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = {
        "command": str(command[0]),
        "seconds": round(time.perf_counter() - started),
        "cpu_seconds": round(used),
        "peak_gib": round(found.get("peak_bytes", 1024 * after.ru_maxrss) / 2**30, 2),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--memory", default="8GiB")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cgroup", type=Path)
    options = parser.parse_args()
    group = options.cgroup

    def enter() -> None:
        (group / "tasks").write_text(str(os.getpid()), encoding="ascii")

    if group is not None:
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(parse_size(options.memory)), encoding="ascii")
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder, limit = Path(place), ("--memory", options.memory)
        write_graph(folder, options.nodes)
        held = None if group is None else enter
        tables = [folder / "edges.parquet", "--node-table", folder / "nodes.parquet"]
        run(["build", *tables, "--out", folder / "graph", *limit], held)
        for table in folder.glob("*.parquet"):
            table.unlink()
        fit = ["fit", folder / "graph", "--recipe", "fast", "--dim", WIDTH, "--out", folder / "model"]
        run([*fit, *limit], held)
        run(["embed", folder / "model", "--out", folder / "vectors.parquet", *limit], held)
    if group is not None:
        group.rmdir()


if __name__ == "__main__":
    main()
