"""The product itself as a system of the suite: `SANNE` on what a view shows."""

from typing import Any

import numpy as np

from sanne.config import DEFAULT_RECIPE
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne_lab.suite.graphs import Floats, Ints
from sanne_lab.suite.view import View


def embed(view: View, recipe: str = DEFAULT_RECIPE, settings: dict[str, Any] | None = None) -> Floats:
    """Vectors of all nodes: present ones from a fit on their part of the graph, newcomers by `transform` on all."""
    present, new = np.flatnonzero(view.present), np.flatnonzero(~view.present)
    model = SANNE(recipe, settings=settings, random_state=0, progress=False).fit(_graph(view, view.known, present))
    vectors = np.empty((len(view.present), model.embedding_.shape[1]), np.float32)
    vectors[present] = model.embedding_
    if len(new):
        vectors[new] = model.transform(_graph(view, view.whole, np.arange(len(view.present))), new)
    return vectors


def _graph(view: View, links: Any, nodes: Ints) -> Graph:
    """Some nodes, their links and words; node ids are their numbers in the view."""
    arcs = links[nodes][:, nodes].tocoo()
    once = arcs.row < arcs.col
    return Graph.from_edges(arcs.row[once], arcs.col[once], node_ids=nodes, features=view.counts[nodes])
