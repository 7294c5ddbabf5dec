"""Tasks beside node classification in one table: the default recipe, what it replaced, and some baselines."""

from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import DEFAULT_RECIPE
from sanne_lab.experiments import blogcatalog, communities, links
from sanne_lab.experiments.gone import GONE_RECIPES
from sanne_lab.experiments.table_formats import Block, Figure, Value

SYSTEMS = {
    f"sanne-{DEFAULT_RECIPE}": f"`{DEFAULT_RECIPE}`",
    f"sanne-{GONE_RECIPES[0]}": "0.1 (`best`)",
    "smoothed": "smoothed features",
    "cca-ssg": "CCA-SSG",
    "node2vec": "node2vec",
}
NAMES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "ca-astroph": "CA-AstroPh (no attributes)"}


def block(out: Path) -> Block:
    """A row for each task, the best of each in bold."""
    rows: list[list[Value]] = []
    hidden, clustered, groups = links.load(out), communities.load(out), blogcatalog.load(out)
    for dataset, name in NAMES.items():
        found = [results for results in hidden if results[0]["dataset"] == dataset]
        rows.append(_row(f"hidden links of {name}, AUC", found, links.columns, "AUC"))
    for dataset in communities.DATASETS:
        found = [results for results in clustered if results[0]["dataset"] == dataset]
        rows.append(_row(f"communities of {NAMES[dataset]} (k-means), NMI", found, communities.columns, "NMI"))
    for setting, name, column in (
        (blogcatalog.PRESENT, "groups of BlogCatalog (no attributes), micro-F1 with 50% of the labels", "micro 50%"),
        (blogcatalog.NEW, "... of new nodes", "micro"),
    ):
        found = [results for results in groups if results[0]["setting"] == setting]
        rows.append(_row(name, found, blogcatalog.columns, column))
    return Block("", ["task", *SYSTEMS.values()], rows)


def _row(name: str, found: list[list[dict[str, Any]]], columns: Any, column: str) -> list[Value]:
    values = {results[0]["system"]: dict(columns(results))[column] for results in found}
    means = {system: round(float(np.mean(values[system])), 2) for system in SYSTEMS if system in values}
    best = max(means.values(), default=None)
    figures: list[Value] = [
        Figure(means[system], round(float(np.std(values[system])), 2), int(means[system] == best))
        if system in means
        else None
        for system in SYSTEMS
    ]
    return [name, *figures]
