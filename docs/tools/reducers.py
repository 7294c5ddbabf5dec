"""Compares ways to reduce vectors to a map, UMAP (umap-learn) and PaCMAP (pacmap) among them where they are installed.

Run: NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python docs/tools/reducers.py MODEL NODES (with the columns id and section)
"""

import argparse
import importlib.util
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
from sanne.draw.reduce import PrincipalAxes, nearest

JUDGED = 4000
COMPILED = 5000  # rows, of which a map is made first: numba compiles what it runs for many


def tsne(rows: Any, pulls: Callable[[Any], Any], points: int = 3) -> Any:
    start = initialization.pca(rows, random_state=0)
    settings = {"negative_gradient_method": "fft", "n_jobs": 1, "random_state": 0, "n_interpolation_points": points}
    found = openTSNE.TSNEEmbedding(start, pulls(rows), **settings)
    found = found.optimize(125, exaggeration=12, momentum=0.8)
    return np.asarray(found.optimize(250, momentum=0.8))


def perplexity(value: int) -> Callable[[Any], Any]:
    return lambda rows: affinity.PerplexityBasedNN(rows, perplexity=value, n_jobs=1, random_state=0)


def uniform(count: int) -> Callable[[Any], Any]:
    return lambda rows: affinity.Uniform(rows, k_neighbors=count, n_jobs=1, random_state=0)


def umap(rows: Any) -> Any:
    return importlib.import_module("umap").UMAP(random_state=0, n_jobs=1).fit_transform(rows)


def pacmap(rows: Any) -> Any:
    return importlib.import_module("pacmap").PaCMAP(random_state=0).fit_transform(rows.astype(np.float32), init="pca")


WAYS: dict[str, Callable[[Any], Any]] = {
    "perplexity 30": lambda rows: tsne(rows, perplexity(30)),
    "15 neighbours": lambda rows: tsne(rows, uniform(15)),
    "15 neighbours, coarser grid": lambda rows: tsne(rows, uniform(15), points=2),
    "10 neighbours, coarser grid": lambda rows: tsne(rows, uniform(10), points=2),
}
OTHERS = {"umap": umap, "pacmap": pacmap}
WAYS |= {name: way for name, way in OTHERS.items() if importlib.util.find_spec(name)}


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
        reduce(rows[:COMPILED])
        begun = time.process_time()
        points = reduce(rows)
        seconds = time.process_time() - begun
        print(f"{name}: {seconds:.0f} s, {judge(KDTree(points).query(points[judged], 11)[1]):.1f}%", flush=True)


if __name__ == "__main__":
    main()
