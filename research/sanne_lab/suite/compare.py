"""What one changed setting of the recipe does to the accuracy in every row, and to its mean rank among the baselines.

python -m sanne_lab.suite --setting joint=.5 --setting steps=16 [--graphs cora texas]

The recipe as it stands and the baselines are scored once and kept; a changed recipe takes some minutes.
"""

import argparse
import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from sanne_lab.suite import baselines, graphs, recipe, run
from sanne_lab.suite.graphs import cache_folder
from sanne_lab.suite.recipe import Settings

RIVALS = ("own", "smoothed", "hops", "hops_smoothed", "neighbours_mean", "fastrp")


def changed(assignments: list[str]) -> Settings:
    """The settings with some fields replaced, as in `joint=.5` or `restarts=[1, .2]`."""
    known = {field.name for field in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, _, text = assignment.partition("=")
        if name not in known:
            raise SystemExit(f"no setting {name!r}; there are {', '.join(sorted(known))}")
        value = json.loads(text if not text.startswith(".") else "0" + text)
        values[name] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(Settings(), **values)


def comparison(path: Path, base: str, other: str, rivals: tuple[str, ...] = RIVALS) -> str:
    """A row for each graph and regime; the rank of each of the two is its place among the rivals."""
    lines = [f"| row | best of four | {base} | {other} | change |", "|---|---|---|---|---|"]
    ranks: list[tuple[int, int]] = []
    values: list[tuple[float, float]] = []
    for (graph, setting, regime), means in run.row_means(path, [*rivals, base, other]).items():
        if setting != "present" or base not in means or other not in means:
            continue
        best = max((means[name] for name in run.CLOSED_FORMS if name in means), default=float("nan"))
        both = means[base], means[other]
        against = [means[rival] for rival in rivals if rival in means]
        ranks.append((rank(both[0], against), rank(both[1], against)))
        values.append(both)
        lines.append(f"| {graph} {regime} | {best:.1f} | {both[0]:.1f} | {both[1]:.1f} | {both[1] - both[0]:+.2f} |")
    if values:
        first, second = np.mean(values, axis=0)
        lines.append(f"| mean | | {first:.2f} | {second:.2f} | {second - first:+.2f} |")
        first, second = np.mean(ranks, axis=0)
        lines.append(f"| mean rank | | {first:.2f} | {second:.2f} | {second - first:+.2f} |")
    return "\n".join(lines)


def rank(value: float, rivals: list[float]) -> int:
    return 1 + sum(rival > value + 1e-9 for rival in rivals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=["recipe"], default="recipe")
    parser.add_argument("--setting", action="append", default=[], help="name=value; may be repeated")
    parser.add_argument("--graphs", nargs="*", default=list(graphs.LOADERS))
    parser.add_argument("--out", type=Path, default=cache_folder() / "settled.jsonl")
    options = parser.parse_args()
    label = " ".join(["recipe", *options.setting])
    systems = {name: baselines.SYSTEMS[name] for name in RIVALS} | {"recipe": recipe.embed}
    if options.setting:
        systems[label] = functools.partial(recipe.embed, settings=changed(options.setting))
    for graph_name in options.graphs:
        graph = graphs.load(graph_name)
        for name, system in systems.items():
            run.run(graph, name, system, ("present",), options.out)
    print(comparison(options.out, "recipe", label))


if __name__ == "__main__":
    main()
