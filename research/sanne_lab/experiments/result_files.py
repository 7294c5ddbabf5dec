"""Result files: one JSON per (system, dataset, setting, split), found again, checked, and never half written."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sanne.atomic import replaced_file
from sanne.config import Config
from sanne.errors import InputError
from sanne_lab.experiments.protocol import FeaturesFrom, Setting

DATASETS = ("cora", "citeseer", "pubmed")
SETTINGS: tuple[Setting, ...] = ("transductive", "inductive")
RUNS = ("table2", "table3", "figure3")  # what is filled by runs over splits


@dataclass(frozen=True)
class Cell:
    """One system in one column of a table; its files lie in TABLE/DATASET/SETTING/LABEL."""

    table: str
    label: str  # the system as the table calls it
    system: str  # the name that `make_grid` knows
    dataset: str
    setting: Setting
    settings: dict[str, Any] = field(default_factory=dict)  # of a SANNE recipe
    seed: int = 0
    features_from: FeaturesFrom = "present"
    splits: int | None = None  # only so many, from the first

    def __post_init__(self) -> None:
        if self.dataset not in DATASETS:
            raise InputError(f"{self.table} has no dataset {self.dataset!r}: choose from {', '.join(DATASETS)}")
        if self.setting not in SETTINGS:
            raise InputError(f"unknown setting {self.setting!r}: choose transductive or inductive")

    @property
    def features_used(self) -> FeaturesFrom:
        return self.features_from if self.setting == "inductive" else "all"

    def folder(self, out: Path) -> Path:
        name = self.label + ("" if self.features_from == "present" else "-all")
        return out / self.table / self.dataset / self.setting / name

    def __str__(self) -> str:
        return f"{self.label}, {self.dataset}, {self.setting}"


def read_result(path: Path) -> dict[str, Any]:
    """The content of a result file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{path}: not a result file; delete it and run again") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: not a result file; delete it and run again")
    return found


def write_result(path: Path, result: dict[str, Any], indent: int | None = 1) -> None:
    """Write a result file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as part:
        part.write_text(json.dumps(result, indent=indent) + "\n", encoding="utf-8")


def tried_text(tried: int, tried_most: int, grid: int) -> str:
    """How much of a grid was tried, on the split with the fewest candidates and on that with the most."""
    return f"{tried} of {grid}" if tried == tried_most else f"{tried}–{tried_most} of {grid}"


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as a file gives them back."""
    return dict(json.loads(json.dumps(settings)))


def finished(path: Path, cell: Cell, splits_source: str, grid: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The result in a file, if it is one of this cell with settings of the grid (each `plain`)."""
    if not path.is_file():
        return None
    found = read_result(path)
    wanted = {"seed": cell.seed, "splits_source": splits_source, "features_from": cell.features_used}
    if any(found.get(name) != value for name, value in wanted.items()):
        return None
    return found if is_in_grid(found.get("settings", {}), grid) else None


def is_in_grid(kept: dict[str, Any], grid: Sequence[dict[str, Any]]) -> bool:
    """Whether settings from a file are those of a candidate (each `plain`)."""
    return any(_with_later_settings(kept, settings) == settings for settings in grid)


def twin(out: Path, cell: Cell, number: int, splits_source: str, settings: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a SANNE run under another name that has the very same settings, if there is one."""
    if not cell.system.startswith("sanne-"):
        return None
    for table in RUNS:
        for folder in sorted((out / table / cell.dataset / cell.setting).glob("sanne-*")):
            found = finished(folder / f"{number}.json", cell, splits_source, [settings])
            if found is not None and (cell.table != "table2" or "test" in found):
                return found
    return None


def _with_later_settings(kept: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Kept settings, with those that did not exist yet at their defaults, which change nothing."""
    defaults = plain(Config().to_dict())
    return {
        name: {**{k: v for k, v in defaults[name].items() if k in wanted.get(name, {})}, **value}
        if isinstance(value, dict) and name in defaults
        else value
        for name, value in kept.items()
    }
