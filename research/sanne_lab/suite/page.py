"""The suite's tables as the documentation shows them: a row for each graph, its measures side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sanne_lab.suite import systems
from sanne_lab.suite.table import LABELLED, Means, best_of_four, means

SYSTEMS = {
    "own": "own words",
    "words": "TF-IDF, sparse",
    "smoothed": "smoothed (0.1)",
    "hops": "hops",
    "hops-smoothed": "hops + smoothed",
    systems.NEIGHBOURS: "mean of neighbours",
    "sanne": "**sanne**",
}
GRAPHS = {"blogcatalog": "BlogCatalog", "photo": "Amazon Photo", "cs": "Coauthor CS"}
KINDS = {"doc2vec": "Doc2Vec", "svd": "turned SVD", "means": "mean word vectors"}
GRAPHS |= {"debian": "Debian packages", "wordnet": "WordNet nouns"}


def accuracies(out: Path, place: str, *, final: bool) -> str:
    """Accuracy with few labels, many and the public ones; then how far the product is from the best of four."""
    found = {row: values for row, values in means(out, final, SYSTEMS).items() if row[1] == place}
    found = {row: values for row, values in found.items() if row[2] in LABELLED and set(systems.FOUR) <= set(values)}
    margins = [
        f"the {len(rows)} rows with {kind} {_signed(float(np.mean(rows)))} on average, at worst {_signed(min(rows))}"
        for kind, rows in (("words", _margins(found, False)), ("columns of numbers", _margins(found, True)))
        if rows
    ]
    words = f"`sanne` against the best of own, smoothed, hops and hops + smoothed in each row: {'; '.join(margins)}."
    return f"{words}\n\n{_table(found, ('few', 'many', 'public'))}"


def sizes(out: Path) -> str:
    """Accuracy of the first columns of a vector, of graphs where all sizes were run."""
    names = {name: name.partition("=")[2] for name in systems.GROUPS["sizes"]} | {"sanne": "all"}
    found = {
        row: values
        for row, values in means(out, False, names).items()
        if row[1] == "present" and row[2] in LABELLED and len(values) == len(names)
    }
    return _table(found, ("few", "many", "public"), names)


def nearest(out: Path) -> str:
    """Same class among the ten nearest, and siblings found where there are any."""
    found = {row: values for row, values in means(out, False, SYSTEMS).items() if row[1] == "present"}
    return _table(
        {row: values for row, values in found.items() if row[2] in ("same", "siblings")}, ("same", "siblings")
    )


def _margins(found: Means, numbers: bool) -> list[float]:
    return [
        values["sanne"] - best_of_four(values)
        for row, values in found.items()
        if ("-" in row[0]) == numbers and "sanne" in values
    ]


def _table(found: Means, measures: Sequence[str], titles: dict[str, str] = SYSTEMS) -> str:
    names = [name for name in titles if any(np.isfinite(values.get(name, np.nan)) for values in found.values())]
    lines = [f"| | {' | '.join(titles[name] for name in names)} |", f"|---{'|---' * len(names)}|"]
    for graph in dict.fromkeys(row[0] for row in found):
        rows = [values for measure in measures for row, values in found.items() if (row[0], row[2]) == (graph, measure)]
        cells = [" / ".join(filter(None, (_cell(values, name) for values in rows))) for name in names]
        lines.append(f"| {_title(graph)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(values: dict[str, float], name: str) -> str:
    value = round(values.get(name, np.nan), 1)
    if not np.isfinite(value):
        return ""
    best = max(round(other, 1) for other in values.values() if np.isfinite(other))
    return f"**{value:.1f}**" if value == best else f"{value:.1f}"


def _title(graph: str) -> str:
    name, _, kind = graph.partition("-")
    return GRAPHS.get(name, name.capitalize()) + (f", {KINDS.get(kind, kind)}" if kind else "")


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")
