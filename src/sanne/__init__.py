"""Vectors for the nodes of a graph, and for nodes that arrive later, without training again."""

import logging
from importlib.metadata import version

from sanne.errors import SanneError
from sanne.estimator import SANNE
from sanne.graph.csr import Graph
from sanne.graph.load import load_graph

__all__ = ["SANNE", "Graph", "SanneError", "__version__", "load_graph"]
__version__ = version("sanne")

logging.getLogger(__name__).addHandler(logging.NullHandler())
