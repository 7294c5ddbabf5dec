"""Studies on validation accuracy, as in table 3 and figure 3: from the search over the paper's grid, or kept files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sanne_lab.experiments.data import SETTINGS
from sanne_lab.experiments.records import read_records
from sanne_lab.experiments.summaries import sources_text, splits_source, tried_text
from sanne_lab.paper.rows import CellRecord


@dataclass(frozen=True)
class Validation:
    """Validation accuracy of one cell, split by split."""

    label: str
    dataset: str
    setting: str
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


def of_search(label: str, record: CellRecord) -> Validation | None:
    """What a search has come to; None if nothing was trained."""
    if not record.splits:
        return None
    return Validation(
        label=label,
        dataset=record.dataset,
        setting=record.setting,
        validation=[split.val for split in record.splits],
        tried=record.tried or 1,
        tried_most=record.tried_most,
        grid=record.grid,
        splits_source="paper",
        seed=0,
    )


def of_files(label: str, table: str, dataset: str, setting: str, out: Path) -> Validation | None:
    """What is kept of a system that is no longer in the code; None if there is nothing."""
    wanted = (dataset, setting, label)
    records = [record for key, record in read_records(out, table).items() if key[:3] == wanted]
    if not records:
        return None
    tried = [int(record["tried"]) for record in records]
    return Validation(
        label=label,
        dataset=dataset,
        setting=setting,
        validation=[float(record["parts"]["split"]["val"]) for record in records],
        tried=min(tried),
        tried_most=max(tried),
        grid=max(int(record["grid"]) for record in records),
        splits_source=splits_source(records),
        seed=records[0]["seed"],
    )


def splits_text(found: Sequence[Validation]) -> str:
    """How many splits, and whose, in words."""
    counts = {setting: _count_text([one for one in found if one.setting == setting]) for setting in SETTINGS}
    counts = {setting: count for setting, count in counts.items() if count}
    number = " and ".join(f"{count} ({setting})" for setting, count in counts.items())
    if len(set(counts.values())) == 1:
        number = next(iter(counts.values()))
    return f"{number} splits, {sources_text(one.splits_source for one in found)}"


def _count_text(found: Sequence[Validation]) -> str:
    counts = sorted({len(one.validation) for one in found})
    return "" if not counts else f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
