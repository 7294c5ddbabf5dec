"""The figures that a search has come to: a row of table 2 from the records, chosen on validation, in a moment."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sanne.errors import InputError
from sanne_lab.experiments.paper_figures import TABLE2, TABLE3
from sanne_lab.paper.grid import (
    FF_DIMS,
    INDUCTIVE_WALKS,
    LEARNING_RATES,
    NUM_HEADS,
    NUM_LAYERS,
    NUM_WALKS,
    Candidate,
    Cell,
    Unstated,
)
from sanne_lab.paper.inputs import number_of_splits
from sanne_lab.paper.records import Choice, Epoch, choose, read


@dataclass(frozen=True)
class ChosenSplit:
    """What validation chose for a split."""

    split: int
    val: float
    test: float
    epoch: int
    key: str
    settings: dict[str, Any]  # of the paper's grid
    unstated: dict[str, Any]  # what the paper leaves out


@dataclass(frozen=True)
class CellRecord:
    """A cell's figures, and what they took."""

    dataset: str
    setting: str
    ablation: str
    texts: str
    mean: float | None  # test accuracy; None until every split has been trained on
    std: float | None
    validation: float | None
    validation_std: float | None
    splits: list[ChosenSplit]
    missing: list[int]  # splits without any training
    tried: int  # points of the paper's grid with an epoch or more, on the split with the fewest
    tried_most: int
    grid: int  # points that the paper's grid has
    variants: int  # ways in which what the paper leaves out was filled in
    trainings: int
    epochs: int
    hours: float  # of one processor, evaluation apart
    paper: float | None
    paper_std: float | None
    paper_validation: float | None
    paper_validation_std: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def rows(cell: Cell, results: Path) -> CellRecord:
    """The figures of a cell from the records in a folder."""
    return summarise(cell, read(results, cell))


def summarise(cell: Cell, epochs: Sequence[Epoch]) -> CellRecord:
    """The figures of a cell from its epochs."""
    chosen = choose(epochs)
    total = number_of_splits(cell)
    missing = [split for split in range(total) if split not in chosen]
    complete = bool(chosen) and not missing
    tests, vals = [c.test for c in chosen.values()], [c.val for c in chosen.values()]
    tried = [len({_point(e) for e in epochs if split in e.splits}) for split in range(total)]
    paper, paper_std = TABLE2[cell.setting]["sanne"][cell.dataset] if cell.ablation == "none" else (None, None)
    printed: tuple[float | None, float | None] = (None, None)
    if cell.setting == "transductive":
        printed = TABLE3[cell.ablation][cell.dataset]
    return CellRecord(
        dataset=cell.dataset,
        setting=cell.setting,
        ablation=cell.ablation,
        texts=cell.texts,
        mean=round(float(np.mean(tests)), 2) if complete else None,
        std=round(float(np.std(tests)), 2) if complete else None,
        validation=round(float(np.mean(vals)), 2) if complete else None,
        validation_std=round(float(np.std(vals)), 2) if complete else None,
        splits=[_chosen_split(choice) for choice in chosen.values()],
        missing=missing,
        tried=min(tried, default=0),
        tried_most=max(tried, default=0),
        grid=grid_size(cell),
        variants=len({e.candidate.unstated for e in epochs}),
        trainings=len({(e.candidate, e.seed, e.splits) for e in epochs}),
        epochs=len(epochs),
        hours=round(sum(e.seconds for e in epochs) / 3600, 2),
        paper=paper,
        paper_std=paper_std,
        paper_validation=printed[0],
        paper_validation_std=printed[1],
    )


def grid_size(cell: Cell) -> int:
    """How many points the paper's grid has for a cell."""
    walks = len(NUM_WALKS) if cell.setting == "transductive" else len((INDUCTIVE_WALKS[cell.dataset],))
    return len(LEARNING_RATES) * len(FF_DIMS) * len(NUM_LAYERS) * len(NUM_HEADS) * walks


def _point(epoch: Epoch) -> Candidate:
    """The candidate without regard to what is unstated."""
    return replace(epoch.candidate, unstated=Unstated())


def _chosen_split(choice: Choice) -> ChosenSplit:
    values = choice.epoch.candidate.to_dict()
    unstated = values.pop("unstated")
    del values["cell"]
    return ChosenSplit(
        choice.split, choice.val, choice.test, choice.epoch.epoch, choice.epoch.candidate.key, values, unstated
    )


def by_value(cell: Cell, epochs: Sequence[Epoch], axis: str) -> dict[float, CellRecord]:
    """Figure 3: the figures of a cell when one axis is held at each of its values and the others are chosen."""
    values = sorted({getattr(epoch.candidate, axis) for epoch in epochs})
    return {value: summarise(cell, [e for e in epochs if getattr(e.candidate, axis) == value]) for value in values}


def curve(cell: Cell, epochs: Sequence[Epoch]) -> list[dict[str, Any]]:
    """Mean validation accuracy by epoch of every candidate, for a picture of how training went."""
    grouped: dict[tuple[Any, int], list[float]] = {}
    for epoch in epochs:
        if epoch.candidate.cell != cell:
            raise InputError(f"an epoch of {epoch.candidate.cell} among those of {cell}")
        grouped.setdefault((epoch.candidate, epoch.epoch), []).extend(epoch.val)
    return [
        {
            "key": candidate.key,
            "epoch": number,
            "walks": number * candidate.num_walks,  # from each node
            "validation": round(sum(val) / len(val), 2),
            "splits": len(val),
        }
        for (candidate, number), val in sorted(grouped.items(), key=lambda item: (item[0][0].key, item[0][1]))
    ]
