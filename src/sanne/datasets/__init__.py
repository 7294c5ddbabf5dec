"""Named public datasets: `load_dataset("cora")` finds, checks and reads one."""

from sanne.datasets.catalogue import CATALOG, Dataset, dataset_names
from sanne.datasets.fetch import locate_dataset
from sanne.datasets.read import fetch_dataset, load_dataset, named_classes
from sanne.datasets.splits import Splits, load_splits, seeded_splits

__all__ = [
    "CATALOG",
    "Dataset",
    "Splits",
    "dataset_names",
    "fetch_dataset",
    "load_dataset",
    "load_splits",
    "locate_dataset",
    "named_classes",
    "seeded_splits",
]
