"""Compares ways to reduce vectors to a map. Run: python docs/tools/reducers.py MODEL NODES (with the column section)"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openTSNE
import pyarrow.parquet as pq
from openTSNE import affinity, initialization
from sklearn.neighbors import KDTree

from sanne import SANNE
from sanne.draw.reduce import PrincipalAxes, between, nearest

JUDGED = 4000


def tsne(rows: Any, pulls: Callable[[Any], Any], early: int = 125, late: int = 250, points: int = 3) -> Any:
    start = initialization.pca(rows, random_state=0)
    settings = {"negative_gradient_method": "fft", "n_jobs": 1, "random_state": 0, "n_interpolation_points": points}
    found = openTSNE.TSNEEmbedding(start, pulls(rows), **settings)
    found = found.optimize(early, exaggeration=12, momentum=0.8)
    return np.asarray(found.optimize(late, momentum=0.8))


def perplexity(value: int) -> Callable[[Any], Any]:
    return lambda rows: affinity.PerplexityBasedNN(rows, perplexity=value, n_jobs=1, random_state=0)


def uniform(count: int) -> Callable[[Any], Any]:
    return lambda rows: affinity.Uniform(rows, k_neighbors=count, n_jobs=1, random_state=0)


def sampled(rows: Any) -> Any:
    points = tsne(rows[:20_000], perplexity(30))
    return np.concatenate([points, between(rows[:20_000], points, rows[20_000:])])


WAYS: dict[str, Callable[[Any], Any]] = {
    "perplexity 30": lambda rows: tsne(rows, perplexity(30)),
    "perplexity 15": lambda rows: tsne(rows, perplexity(15)),
    "15 neighbours": lambda rows: tsne(rows, uniform(15)),
    "15 neighbours, coarser grid": lambda rows: tsne(rows, uniform(15), points=2),
    "10 neighbours, coarser grid": lambda rows: tsne(rows, uniform(10), points=2),
    "15 neighbours, coarser grid, twice the steps": lambda rows: tsne(rows, uniform(15), 250, 500, 2),
    "perplexity 30 on a sample": sampled,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("nodes", type=Path)
    given = parser.parse_args()
    model = SANNE.load(given.model)
    table = pq.read_table(given.nodes)
    section_of = dict(zip(table["id"].to_pylist(), table["section"].to_pylist(), strict=True))
    order = np.random.default_rng(0).permutation(len(model.node_ids_))
    sections = np.unique([str(section_of[name]) for name in model.node_ids_[order]], return_inverse=True)[1]
    vectors = model.embedding_[order].astype(np.float64)
    rows = PrincipalAxes(vectors)(vectors)
    judged = np.random.default_rng(1).permutation(len(rows))[:JUDGED]

    def judge(found: Any) -> float:
        """How often the ten nearest other nodes name the section of a node."""
        pairs = zip(judged, found, strict=True)
        votes = [np.bincount(sections[near[near != node][:10]]).argmax() for node, near in pairs]
        return 100 * float(np.mean(np.array(votes) == sections[judged]))

    print(f"on the axes: {judge(nearest(rows, rows[judged], 11)[0]):.1f}%")
    for name, reduce in WAYS.items():
        begun = time.process_time()
        points = reduce(rows)
        seconds = time.process_time() - begun
        print(f"{name}: {seconds:.0f} s, {judge(KDTree(points).query(points[judged], 11)[1]):.1f}%", flush=True)


if __name__ == "__main__":
    main()
