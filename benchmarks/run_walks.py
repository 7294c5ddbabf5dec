"""Measure walks on the three graphs, ours and the rivals' in turn, and write benchmarks/results/walks.json.

make bench, or: python benchmarks/run_walks.py PYTHON_WITH_PECANPY
"""

import json
import sys
from pathlib import Path
from typing import Any

from sanne.bench.graphs import GraphName, bench_graph
from sanne.bench.machine import available_cores
from sanne.bench.walks import WalkTask, bench_walks

RESULTS = Path(__file__).parent / "results" / "walks.json"
GRAPHS: tuple[GraphName, ...] = ("uniform", "hub", "cora")


def measure(name: GraphName, rivals: Path) -> dict[str, Any]:
    """One graph's figures, also as lines on stderr."""
    graph = bench_graph(name, num_nodes=1_000_000, num_edges=10_000_000)
    sys.stderr.write(f"{name}: {graph}\n")
    result = bench_walks(graph, name, threads=available_cores(), rivals=rivals, task=WalkTask())
    for row in result["engines"]:
        speed = row["steps_per_second"] / 1e6
        sys.stderr.write(f"  {row['name']:12} order {row['order']}, {row['threads']} threads: {speed:9.4f} M steps/s\n")
    return result


def main() -> None:
    """The first graph's figures stand at the top of the file, those of the others under `more_graphs`."""
    first, *others = [measure(name, Path(sys.argv[1])) for name in GRAPHS]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(first | {"more_graphs": others}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
