"""Fill cells of a table: work out which pieces are missing, run each within its share of the time, keep every split."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.baselines.interface import Classifier
from sanne.datasets import Splits, load_dataset, load_splits
from sanne.experiments.protocol import SplitResult, results_of
from sanne.experiments.result_files import Cell, finished, plain, twin, write_result
from sanne.experiments.systems import make_grid
from sanne.graph.csr import Graph

Clock = Callable[[], float]


@dataclass(frozen=True)
class Piece:
    """One training and the splits it serves: all at once for transductive vectors, else a single one."""

    cell: Cell
    numbers: tuple[int, ...]
    candidates: int  # points of the grid

    def __str__(self) -> str:
        if len(self.numbers) == 1:
            return f"{self.cell}: split {self.numbers[0]}"
        return f"{self.cell}: {len(self.numbers)} splits"

    def run(
        self, out: Path, share: float | None, *, progress: bool | None = False, clock: Clock = time.monotonic
    ) -> None:
        """See `run_piece`."""
        run_piece(self, out, share, progress=progress, clock=clock)


@functools.cache
def graph_of(dataset: str) -> Graph:
    """A dataset that may have no splits; it stays in memory, read-only."""
    graph = load_dataset(dataset)
    features: Any = graph.features
    for array in (features.data if sp.issparse(features) else features, graph.labels):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return graph


@functools.cache
def data_of(dataset: str) -> tuple[Graph, Splits]:
    """A dataset and its splits; they stay in memory, read-only."""
    splits = load_splits(dataset)
    for rows in (splits.train, splits.val, splits.test):
        rows.flags.writeable = False
    return graph_of(dataset), splits


def missing_pieces(cell: Cell, out: Path) -> tuple[list[Piece], int]:
    """What is still to be run of a cell, and how many splits are there whose grid was not tried to the end."""
    splits = data_of(cell.dataset)[1]
    systems = make_grid(cell.system, cell.settings)
    grid = [plain(system.settings()) for system in systems]
    missing, unsearched = [], 0
    for number in range(min(cell.splits or len(splits), len(splits))):
        found = finished(cell.folder(out) / f"{number}.json", cell, splits.source, grid)
        if found is None:
            missing.append(number)
        elif found.get("tried", 1) < len(systems):
            unsearched += 1
    one_training = cell.setting == "transductive" and not isinstance(systems[0], Classifier)
    groups = [tuple(missing)] if one_training and missing else [(number,) for number in missing]
    return [Piece(cell, numbers, len(systems)) for numbers in groups], unsearched


def run_piece(
    piece: Piece,
    out: Path,
    share: float | None = None,
    *,
    progress: bool | None = False,
    clock: Clock = time.monotonic,
) -> None:
    """Try the first candidate, then more while `share` (seconds) lasts; a split's file holds its best on validation.

    Files are written after every candidate, so that stopping loses only the one in flight.
    """
    cell = piece.cell
    graph, splits = data_of(cell.dataset)
    systems = make_grid(cell.system, cell.settings, progress=progress)
    if (share is None or len(systems) == 1) and _take_twins(piece, out, splits.source, systems[0].settings()):
        return
    best: dict[int, SplitResult] = {}
    started, longest = clock(), 0.0
    for tried, system in enumerate(systems, 1):
        before = clock()
        numbers = list(piece.numbers)
        for result in results_of(
            system, cell.dataset, graph, splits, cell.setting, numbers, cell.seed, cell.features_from
        ):
            if result.split not in best or result.val > best[result.split].val:
                best[result.split] = result
        for number in numbers:
            _keep(cell, out, number, best[number].to_dict() | {"tried": tried, "grid": len(systems)})
        longest = max(longest, clock() - before)
        if share is None or clock() - started + longest > share:
            return


def _take_twins(piece: Piece, out: Path, splits_source: str, settings: dict[str, Any]) -> bool:
    """Use runs of the very same settings under another name; True if there was one for every split."""
    cell = piece.cell
    twins = [twin(out, cell, number, splits_source, plain(settings)) for number in piece.numbers]
    found = [result for result in twins if result is not None]
    if len(found) < len(twins):
        return False
    for number, result in zip(piece.numbers, found, strict=True):
        _keep(cell, out, number, result | {"tried": 1, "grid": piece.candidates, "same_run_as": result["system"]})
    return True


def _keep(cell: Cell, out: Path, number: int, result: dict[str, Any]) -> None:
    kept = result | {"system": cell.label}
    if cell.table != "table2":  # studied on validation only
        kept.pop("test", None)
    write_result(cell.folder(out) / f"{number}.json", kept)
