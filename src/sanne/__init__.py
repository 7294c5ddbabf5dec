"""Vectors for the nodes of a graph, and for nodes that arrive later, without fitting again."""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sanne.errors import SanneError
    from sanne.estimator import SANNE
    from sanne.graph.graph import Graph
    from sanne.graph.load import load_graph
    from sanne.predict import NodeClassifier

__all__ = ["SANNE", "Graph", "NodeClassifier", "SanneError", "__version__", "load_graph"]
__version__ = version("sanne")

logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "SANNE": "sanne.estimator",
    "Graph": "sanne.graph.graph",
    "NodeClassifier": "sanne.predict",
    "SanneError": "sanne.errors",
    "load_graph": "sanne.graph.load",
}


def __getattr__(name: str) -> Any:
    """Import modules on first use, so that `sanne --help` responds at once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sanne' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
