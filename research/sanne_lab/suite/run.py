"""Run systems over the suite to choose settings, resuming where it stopped, and print one table with mean ranks.

python -m sanne_lab.suite.run --systems own smoothed sanne --graphs cora texas
python -m sanne_lab.suite.run --systems sanne --setting dim=128 --setting hidden_splits=1
python -m sanne_lab.suite.run --table
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from sanne.cli.options import parse_settings
from sanne.config import recipe_config
from sanne.errors import InputError
from sanne_lab.suite import baselines, graphs, product, recipe, score, splits
from sanne_lab.suite.graphs import Floats, SuiteGraph, cache_folder
from sanne_lab.suite.splits import Split
from sanne_lab.suite.view import View, view

NUMBERS = {
    "texas": 10,
    "chameleon": 10,
    "cora": 6,
    "citeseer": 6,
    "pubmed": 4,
    "blogcatalog": 4,
    "photo": 4,
    "actor": 4,
}
TRIALS = 2  # random tenths that are hidden
SYSTEMS = baselines.SYSTEMS | {"recipe": recipe.embed}
PRODUCT = {"sanne": "best", "sanne-fast": "fast"}  # systems that are the product, and their recipes
CLOSED_FORMS = ("own", "smoothed", "hops", "hops_smoothed")


def choose(names: list[str], settings: list[str]) -> dict[str, Callable[[View], Floats]]:
    """Systems by the names of their rows; `settings` change those of the product, and are part of its name."""
    changes = parse_settings(settings) or {}
    if changes and not set(names) & set(PRODUCT):
        raise InputError(f"--setting changes the product: choose one of {', '.join(PRODUCT)}")
    found: dict[str, Callable[[View], Floats]] = {}
    for name in names:
        if name in PRODUCT:
            recipe_config(PRODUCT[name]).replace(**changes)  # refuses what is unknown before anything runs
            found[" ".join([name, *settings])] = partial(product.embed, recipe=PRODUCT[name], settings=changes)
        elif name in SYSTEMS:
            found[name] = SYSTEMS[name]
        else:
            raise InputError(f"no system {name!r} in the suite: choose from {', '.join([*PRODUCT, *SYSTEMS])}")
    return found


def numbers(graph: SuiteGraph) -> range:
    return range(NUMBERS.get(graph.name, 2))


def run(graph: SuiteGraph, name: str, system: Callable[[View], Floats], settings: tuple[str, ...], path: Path) -> None:
    """Append the scores of one system on one graph that the file does not have yet."""
    done = {(r["graph"], r["system"], r["setting"], r["regime"], r["split"]) for r in read(path)}

    def missing(setting: str, regime: str, number: int) -> bool:
        return (graph.name, name, setting, regime, number) not in done

    def put(setting: str, part: Split, vectors: Floats, seconds: float) -> None:
        value, strength = score.accuracy(vectors, graph.labels, part)
        row = {"graph": graph.name, "system": name, "setting": setting, "regime": part.regime, "split": part.number}
        append(path, row | {"accuracy": round(value, 2), "C": round(strength, 2), "fit_seconds": round(seconds, 1)})

    if "present" in settings:
        regimes = [regime for regime in splits.regimes(graph) if regime != "public"]
        wanted = [(r, i) for r in regimes for i in numbers(graph) if missing("present", r, i)]
        if wanted:
            vectors, seconds = timed(system, view(graph))
            for regime, number in wanted:
                put("present", splits.choice(graph, regime, number), padded(vectors, graph), seconds)
    if "newcomers" in settings:
        for number in range(1 if graph.newcomers is not None else TRIALS):
            wanted = [(r, number) for r in splits.regimes(graph) if r != "public" and missing("newcomers", r, number)]
            if wanted:
                vectors, seconds = timed(system, view(graph, splits.hidden(graph, number)))
                for regime, _ in wanted:
                    put("newcomers", splits.newcomer_split(graph, regime, number), vectors, seconds)


def timed(system: Callable[[View], Floats], seen: View) -> tuple[Floats, float]:
    start = time.process_time()
    return system(seen), time.process_time() - start


def padded(vectors: Floats, graph: SuiteGraph) -> Floats:
    """Zero rows for real newcomers, which the present setting leaves out; they are the last nodes."""
    return np.pad(vectors, ((0, graph.num_nodes - len(vectors)), (0, 0)))


def read(path: Path) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, row: dict) -> None:  # type: ignore[type-arg]
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def table(path: Path, systems: list[str] | None = None) -> str:
    """Mean accuracy per row and system, mean ranks, and the margin over the best closed form in each row."""
    rows = row_means(path, systems)
    names = systems or list(dict.fromkeys(name for means in rows.values() for name in means))
    lines = ["| row | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    ranks, margins = defaultdict(list), defaultdict(list)
    for row, means in rows.items():
        best = max((means[n] for n in CLOSED_FORMS if n in means), default=np.nan)
        for name, value in means.items():
            ranks[name].append(1 + sum(other > value + 1e-9 for other in means.values()))
            margins[name].append(value - best)
        lines.append(
            f"| {' '.join(row)} | " + " | ".join(f"{means[n]:.1f}" if n in means else "" for n in names) + " |"
        )
    for label, values, how in (
        ("mean rank", ranks, np.mean),
        ("mean margin", margins, np.mean),
        ("worst", margins, min),
    ):
        lines.append(f"| {label} | " + " | ".join(f"{how(values[n]):.2f}" if values[n] else "" for n in names) + " |")
    return "\n".join(lines)


def row_means(path: Path, systems: list[str] | None = None) -> dict[tuple[str, str, str], dict[str, float]]:
    """Mean accuracy by (graph, setting, regime) and system.

    A row's means are over the splits that all of its systems have, so that an unfinished run does not mislead.
    """
    cells: dict[tuple[str, str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for r in read(path):
        if systems is None or r["system"] in systems:
            cells[r["graph"], r["setting"], r["regime"]][r["system"]][r["split"]] = r["accuracy"]
    order = list(graphs.LOADERS)
    result = {}
    for row in sorted(cells, key=lambda key: (key[1] != "present", order.index(key[0]), key[2])):
        shared = set.intersection(*(set(by_split) for by_split in cells[row].values()))
        if shared:
            result[row] = {n: float(np.mean([by_split[i] for i in shared])) for n, by_split in cells[row].items()}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="*", default=[*PRODUCT, *SYSTEMS])
    parser.add_argument("--graphs", nargs="*", default=list(graphs.LOADERS))
    parser.add_argument("--settings", nargs="*", default=["present", "newcomers"])
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE", help="of the systems sanne")
    parser.add_argument("--out", type=Path, default=cache_folder() / "choice.jsonl")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(options.out))
        return
    systems = choose(options.systems, options.setting)
    for graph_name in options.graphs:
        graph = graphs.load(graph_name)
        for name, system in systems.items():
            run(graph, name, system, tuple(options.settings), options.out)
            print(graph_name, name, flush=True)


if __name__ == "__main__":
    main()
