"""Measure training and embedding, and write benchmarks/results/train.json and embed.json.

make bench, or: python benchmarks/run_model.py
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line does

from sanne_lab.bench.embed import bench_embed
from sanne_lab.bench.train import bench_train

RESULTS = Path(__file__).parent / "results"


def write(name: str, results: list[dict[str, Any]]) -> None:
    """The first result at the top of the file, the others under `more`."""
    (RESULTS / name).write_text(json.dumps(results[0] | {"more": results[1:]}, indent=1) + "\n", encoding="utf-8")
    for result in results:
        shown = {key: value for key, value in result.items() if key not in ("machine", "versions")}
        sys.stderr.write(f"{name}: {shown}\n")


def main() -> None:
    """The paper's shape, with larger batches and tables; then what the recipes embed."""
    RESULTS.mkdir(exist_ok=True)
    trained = [bench_train("paper", 10_000)]
    trained += [bench_train("paper", 10_000, {"batch_size": size}) for size in (256, 512)]
    trained += [bench_train("paper", 10_000, {"threads": 1}), bench_train("paper", 1_000_000)]
    write("train.json", trained)
    write("embed.json", [bench_embed(recipe, 10_000) for recipe in ("best", "fast", "paper")])


if __name__ == "__main__":
    main()
