"""load_graph: pick the reader for whatever the user has."""

from typing import Any

from sanne.datasets import load_dataset
from sanne.graph.csr import Graph


def load_graph(source: Any) -> Graph:
    """A graph by dataset name (other sources follow)."""
    return load_dataset(source)
