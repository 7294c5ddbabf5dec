"""Screen changes to a recipe by validation accuracy alone, one change at a time; test nodes are never scored.

    SANNE_DATA=... python benchmarks/screen_recipes.py --out benchmarks/results/screen.json

Transductive, the ten splits of each dataset, one training each. Results are written as they come; a second call
runs only what is missing. `--table` prints the Markdown table of docs/research.md.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import recipe_config
from sanne.datasets.catalogue import load_dataset
from sanne.infer.embed import embed_present
from sanne.model.artifact import Artifact, versions
from sanne.train.fit import fit_model
from sanne.train.loop import Run
from sanne_lab.datasets.splits import load_splits
from sanne_lab.evaluate.node_classification import score_split

BEST: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no training": {"epochs": 1, "steps_per_epoch": 1, "learning_rate": 1e-9},
    "all positions count alike": {"restart": 0.0},
    "hubs count like others": {"degree_power": 0.0},
    "neither weighs": {"restart": 0.0, "degree_power": 0.0},
    "64 inference walks": {"num_inference_walks": 64},
    "16 inference walks": {"num_inference_walks": 16},
    "features of 128": {"feature_dim": 128},
    "features of 450": {"feature_dim": 450},
    "sharpness 10": {"sharpness": 10.0},
    "smoothing at 0.1": {"smoothing_alphas": (0.1,)},
    "clusters of 16 (8 runs)": {"cluster_sizes": (16,), "cluster_seeds": 8},
    "clusters of 16, 32, 64 (8 runs)": {"cluster_sizes": (16, 32, 64), "cluster_seeds": 8},
    "300 steps": {"epochs": 12},
    "cosine schedule, rate 3e-3": {"schedule": "cosine", "learning_rate": 3e-3},
    "nothing hidden": {"mask_rate": 0.0},
    "half hidden": {"mask_rate": 0.5},
    "square root of idf": {"idf_power": 0.5},
    "no attention": {"attention": False},
    "one layer": {"num_layers": 1},
    "walks of 12": {"walk_length": 12},
}
FAST: dict[str, dict[str, Any]] = {
    "as it is": {},
    "features of 128": {"feature_dim": 128},
    "no training": {"epochs": 1, "steps_per_epoch": 1, "learning_rate": 1e-9},
    "16 inference walks": {"num_inference_walks": 16},
}
SHORT = {"num_walks": 16, "epochs": 3}
PAPER: dict[str, dict[str, Any]] = {
    "as it is": SHORT,
    "positions at full scale": SHORT | {"position_scale": 1.0},
    "pre-norm": SHORT | {"layer_norm": "pre"},
}
SCREENS = [
    *(("best", dataset, BEST) for dataset in ("cora", "citeseer", "pubmed")),
    *(("fast", dataset, FAST) for dataset in ("cora", "citeseer", "pubmed")),
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
        print(*(table(kept["results"], recipe) for recipe in ("best", "fast", "paper")), sep="\n\n")
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
