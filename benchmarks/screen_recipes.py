"""Screen changes to a recipe by validation accuracy alone, one change at a time; test nodes are never scored.

    SANNE_DATA=... python benchmarks/screen_recipes.py --out benchmarks/results/screen.json

Transductive, the ten splits of each dataset, one training each. Results are written as they come; a second call
runs only what is missing. `--table` prints the Markdown table of docs/recipes.md.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import recipe_config
from sanne.datasets import load_dataset, load_splits
from sanne.evaluate.node_classification import score_split
from sanne.infer.embed import embed_present
from sanne.model.artifact import Artifact, versions
from sanne.train.fit import fit_model
from sanne.train.loop import Run

BEST: dict[str, dict[str, Any]] = {
    "as it is": {},
    "cold start": {"warm_start": False},
    "no training": {"epochs": 1, "steps_per_epoch": 1, "learning_rate": 1e-9},
    "cosine schedule": {"schedule": "cosine"},
    "cosine schedule, rate 3e-3": {"schedule": "cosine", "learning_rate": 3e-3},
    "128 walks a step": {"batch_size": 128},
    "128 walks a step, cold start": {"batch_size": 128, "warm_start": False},
    "128 walks a step, 50 steps": {"batch_size": 128, "epochs": 2},
    "128 walks a step, 25 steps": {"batch_size": 128, "epochs": 1},
    "16 inference walks": {"num_inference_walks": 16},
    "64 inference walks": {"num_inference_walks": 64},
    "clusters of 32": {"cluster_sizes": (32,)},
    "clusters of 8, 16, 32 (3 runs each)": {"cluster_sizes": (8, 16, 32), "cluster_seeds": 3},
    "smoothing at 0.05, 0.1, 0.2": {"smoothing_alphas": (0.05, 0.1, 0.2), "cluster_seeds": 3},
    "200 steps": {"epochs": 8},
    "50 steps": {"epochs": 2},
    "square root of idf": {"idf_power": 0.5},
    "nothing hidden": {"mask_rate": 0.0},
    "half hidden": {"mask_rate": 0.5},
    "walks of 12": {"walk_length": 12},
    "no attention": {"attention": False},
    "one layer": {"num_layers": 1},
    "no positions": {"position_scale": 0.0},
}
FAST: dict[str, dict[str, Any]] = {
    "as it is": {},
    "feed-forward 256": {"ff_dim": 256},
    "cosine schedule, rate 2e-3": {"schedule": "cosine", "learning_rate": 2e-3},
    "cosine schedule, rate 2e-3, feed-forward 256": {"schedule": "cosine", "learning_rate": 2e-3, "ff_dim": 256},
    "cosine schedule, rate 2e-3, 64 walks a step": {"schedule": "cosine", "learning_rate": 2e-3, "batch_size": 64},
    "16 inference walks": {"num_inference_walks": 16},
}
SHORT = {"num_walks": 16, "epochs": 3}
PAPER: dict[str, dict[str, Any]] = {
    "as it is": SHORT,
    "positions at full scale": SHORT | {"position_scale": 1.0},
    "pre-norm": SHORT | {"layer_norm": "pre"},
}
SCREENS = [
    ("best", "cora", BEST),
    ("best", "citeseer", BEST),
    ("fast", "cora", FAST),
    ("fast", "citeseer", FAST),
    ("paper", "cora", PAPER),
]


def validation(recipe: str, changes: dict[str, Any], dataset: str, seed: int) -> dict[str, Any]:
    """Mean validation accuracy over the splits, at the best epoch for the paper's objective."""
    graph, splits = load_dataset(dataset), load_splits(dataset)
    assert graph.labels is not None
    labels = graph.labels
    config = recipe_config(recipe).replace(**changes)
    by_epoch: list[float] = []

    def on_epoch(artifact: Artifact, epoch: int) -> None:
        if config.objective.objective == "neighbours" or epoch == config.train.epochs:
            vectors = embed_present(artifact, graph, progress=False).vectors
            # The validation nodes stand in for the test nodes, which are not looked at.
            scores = [
                score_split(vectors, labels, train, val, val).val
                for train, val in zip(splits.train, splits.val, strict=True)
            ]
            by_epoch.append(round(float(np.mean(scores)), 2))

    artifact = fit_model(graph, config, seed, on_epoch=on_epoch, run=Run(progress=False))
    return {"validation": max(by_epoch), "by_epoch": by_epoch, "seconds": artifact.record["seconds"]}


def table(results: dict[str, Any], recipe: str) -> str:
    """A recipe's screen as Markdown."""
    datasets = [dataset for name, dataset, _ in SCREENS if name == recipe]
    changes = dict.fromkeys(change for name, _, variants in SCREENS if name == recipe for change in variants)
    lines = [f"| change to `{recipe}` | {' | '.join(datasets)} |", "|---|" + "---|" * len(datasets)]
    for change in changes:
        cells = [results.get(f"{recipe}/{dataset}/{change}", {}).get("validation", "") for dataset in datasets]
        lines.append(f"| {change} | {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/screen.json"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    kept = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {"results": {}}
    if options.table:
        print(table(kept["results"], "fast"), table(kept["results"], "paper"), sep="\n\n")
        return
    kept |= {"seed": options.seed, "versions": versions()}
    for recipe, dataset, variants in SCREENS:
        for change, settings in variants.items():
            key = f"{recipe}/{dataset}/{change}"
            if key in kept["results"]:
                continue
            started = time.perf_counter()
            kept["results"][key] = validation(recipe, settings, dataset, options.seed)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(key, kept["results"][key], f"{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
