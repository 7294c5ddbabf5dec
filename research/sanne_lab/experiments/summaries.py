"""What tables share: means and deviations over records, the best of a column in bold, words about seeds and grids."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from sanne_lab.experiments.data import SOURCES
from sanne_lab.experiments.gone import shown
from sanne_lab.experiments.table_formats import Block, Figure, Value

Column = tuple[str, Sequence[float]]  # its name, and a value for each file


def figures_block(title: str, first: str, rows: Sequence[tuple[str, Sequence[Column]]]) -> Block:
    """Rows of the same columns; in each column the best mean is bold and the second underlined."""
    names = [name for name, _ in rows[0][1]]
    means = [[round(float(np.mean(values)), 2) if len(values) else None for _, values in row] for _, row in rows]
    table: list[list[Value]] = []
    for (label, row), own in zip(rows, means, strict=True):
        line: list[Value] = [shown(label)]
        for index, (_, values) in enumerate(row):
            mean = own[index]
            if mean is None:
                line.append(None)
                continue
            column = sorted({other[index] for other in means if other[index] is not None}, reverse=True)  # type: ignore[type-var]
            place = column.index(mean) + 1
            line.append(Figure(mean, round(float(np.std(values)), 2), place if place <= 2 and len(rows) > 2 else 0))
        table.append(line)
    return Block(title, [first, *names], table)


def dataset_blocks(
    found: Sequence[Sequence[dict[str, Any]]],
    columns: Callable[[Sequence[dict[str, Any]]], list[Column]],
    about: Callable[[dict[str, Any]], str],
) -> list[Block]:
    """A table for each dataset, a row for each system; `about` says in words what a file's dataset was tried on."""
    tables = []
    for dataset in dict.fromkeys(results[0]["dataset"] for results in found):
        mine = [results for results in found if results[0]["dataset"] == dataset]
        title = f"{dataset.capitalize()}: {about(mine[0][0])}"
        tables.append(figures_block(title, "", [(results[0]["system"], columns(results)) for results in mine]))
    return tables


def records(facts: dict[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """A line of a CSV file: some facts, then mean and deviation of every column."""
    line = dict(facts)
    for name, values in columns:
        key = name.lower().replace(" ", "_").replace("-", "_")
        line[key] = round(float(np.mean(values)), 4) if len(values) else None
        line[f"{key}_std"] = round(float(np.std(values)), 4) if len(values) else None
    return line


def tried_words(found: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Which systems had candidates to choose from, and how many of them were tried."""
    words = []
    for results in found:
        tried = [int(result["tried"]) for result in results]
        grid = int(results[0]["grid"])
        if grid > 1 and max(tried) > 1:
            share = f"{tried[0]}" if min(tried) == max(tried) else f"{min(tried)} to {max(tried)}"
            words.append(f"{shown(results[0]['system'])} on {results[0]['dataset']} {share} of {grid}")
    listed = "; ".join(words)
    return f"Candidates tried, chosen on validation: {listed}; else the first." if words else ""


def seconds_of(results: Sequence[dict[str, Any]]) -> list[float]:
    """Seconds of training of the first candidate that each file kept."""
    return [float(result["candidates"][0]["seconds"]) for result in results]


def seeds_words(found: Sequence[Sequence[dict[str, Any]]]) -> str:
    """How many seeds the figures come from; which systems have fewer."""
    most = max(len(results) for results in found)
    fewer = [f"{shown(r[0]['system'])} on {r[0]['dataset']} has {len(r)}" for r in found if len(r) < most]
    words = f"{most} seed{'s' if most > 1 else ''}"
    return f"{words} ({'; '.join(dict.fromkeys(fewer))})" if fewer else words


def tried_text(tried: int, tried_most: int, grid: int) -> str:
    """How much of a grid was tried, on the split with the fewest candidates and on that with the most."""
    return f"{tried} of {grid}" if tried == tried_most else f"{tried}–{tried_most} of {grid}"


def splits_source(records: Sequence[dict[str, Any]]) -> str:
    """Where the splits of some records come from."""
    return "/".join(dict.fromkeys(record["splits_source"] for record in records))


def sources_text(sources: Iterable[str]) -> str:
    """Where splits come from, in words."""
    return " or ".join(SOURCES.get(source, source) for source in dict.fromkeys(sources))
