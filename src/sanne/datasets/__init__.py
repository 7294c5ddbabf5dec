"""Named public datasets: `load_dataset("cora")` finds, checks and reads one."""

from sanne.datasets.catalogue import catalog, dataset_names, fetch_dataset, find_dataset, load_dataset, named_classes
from sanne.datasets.fetch import Dataset

__all__ = [
    "Dataset",
    "catalog",
    "dataset_names",
    "fetch_dataset",
    "find_dataset",
    "load_dataset",
    "named_classes",
]
