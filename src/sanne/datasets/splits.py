"""Train, validation and test nodes: the paper's ten splits where they are at hand, else drawn from a seed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sanne.datasets.catalogue import find_dataset
from sanne.datasets.fetch import data_folder
from sanne.datasets.read import load_dataset
from sanne.errors import DatasetError, InputError
from sanne.graph.readers.npz import load_arrays
from sanne.seeds import numpy_stream

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Splits:
    """Node indices, one row per split: `train` comes class by class."""

    train: IntArray  # (splits, per_class * classes)
    val: IntArray  # (splits, validation)
    test: IntArray  # (splits, test)
    source: Literal["paper", "seeded"]

    def __len__(self) -> int:
        return len(self.train)


def load_splits(name: str, *, seed: int = 0) -> Splits:
    """The splits of a dataset: the paper's, if SANNE_DATA has them beside the graph, else seeded ones."""
    dataset = find_dataset(name)
    folder = data_folder()
    if folder is not None and (folder / f"{name}.npz").is_file():  # the splits follow that node order
        path = folder / f"{name}.paper_splits.npz"
        if path.is_file():
            return _read_splits(path, name)
    labels = load_dataset(name).labels
    if labels is None or labels.ndim != 1:
        raise DatasetError(f"{dataset.name} has no classes to split by: {dataset.description}")
    return seeded_splits(labels, seed)


def _read_splits(path: Path, name: str) -> Splits:
    try:
        arrays = load_arrays(path)
        rows = [arrays[part] for part in ("train", "val", "test")]
    except (KeyError, ValueError) as error:
        raise DatasetError(f"{path}: not a readable file of splits ({error}); remove it, or get it again") from None
    num_nodes = load_dataset(name).num_nodes
    for part in rows:
        if part.ndim != 2 or part.dtype.kind not in "iu" or len(part) != len(rows[0]):
            raise DatasetError(f"{path}: {part.dtype} of shape {part.shape}, expected node numbers, a row per split")
        if part.size and (part.min() < 0 or part.max() >= num_nodes):
            raise DatasetError(f"{path}: a node outside 0..{num_nodes - 1}: the splits are of another graph")
    train, val, test = (part.astype(np.int64) for part in rows)
    return Splits(train, val, test, "paper")


def seeded_splits(
    labels: npt.NDArray[Any],
    seed: int,
    count: int = 10,
    per_class: int = 20,
    validation: int = 1000,
    test: int = 1000,
) -> Splits:
    """Splits drawn from a seed: `per_class` nodes of every class, then validation, then test nodes.

    Labels are integers or text; nodes labelled -1 or "" have no class and are never drawn. A class gives
    at most half of its nodes to train. If the nodes left are too few, validation and test share them in
    the proportion asked for.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iuOU":
        raise InputError(f"labels must be one class per node, not {labels.dtype} of shape {labels.shape}")
    if labels.dtype.kind in "OU":
        names, numbers = np.unique(labels.astype(str), return_inverse=True)
        labels = np.where(names[numbers] == "", -1, numbers)
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if len(classes) < 2:
        raise InputError(f"{len(classes)} classes among the labels: a split needs two or more")
    if sizes.min() < 2:
        raise InputError(f"class {classes[sizes.argmin()]} has a single node: every class needs two or more")
    rows = [_draw(labels, classes, seed, split, per_class, validation, test) for split in range(count)]
    train, val, held = (np.stack(part) for part in zip(*rows, strict=True))
    return Splits(train, val, held, source="seeded")


def _draw(
    labels: npt.NDArray[np.integer],
    classes: npt.NDArray[np.integer],
    seed: int,
    split: int,
    per_class: int,
    validation: int,
    test: int,
) -> tuple[IntArray, IntArray, IntArray]:
    order = numpy_stream(seed, "split", split).permutation(len(labels))
    chosen = []
    for label in classes:
        members = order[labels[order] == label]
        chosen.append(members[: min(per_class, len(members) // 2)])
    train = np.concatenate(chosen)
    rest = order[(labels[order] >= 0) & ~np.isin(order, train)]
    if len(rest) < validation + test:
        validation = len(rest) * validation // (validation + test)
        test = len(rest) - validation
    return train, rest[:validation], rest[validation : validation + test]
