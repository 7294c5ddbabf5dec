"""Measure walks on the three graphs, ours and the rivals' in turn, and write benchmarks/results/walks.json.

make bench, or: python benchmarks/run_walks.py PYTHON_WITH_PECANPY
"""

import json
import sys
from pathlib import Path
from typing import Any

from sanne.device import available_cores
from sanne_lab.bench.graphs import GraphName, bench_graph
from sanne_lab.bench.walks import WalkTask, bench_walks

RESULTS = Path(__file__).parent / "results" / "walks.json"
GRAPHS: tuple[GraphName, ...] = ("uniform", "cora", "hub")


def measure(name: GraphName, rivals: Path) -> dict[str, Any]:
    """One graph's figures, also as lines on stderr."""
    graph = bench_graph(name, num_nodes=1_000_000, num_edges=10_000_000)
    sys.stderr.write(f"{name}: {graph}\n")
    result = bench_walks(graph, name, threads=available_cores(), rivals=rivals, task=WalkTask())
    for row in result["engines"]:
        speeds = [f"{row[kind] / 1e6:8.3f}" for kind in ("steps_per_second", "steps_per_cpu_second")]
        place = f"{row['name']:12} order {row['order']}, {row['threads']} threads"
        sys.stderr.write(f"  {place}: {speeds[0]} M steps/s, {speeds[1]} per CPU second\n")
    return result


def main() -> None:
    """The first graph's figures stand at the top of the file, those of the others under `more_graphs`."""
    results: list[dict[str, Any]] = []
    RESULTS.parent.mkdir(exist_ok=True)
    for name in GRAPHS:
        results.append(measure(name, Path(sys.argv[1])))
        record = results[0] | {"more_graphs": results[1:]}
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
