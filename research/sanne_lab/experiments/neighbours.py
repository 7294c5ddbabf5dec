"""Accuracy of newcomers by the number of neighbours that were there before them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sanne_lab.experiments.confidence import accuracy_by_count
from sanne_lab.experiments.newcomers import DATASETS, SYSTEMS, Newcomers, load, make_cells
from sanne_lab.experiments.summaries import Column, figures_block, records, sources_text
from sanne_lab.experiments.table_formats import Block

__all__ = ["DATASETS", "NAME", "SYSTEMS", "blocks", "columns", "load", "make_cells", "notes", "rows"]

NAME = "neighbours"
STEPS = (0, 1, 2, 3)


def columns(found: Sequence[Newcomers]) -> list[Column]:
    """Accuracy for each number of known neighbours, then for all newcomers; a value for each split."""
    by_split = [accuracy_by_count(one.correct, one.known, STEPS) for one in found]
    titles = [f"{step}+" if step == STEPS[-1] else f"{step}" for step in STEPS]
    parts: list[Column] = [
        (title, [split[index] for split in by_split if split[index] is not None])  # type: ignore[misc]
        for index, title in enumerate(titles)
    ]
    return [*parts, ("all", [100 * float(one.correct.mean()) for one in found])]


def sizes(found: Sequence[Newcomers]) -> list[float]:
    """How many newcomers a split has in each group, on average."""
    counts = [np.bincount(np.minimum(one.known, STEPS[-1]), minlength=len(STEPS)) for one in found]
    return [float(mean) for mean in np.mean(counts, axis=0)]


def blocks(found: Sequence[Sequence[Newcomers]]) -> list[Block]:
    """A table for each dataset."""
    tables = []
    for dataset in dict.fromkeys(results[0].dataset for results in found):
        mine = [results for results in found if results[0].dataset == dataset]
        counts = ", ".join(f"{size:.0f}" for size in sizes(mine[0]))
        title = f"{dataset.capitalize()}: new nodes per split {counts}"
        tables.append(figures_block(title, "known neighbours", [(each[0].system, columns(each)) for each in mine]))
    return tables


def notes(found: Sequence[Sequence[Newcomers]]) -> list[str]:
    """How the figures came about."""
    fewest = min(len(results) for results in found)
    most = max(len(results) for results in found)
    splits = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    source = sources_text(one.splits_source for results in found for one in results)
    return [
        "Accuracy in percent of nodes added after training, by how many of their neighbours were in the training "
        f"graph. Mean and standard deviation over {splits} splits ({source}); strictly inductive, every system "
        "with its first settings. Best in bold, second underlined."
    ]


def rows(found: Sequence[Sequence[Newcomers]]) -> list[dict[str, Any]]:
    """Lines of a CSV file."""
    lines = []
    for results in found:
        facts = {"system": results[0].system, "dataset": results[0].dataset, "splits": len(results)}
        named = [(f"known_{name}" if name != "all" else name, values) for name, values in columns(results)]
        lines.append(records(facts, named))
    return lines
