"""Cells of tables: what is missing of each, run candidate by candidate, the best of every part kept."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sanne.config import Config
from sanne.errors import InputError
from sanne.model.artifact import versions
from sanne_lab.baselines.interface import Classifier, System
from sanne_lab.experiments.data import WITHOUT_ATTRIBUTES, FeaturesFrom, data_of
from sanne_lab.experiments.records import Key, Record, append_record, read_records
from sanne_lab.experiments.systems import make_grid

Clock = Callable[[], float]
# Scores by part; a part is what a candidate is chosen for on its own, by `val`. None: nothing to choose by.
Parts = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """One candidate of a system on one seed or split."""

    seconds: float  # of training alone
    parts: Parts


@dataclass(frozen=True)
class Cell:
    """One system in one column of a table, with a record for each number: a seed or a split."""

    table: str
    label: str  # the system as the table calls it
    system: str  # the name that `make_grid` knows
    dataset: str
    measure: "Measure"  # a module's function, so that it can go to another process
    numbers: tuple[int, ...]
    setting: str = ""
    settings: dict[str, Any] = field(default_factory=dict)  # of a SANNE recipe
    # of the paper's protocol, where numbers are splits
    seed: int | None = None
    features_from: FeaturesFrom | None = None

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.label, self.dataset, self.setting)))

    def key(self, number: int) -> Key:
        """The key of a record."""
        return self.dataset, self.setting, self.label, self.features_from or "", number

    def facts(self) -> dict[str, Any]:
        """What a record must say besides its key to be of this cell."""
        if self.seed is None:
            return {}
        source = data_of(self.dataset)[1].source
        return {"seed": self.seed, "splits_source": source, "features_from": self.features_from}

    def grid(self, progress: bool | None = None) -> Sequence[System | Classifier]:
        """The candidates, the first one first."""
        attributes = self.dataset not in WITHOUT_ATTRIBUTES
        return make_grid(self.system, self.settings, progress=progress, attributes=attributes)


# Measures a candidate on some numbers of a cell: one result for each.
Measure = Callable[[System | Classifier, Cell, Sequence[int]], list[Measured]]


def cells_of(
    table: str,
    measure: Measure,
    numbers: Sequence[int],
    systems: Sequence[str],
    datasets: Sequence[str],
    changes: dict[str, Any] | None,
    setting: str = "",
) -> list[Cell]:
    """A cell for every dataset and system; `changes` are settings of SANNE recipes."""
    return [
        Cell(table, system, system, dataset, measure, tuple(numbers), setting, changes or {})
        for dataset in datasets
        for system in systems
    ]


@dataclass(frozen=True)
class Piece:
    """One training, the numbers that it serves, and how many candidates were tried on them before."""

    cell: Cell
    numbers: tuple[int, ...]
    candidates: int
    tried: int = 0

    def __str__(self) -> str:
        what = f"#{self.numbers[0]}" if len(self.numbers) == 1 else f"{len(self.numbers)} splits"
        return f"{self.cell.table}: {self.cell}: {what}"

    def run(
        self, out: Path, share: float | None, *, progress: bool | None = False, clock: Clock = time.monotonic
    ) -> None:
        """Try a candidate, then more while `share` (seconds) lasts; every part keeps its best on validation.

        Records are written after every candidate, so that stopping loses only the one in flight.
        """
        cell = self.cell
        systems = cell.grid(progress)
        only_one = share is None or len(systems) == 1
        stored = read_records(out, cell.table) if self.tried else {}
        kept = {number: stored.get(cell.key(number), {"candidates": [], "parts": {}}) for number in self.numbers}
        started, longest = clock(), 0.0
        for tried, system in enumerate(systems[self.tried :], self.tried + 1):
            before = clock()
            found = cell.measure(system, cell, self.numbers)
            for number, one in zip(self.numbers, found, strict=True):
                kept[number] = _joined(kept[number], one, plain(system.settings()))
                facts = {"tried": tried, "grid": len(systems), "versions": versions("torch")}
                append_record(out, cell.table, _head(cell, number) | facts | kept[number])
            longest = max(longest, clock() - before)
            if only_one or not all(map(_can_choose, kept.values())) or clock() - started + longest > (share or 0):
                return


def missing_pieces(cell: Cell, out: Path, search: bool) -> list[Piece]:
    """What is still to be run of a cell; with `search`, also where the grid was not tried to the end."""
    systems = cell.grid()
    grid = [plain(system.settings()) for system in systems]
    stored = read_records(out, cell.table)
    facts = cell.facts()
    waiting: dict[int, list[int]] = {}  # by the number of candidates tried
    for number in cell.numbers:
        found = stored.get(cell.key(number))
        if found is None or not _is_of(found, facts, grid):
            waiting.setdefault(0, []).append(number)
        elif search and _can_choose(found) and found["tried"] < len(systems):
            waiting.setdefault(found["tried"], []).append(number)
    one_training = cell.setting == "transductive" and not isinstance(systems[0], Classifier)
    return [
        Piece(cell, group, len(systems), tried)
        for tried, numbers in waiting.items()
        for group in ([tuple(numbers)] if one_training else [(number,) for number in numbers])
    ]


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as a file gives them back."""
    return dict(json.loads(json.dumps(settings)))


def chosen(names: str | None, allowed: Sequence[str], what: str) -> list[str]:
    """Names from a command line, by commas; all by default."""
    if names is None:
        return list(allowed)
    picked = names.split(",")
    for name in picked:
        if name not in allowed:
            raise InputError(f"unknown {what} {name!r}: choose from {', '.join(allowed)}")
    return picked


def _head(cell: Cell, number: int) -> Record:
    """The first fields of a record."""
    setting = {"setting": cell.setting} if cell.setting else {}
    return {"dataset": cell.dataset, **setting, "system": cell.label, "number": number, **cell.facts()}


def _joined(kept: Record, found: Measured, settings: dict[str, Any]) -> Record:
    """What is kept, with a new candidate in the parts where it is better; candidates that nothing uses are dropped."""
    candidates = [*kept["candidates"], {"settings": settings, "seconds": round(found.seconds, 2)}]
    parts: Parts = dict(kept["parts"])
    for name, part in found.parts.items():
        if name not in parts or part["val"] > parts[name]["val"]:
            parts[name] = {"candidate": len(candidates) - 1, **part}
    used = sorted({part["candidate"] for part in parts.values()})
    parts = {name: {**part, "candidate": used.index(part["candidate"])} for name, part in parts.items()}
    return {"candidates": [candidates[index] for index in used], "parts": parts}


def _can_choose(record: Record) -> bool:
    return all(part.get("val") is not None for part in record["parts"].values())


def _is_of(record: Record, facts: dict[str, Any], grid: Sequence[dict[str, Any]]) -> bool:
    """Whether a record has these facts, and settings of the grid (each `plain`)."""
    if any(record.get(name) != value for name, value in facts.items()):
        return False
    kept = [candidate["settings"] for candidate in record["candidates"]]
    return all(any(_as_today(one, settings) == settings for settings in grid) for one in kept)


def _as_today(kept: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Kept settings of a recipe, with those that did not exist yet at their defaults, which change nothing.

    Those that are gone are left out: they belonged to an objective that is gone too, by whose name a record is told.
    """
    defaults = plain(Config().to_dict())
    return {
        name: {k: value.get(k, default) for k, default in defaults[name].items() if k in wanted.get(name, {})}
        if isinstance(value, dict) and name in defaults
        else value
        for name, value in kept.items()
    }
