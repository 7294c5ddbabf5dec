"""Fit and embed generated graphs of growing size with the command line; write results/scale.json and docs/scale.png.

    python benchmarks/scale.py [--sizes 10000,100000,1000000] [--recipes fast,best] [--rivals .venv-rivals/bin/python]

Ten edges and 128 feature columns a node. Rivals embed the same graphs in the same run; their rows say what they cannot
do. Every command is a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sanne.graph.folder.store import save_graph
from sanne_lab.bench.graphs import featured_graph
from sanne_lab.bench.machine import describe_machine, describe_versions

RESULTS = Path(__file__).parent / "results" / "scale.json"
PICTURE = Path(__file__).parents[1] / "docs" / "scale.png"


def sanne(*words: object) -> dict[str, Any]:
    """What a command prints as JSON, with the seconds of the whole process and of all processors in it."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "sanne", *map(str, words), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "process_seconds": round(seconds, 2), "cpu_seconds": round(used, 2)}


def rival(python: Path, source: Path, name: str) -> dict[str, Any]:
    """What benchmarks/rivals/embed.py prints."""
    command = [str(python), "-I", str(Path(__file__).parent / "rivals" / "embed.py"), str(source), name]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def measure(num_nodes: int, recipe: str, folder: Path) -> dict[str, Any]:
    """Estimate, fit, estimate, embed all."""
    source, model = folder / f"{num_nodes}.graph", folder / f"{num_nodes}.{recipe}"
    if not source.exists():
        save_graph(featured_graph(num_nodes, 10 * num_nodes, 128), source)
    words = ("fit", source, "--recipe", recipe)
    row = {
        "nodes": num_nodes,
        "edges": 10 * num_nodes,
        "recipe": recipe,
        "load": describe_machine()["load"],
        "fit_estimate": sanne(*words, "--estimate"),
        "fit": sanne(*words, "--out", model),
        "embed_estimate": sanne("embed", model, "--estimate"),
        "embed": sanne("embed", model, "--out", folder / f"{num_nodes}.parquet"),
    }
    for name in ("fit", "embed"):
        row[name] = {key: value for key, value in row[name].items() if key not in ("model", "vectors")}
    shutil.rmtree(model)
    return row


def draw(rows: list[dict[str, Any]]) -> None:
    """Seconds and memory by the number of nodes, on logarithmic scales."""
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row["recipe"] == rows[0]["recipe"]]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    nodes = [row["nodes"] for row in rows]
    for name in ("fit", "embed"):
        left.loglog(nodes, [row[name]["process_seconds"] for row in rows], "o-", label=name)
        right.loglog(nodes, [row[name]["peak_bytes"] / 2**30 for row in rows], "o-", label=name)
    largest = rows[-1]["embed"]["process_seconds"]
    left.loglog(nodes, [largest * n / nodes[-1] for n in nodes], "k:", label="in proportion to the nodes")
    left.set(xlabel="nodes (ten edges each)", ylabel="seconds, the whole command")
    right.set(xlabel="nodes (ten edges each)", ylabel="peak memory, GiB")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(PICTURE, dpi=120)


def _rivals(size: int) -> list[str]:
    """PecanPy and GraphSAGE take minutes for 100,000 nodes."""
    return ["fastrp", "cleora", "scipy", *(["pecanpy", "sage"] if size <= 100_000 else [])]


def write(record: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure what is asked for; results are written as they come."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--recipes", default="fast,best")
    parser.add_argument("--rivals", type=Path, help="a Python with benchmarks/rivals/requirements.txt; see make bench")
    options = parser.parse_args()
    record: dict[str, Any] = {"machine": describe_machine(), "versions": describe_versions(), "sizes": [], "rivals": []}
    RESULTS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, options.sizes.split(",")):
            for recipe in options.recipes.split(","):
                record["sizes"].append(measure(size, recipe, Path(folder)))
                write(record)
            for name in _rivals(size) if options.rivals else ():
                row = rival(options.rivals, Path(folder) / f"{size}.graph", name)
                record["rivals"].append({"nodes": size, "load": describe_machine()["load"], **row})
                write(record)
    draw(record["sizes"])


if __name__ == "__main__":
    main()
