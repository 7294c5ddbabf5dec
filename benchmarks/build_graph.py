"""Build a graph folder from generated Parquet edges in a process of its own; print its time and peak memory.

    python benchmarks/build_graph.py --edges 100000000 --nodes 10000000 --memory 4GiB
    python benchmarks/build_graph.py --edges 10000000 --nodes 1000000 --ids text
    python benchmarks/build_graph.py --edges 10000000 --nodes 1000000 --engine duckdb    # the sort left to DuckDB

The endpoints are drawn uniformly, half of them from a tenth of the nodes. One JSON object on stdout.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BLOCK = 1_000_000

# What DuckDB alone would do for integer ids that need no numbering: both directions, distinct, sorted, to disk.
DUCKDB = """
import sys, duckdb
edges, out, memory, scratch = sys.argv[1:]
database = duckdb.connect(scratch + "/sort.duckdb")
database.execute(f"SET memory_limit = '{memory}B'; SET temp_directory = '{scratch}/spill'")
database.execute("SET preserve_insertion_order = false; SET enable_progress_bar = false")
arcs = f"SELECT src, dst FROM '{edges}' UNION ALL SELECT dst, src FROM '{edges}'"
database.execute(
    f"COPY (SELECT DISTINCT * FROM ({arcs}) WHERE src <> dst ORDER BY src, dst) TO '{out}.parquet' (FORMAT parquet)"
)
"""


def write_edges(path: Path, edges: int, nodes: int, ids: str, seed: int) -> None:
    """Edges in Parquet, a block at a time."""
    kind = pa.int64() if ids == "integers" else pa.string()
    with pq.ParquetWriter(path, pa.schema([("src", kind), ("dst", kind)])) as file:
        for first in range(0, edges, BLOCK):
            stream = np.random.default_rng((seed, first))
            ends = stream.integers(0, nodes, (2, min(BLOCK, edges - first)))
            ends[stream.random(ends.shape) < 0.5] //= 10
            columns = [pa.array(column) for column in ends]
            if ids == "text":
                columns = [pa.array(np.char.add("node-", column.to_numpy().astype(str))) for column in columns]
            file.write_table(pa.table(columns, names=["src", "dst"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ids", choices=["integers", "text"], default="integers")
    parser.add_argument("--memory", default="4GiB")
    parser.add_argument("--engine", choices=["sanne", "duckdb"], default="sanne")
    parser.add_argument("--folder", type=Path, help="where to work; default: the system's place for temporary files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        source = folder / "edges.parquet"
        write_edges(source, options.edges, options.nodes, options.ids, 0)
        command = [sys.executable, "-m", "sanne", "build", source, "--out", folder / "graph", "--json"]
        command += ["--memory", options.memory]
        if options.engine == "duckdb":
            from sanne.graph.folder.build import parse_size

            command = [sys.executable, "-c", DUCKDB, source, folder / "graph", parse_size(options.memory), folder]
        started = time.perf_counter()
        run = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
        seconds = time.perf_counter() - started
        result = {
            "engine": options.engine,
            "edges": options.edges,
            "nodes": options.nodes,
            "ids": options.ids,
            "memory": options.memory,
            "parquet_bytes": source.stat().st_size,
            "seconds": round(seconds, 1),
            "peak_rss_gib": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 2),
            "load": round(os.getloadavg()[0], 1),
            "built": json.loads(run.stdout) if run.stdout else None,
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
