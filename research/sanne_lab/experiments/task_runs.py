"""Tasks beside the paper's: what is missing of a system on a dataset is run and kept, a file per seed or split."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sanne.errors import InputError
from sanne.model.artifact import versions
from sanne_lab.baselines.interface import Classifier, System
from sanne_lab.experiments.pool import Piece, Plan, run_pieces
from sanne_lab.experiments.result_files import is_in_grid, plain, read_result, write_result
from sanne_lab.experiments.runs import Clock
from sanne_lab.experiments.systems import make_grid

# Scores by part; a part is what a candidate is chosen for on its own, by `val`. None: nothing to choose by.
Parts = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """One candidate of a system on one seed or split."""

    seconds: float  # of training alone
    parts: Parts


WITHOUT_ATTRIBUTES = ("blogcatalog", "ca-astroph")
Measure = Callable[[System | Classifier, str, int], Measured]  # a system, a dataset's name, a seed or split


@dataclass(frozen=True)
class TaskCell:
    """One system on one dataset; its files lie in TASK/DATASET/SYSTEM."""

    task: str  # perhaps with a folder below it
    system: str
    dataset: str
    measure: Measure  # a module's function, so that it can go to another process
    numbers: tuple[int, ...]  # seeds or splits
    settings: dict[str, Any] = field(default_factory=dict)  # of a SANNE recipe

    def folder(self, out: Path) -> Path:
        return out / self.task / self.dataset / self.system

    def grid(self, progress: bool | None = None) -> Sequence[System | Classifier]:
        """The candidates, the first one first."""
        attributes = self.dataset not in WITHOUT_ATTRIBUTES
        return make_grid(self.system, self.settings, progress=progress, attributes=attributes)

    def __str__(self) -> str:
        return f"{self.task}: {self.system}, {self.dataset}"


def task_cells(
    task: str,
    measure: Measure,
    numbers: Sequence[int],
    systems: Sequence[str],
    datasets: Sequence[str],
    changes: dict[str, Any] | None,
) -> list[TaskCell]:
    """A cell for every dataset and system; `changes` are settings of SANNE recipes."""
    return [
        TaskCell(task, system, dataset, measure, tuple(numbers), changes or {})
        for dataset in datasets
        for system in systems
    ]


@dataclass(frozen=True)
class TaskPiece:
    """One seed or split of a cell, from the first candidate that was not tried yet."""

    cell: TaskCell
    number: int
    candidates: int
    tried: int = 0

    def __str__(self) -> str:
        return f"{self.cell}: {self.number}"

    def run(
        self, out: Path, share: float | None, *, progress: bool | None = False, clock: Clock = time.monotonic
    ) -> None:
        """Try a candidate, then more while `share` (seconds) lasts; every part keeps its best on validation.

        The file is written after every candidate, so that stopping loses only the one in flight.
        """
        cell = self.cell
        path = cell.folder(out) / f"{self.number}.json"
        kept: dict[str, Any] = read_result(path) if self.tried else {"candidates": [], "parts": {}}
        systems = cell.grid(progress)
        started, longest = clock(), 0.0
        for tried, system in enumerate(systems[self.tried :], self.tried + 1):
            before = clock()
            found = cell.measure(system, cell.dataset, self.number)
            kept = _joined(kept, found, plain(system.settings()))
            facts = {"system": cell.system, "dataset": cell.dataset, "task": cell.task, "number": self.number}
            write_result(path, {**facts, "tried": tried, "grid": len(systems), "versions": versions(), **kept})
            longest = max(longest, clock() - before)
            nothing_to_choose_by = any(part.get("val") is None for part in found.parts.values())
            if share is None or nothing_to_choose_by or clock() - started + longest > share:
                return


def _joined(kept: dict[str, Any], found: Measured, settings: dict[str, Any]) -> dict[str, Any]:
    """What is kept, with a new candidate in the parts where it is better; candidates that nothing uses are dropped."""
    candidates = [*kept["candidates"], {"settings": settings, "seconds": round(found.seconds, 2)}]
    parts: Parts = dict(kept["parts"])
    for name, part in found.parts.items():
        if name not in parts or part["val"] > parts[name]["val"]:
            parts[name] = {"candidate": len(candidates) - 1, **part}
    used = sorted({part["candidate"] for part in parts.values()})
    parts = {name: {**part, "candidate": used.index(part["candidate"])} for name, part in parts.items()}
    return {"candidates": [candidates[index] for index in used], "parts": parts}


def fill_tasks(cells: Sequence[TaskCell], out: Path, plan: Plan) -> list[Exception]:
    """Run what is missing of the cells; the errors of what failed."""
    return run_pieces([piece for cell in cells for piece in missing(cell, out, plan.budget is not None)], out, plan)


def missing(cell: TaskCell, out: Path, search: bool) -> list[Piece]:
    """What is still to be run of a cell; with `search`, also where the grid was not tried to the end."""
    systems = cell.grid()
    grid = [plain(system.settings()) for system in systems]
    pieces: list[Piece] = []
    for number in cell.numbers:
        found = finished(cell.folder(out) / f"{number}.json", grid)
        if found is None:
            pieces.append(TaskPiece(cell, number, len(systems)))
            continue
        can_choose = all(part.get("val") is not None for part in found["parts"].values())
        if search and can_choose and found["tried"] < len(systems):
            pieces.append(TaskPiece(cell, number, len(systems), found["tried"]))
    return pieces


def finished(path: Path, grid: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The result in a file, if its candidates belong to the grid."""
    if not path.is_file():
        return None
    found = read_result(path)
    kept = [candidate.get("settings", {}) for candidate in found.get("candidates", [])]
    return found if kept and all(is_in_grid(settings, grid) for settings in kept) else None


def stored(task: str, out: Path, datasets: Sequence[str], systems: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    """The files of every system on every dataset that has some, in the given order; unknown systems last."""
    for dataset in datasets:
        folders = sorted(
            (out / task / dataset).glob("*"),
            key=lambda path: (systems.index(path.name) if path.name in systems else len(systems), path.name),
        )
        for folder in folders:
            paths = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
            if paths:
                yield [read_result(path) for path in paths]


def chosen(names: str | None, allowed: Sequence[str], what: str) -> list[str]:
    """Names from a command line, by commas; all by default."""
    if names is None:
        return list(allowed)
    picked = names.split(",")
    for name in picked:
        if name not in allowed:
            raise InputError(f"unknown {what} {name!r}: choose from {', '.join(allowed)}")
    return picked
