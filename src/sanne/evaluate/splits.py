"""Train, validation and test nodes, drawn from a seed."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.seeds import numpy_stream

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splits:
    """Node indices, one row per split: `train` comes class by class."""

    train: IntArray  # (splits, per_class * classes)
    val: IntArray  # (splits, validation)
    test: IntArray  # (splits, test)
    source: str = "seeded"  # where they come from

    def __len__(self) -> int:
        return len(self.train)


def has_label(labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """True where a label is given, for labels that are numbers or text; -1, NaN, "" and None stand for none."""
    array = np.asarray(labels)
    if array.dtype.kind in "iufb":
        return np.asarray(array >= 0)
    given = [label >= 0 if isinstance(label, int | float) else label not in (None, "") for label in array.tolist()]
    return np.array(given, bool)


def seeded_splits(
    labels: IntArray,
    seed: int,
    count: int = 10,
    per_class: float = 20,
    validation: int = 1000,
    test: int = 1000,
) -> Splits:
    """Splits drawn from a seed: `per_class` nodes of every class, then validation, then test nodes.

    Nodes labelled -1 have no class and are never drawn. A class gives at most half of its nodes to train; `per_class`
    below one is a share of every class instead, one node at least. If the nodes left are too few, validation and test
    share them in the proportion asked for.
    """
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if len(classes) < 2:
        raise InputError(f"{len(classes)} classes among the labels: a split needs two or more")
    takes = [max(1, round(per_class * size)) if per_class < 1 else min(int(per_class), size // 2) for size in sizes]
    left = int(sizes.sum()) - sum(takes)
    if left < validation + test:
        validation = max(min(1, validation), left * validation // (validation + test))
        test = left - validation
    rows = []
    for split in range(count):
        order = numpy_stream(seed, "split", split).permutation(len(labels))
        members = [order[labels[order] == label][:most] for label, most in zip(classes, takes, strict=True)]
        train = np.concatenate(members)
        rest = order[(labels[order] >= 0) & ~np.isin(order, train)]
        rows.append((train, rest[:validation], rest[validation : validation + test]))
    train, val, held = (np.stack(part) for part in zip(*rows, strict=True))
    return Splits(train, val, held)
