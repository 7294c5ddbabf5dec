"""Table 2: node classification on Cora, Citeseer and Pubmed, one JSON file per split, tables made from the files."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne.atomic import replaced_file
from sanne.config import Config
from sanne.datasets import load_dataset, load_splits
from sanne.errors import InputError
from sanne.experiments.paper_figures import table2_figure
from sanne.experiments.protocol import FeaturesFrom, Setting, results_of
from sanne.experiments.systems import make_system

DATASETS = ("cora", "citeseer", "pubmed")
SETTINGS: tuple[Setting, ...] = ("transductive", "inductive")

Report = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A system on a dataset in a setting, over all splits."""

    model: str
    dataset: str
    setting: Setting
    recipe: str | None
    mean: float
    std: float
    splits: list[float]
    validation: float
    train_seconds: float  # mean over trainings
    trainings: int
    splits_source: str
    features_from: str
    seed: int
    paper: float | None
    paper_std: float | None

    @property
    def name(self) -> str:
        return self.model if self.recipe is None else f"{self.model}-{self.recipe}"

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


def run_row(
    system_name: str,
    dataset: str,
    setting: Setting,
    *,
    out: Path,
    seed: int = 0,
    features_from: FeaturesFrom = "present",
    settings: dict[str, Any] | None = None,
    report: Report = lambda message: None,
    progress: bool | None = None,
) -> Row:
    """Run what is missing of a row, file by file, and sum it up."""
    if dataset not in DATASETS:
        raise InputError(f"table 2 has no dataset {dataset!r}: choose from {', '.join(DATASETS)}")
    if setting not in SETTINGS:
        raise InputError(f"unknown setting {setting!r}: choose transductive or inductive")
    system = make_system(system_name, settings, progress=progress)
    graph, splits = load_dataset(dataset), load_splits(dataset)
    folder = out / "table2" / dataset / setting / (system.name + ("" if features_from == "present" else "-all"))
    wanted = {
        "seed": seed,
        "settings": json.loads(json.dumps(system.settings())),
        "splits_source": splits.source,
        "features_from": features_from if setting == "inductive" else "all",
    }
    missing = [number for number in range(len(splits)) if not _is_done(folder / f"{number}.json", wanted)]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
    # One training serves all splits in the transductive setting; else a file after every split.
    groups = [missing] if setting == "transductive" and missing else [[number] for number in missing]
    for group in groups:
        report(f"{system.name}, {dataset}, {setting}: split {', '.join(str(number) for number in group)}")
        for result in results_of(system, dataset, graph, splits, setting, group, seed, features_from):
            with replaced_file(folder / f"{result.split}.json") as part:
                part.write_text(json.dumps(result.to_dict(), indent=1) + "\n", encoding="utf-8")
    return summarise([_read(folder / f"{number}.json") for number in range(len(splits))])


def summarise(results: list[dict[str, Any]]) -> Row:
    """A row of the table from the files of its splits."""
    first = results[0]
    tests = [float(result["test"]) for result in results]
    paper = table2_figure(first["system"], first["dataset"], first["setting"])
    is_sanne = first["system"].startswith("sanne-")
    one_training = first["setting"] == "transductive"
    return Row(
        model="sanne" if is_sanne else first["system"],
        dataset=first["dataset"],
        setting=first["setting"],
        recipe=first["system"].removeprefix("sanne-") if is_sanne else None,
        mean=round(float(np.mean(tests)), 2),
        std=round(float(np.std(tests)), 2),
        splits=tests,
        validation=round(float(np.mean([result["val"] for result in results])), 2),
        train_seconds=round(float(np.mean([result["seconds"] for result in results])), 2),
        trainings=1 if one_training else len(results),
        splits_source=first["splits_source"],
        features_from=first["features_from"],
        seed=first["seed"],
        paper=None if paper is None else paper[0],
        paper_std=None if paper is None else paper[1],
    )


def markdown(rows: list[Row]) -> str:
    """The rows as two Markdown tables: accuracies side by side, the best of a column in bold; then the details."""
    return _side_by_side(rows) + "\n" + _details(rows)


def _side_by_side(rows: list[Row]) -> str:
    cells = {(row.name, row.dataset, row.setting): row for row in rows}
    columns = [(d, s) for s in SETTINGS for d in DATASETS if any((r.dataset, r.setting) == (d, s) for r in rows)]
    titles = [f"{dataset.capitalize()}{', new' if setting == 'inductive' else ''}" for dataset, setting in columns]
    lines = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(columns)]
    for name in dict.fromkeys(row.name for row in rows):
        line = []
        for column in columns:
            row = cells.get((name, *column))
            best = max(r.mean for r in rows if (r.dataset, r.setting) == column)
            mark = "**" if row is not None and row.mean == best else ""
            line.append("" if row is None else f"{mark}{row.mean:.2f}{mark} ± {row.std:.2f}")
        lines.append(f"| {name} | {' | '.join(line)} |")
    printed = [table2_figure("sanne", *column) for column in columns]
    figures = ["" if figure is None else f"{figure[0]:.2f} ± {figure[1]:.2f}" for figure in printed]
    lines.append(f"| *SANNE, as the paper prints it* | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def _details(rows: list[Row]) -> str:
    lines = [
        "| system | dataset | setting | validation | seconds a training | trainings | splits | features from | seed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.dataset} | {row.setting} | {row.validation:.2f} | {row.train_seconds:.1f} | "
        f"{row.trainings} | {row.splits_source} | {row.features_from} | {row.seed} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _is_done(path: Path, wanted: dict[str, Any]) -> bool:
    if not path.is_file():
        return False
    found = _read(path)
    found["settings"] = _with_later_settings(found.get("settings", {}), wanted["settings"])
    return all(found.get(name) == value for name, value in wanted.items())


def _with_later_settings(kept: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Kept settings, with those that did not exist yet at their defaults, which change nothing."""
    defaults = json.loads(json.dumps(Config().to_dict()))
    return {
        name: {**{k: v for k, v in defaults[name].items() if k in wanted.get(name, {})}, **value}
        if isinstance(value, dict) and name in defaults
        else value
        for name, value in kept.items()
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path}: not a result file; delete it and run again") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: not a result file; delete it and run again")
    return found
