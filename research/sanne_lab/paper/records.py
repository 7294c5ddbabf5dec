"""The search's memory: one JSON line per epoch of a training, appended whole or not at all."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from sanne.errors import InputError
from sanne_lab.experiments.records import append_record
from sanne_lab.paper.grid import Candidate, Cell


@dataclass(frozen=True)
class Epoch:
    """What one epoch of one training came to. Only `val` may be read to choose; `test` is for the report."""

    candidate: Candidate
    seed: int
    features: str  # digest of the feature vectors
    epoch: int  # from 1
    steps: int  # since training began
    splits: tuple[int, ...]  # all ten in the transductive setting, else the one that was hidden
    val: tuple[float, ...]  # accuracy, percent, one for each split
    test: tuple[float, ...]
    C: tuple[float, ...]
    loss: float
    seconds: float  # of one processor, for this epoch's training without evaluation

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the settings that the paper does not state are under candidate.unstated."""
        return {"key": self.candidate.key, **asdict(self), "candidate": self.candidate.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The reverse of `to_dict`; a candidate outside the paper's grid is refused."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        candidate = Candidate.from_dict(values["candidate"])
        if fields.pop("key") != candidate.key:
            raise InputError(f"the record's key does not belong to its settings: {values['key']}")
        return cls(**(fields | {"candidate": candidate}))


def records_path(folder: Path, cell: Cell) -> Path:
    """Where the epochs of a cell are kept."""
    return folder / cell.dataset / f"{cell.variant}.jsonl"


def append(folder: Path, epoch: Epoch) -> None:
    """Add an epoch to its cell's file."""
    path = records_path(folder, epoch.candidate.cell)
    append_record(path.parent, path.stem, epoch.to_dict())


def read(folder: Path, cell: Cell) -> list[Epoch]:
    """All epochs of a cell in the order they were added, each once; a line that was cut short is passed over."""
    path = records_path(folder, cell)
    if not path.is_file():
        return []
    found: dict[tuple[Any, ...], Epoch] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            values = json.loads(line)
        except ValueError:
            continue
        try:
            epoch = Epoch.from_dict(values)
        except (InputError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: not a record of the paper's grid ({error})") from None
        if epoch.candidate.cell != cell:
            raise InputError(f"{path}:{number}: a record of {epoch.candidate.cell} among those of {cell}")
        found.setdefault((epoch.candidate, epoch.seed, epoch.splits, epoch.epoch), epoch)
    return list(found.values())


@dataclass(frozen=True)
class Choice:
    """The epoch that validation chose for one split."""

    split: int
    val: float
    test: float
    epoch: Epoch


def choose(epochs: Sequence[Epoch]) -> dict[int, Choice]:
    """For every split the candidate and epoch with the highest validation accuracy.

    Of equals the one that is better on the validation nodes of all splits, then the earlier. Test accuracies are
    copied and not looked at.
    """
    means = _means(epochs)
    chosen: dict[int, tuple[tuple[float, float], Choice]] = {}
    for epoch in epochs:
        mean = means[epoch.candidate, epoch.seed, epoch.epoch]
        for split, val, test in zip(epoch.splits, epoch.val, epoch.test, strict=True):
            rank = (val, mean)
            if split not in chosen or rank > chosen[split][0]:
                chosen[split] = (rank, Choice(split, val, test, epoch))
    return {split: choice for split, (_, choice) in sorted(chosen.items())}


def _means(epochs: Sequence[Epoch]) -> dict[tuple[Candidate, int, int], float]:
    """Mean validation accuracy of an epoch over the splits that it was scored on."""
    values: dict[tuple[Candidate, int, int], list[float]] = {}
    for epoch in epochs:
        values.setdefault((epoch.candidate, epoch.seed, epoch.epoch), []).extend(epoch.val)
    return {key: sum(val) / len(val) for key, val in values.items()}
