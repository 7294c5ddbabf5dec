"""Splits of a dataset: the paper's ten where SANNE_DATA has them beside the graph, else drawn from a seed."""

from pathlib import Path

import numpy as np

from sanne.datasets.catalogue import find_dataset, load_dataset
from sanne.errors import DatasetError
from sanne.evaluate.splits import Splits, seeded_splits
from sanne_lab.datasets.fetch import data_folder
from sanne_lab.datasets.npz import load_arrays


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
