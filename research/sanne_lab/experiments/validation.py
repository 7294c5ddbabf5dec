"""Studies on validation accuracy, as in table 3 and figure 3: cells that differ from a recipe in a setting or two."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne_lab.experiments.protocol import Setting
from sanne_lab.experiments.result_files import SETTINGS, Cell, read_result, tried_text


@dataclass(frozen=True)
class Measured:
    """Validation accuracy of one cell, split by split."""

    label: str
    dataset: str
    setting: Setting
    validation: list[float]
    tried: int
    tried_most: int
    grid: int
    splits_source: str
    seed: int

    @property
    def mean(self) -> float:
        return float(np.mean(self.validation))

    @property
    def std(self) -> float:
        return float(np.std(self.validation))

    @property
    def share(self) -> str:
        """How much of the grid was tried, in words."""
        return tried_text(self.tried, self.tried_most, self.grid)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__) | {"mean": round(self.mean, 2), "std": round(self.std, 2)}


def measured(cell: Cell, out: Path) -> Measured | None:
    """What the files of a cell hold: its first splits, as many as it asks for or as there are; None for too few."""
    results: list[dict[str, Any]] = []
    while (path := cell.folder(out) / f"{len(results)}.json").is_file() and len(results) != cell.splits:
        results.append(read_result(path))
    if len(results) < (cell.splits or 1):
        return None
    tried = [int(result["tried"]) for result in results]
    return Measured(
        label=cell.label,
        dataset=cell.dataset,
        setting=cell.setting,
        validation=[float(result["val"]) for result in results],
        tried=min(tried),
        tried_most=max(tried),
        grid=max(int(result["grid"]) for result in results),
        splits_source="/".join(dict.fromkeys(result["splits_source"] for result in results)),
        seed=results[0]["seed"],
    )


def splits_text(found: Sequence[Measured]) -> str:
    """How many splits, and whose, in words."""
    counts = {setting: _count_text([one for one in found if one.setting == setting]) for setting in SETTINGS}
    counts = {setting: count for setting, count in counts.items() if count}
    number = " and ".join(f"{count} ({setting})" for setting, count in counts.items())
    if len(set(counts.values())) == 1:
        number = next(iter(counts.values()))
    sources = {"paper": "the paper's own", "seeded": "drawn from a seed"}
    source = " or ".join(sources.get(name, name) for name in dict.fromkeys(one.splits_source for one in found))
    return f"{number} splits, {source}"


def _count_text(found: Sequence[Measured]) -> str:
    counts = sorted({len(one.validation) for one in found})
    return "" if not counts else f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
