"""The product itself as a system of the suite: `SANNE` on what a view shows."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.config import DEFAULT_RECIPE
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne_lab.suite.baselines import LeftOut
from sanne_lab.suite.parts import Floats, Ints
from sanne_lab.suite.view import View


def embed(view: View, recipe: str = DEFAULT_RECIPE, settings: dict[str, Any] | None = None) -> Floats:
    """Vectors of all nodes: present ones from a fit on their part of the graph, newcomers by `transform` on all."""
    model, vectors, new = _fitted(view, recipe, settings)
    if len(new):
        vectors[new] = model.transform(graph_of(view, view.whole, np.arange(len(view.present))), new)
    return vectors


def mean_of_neighbours(view: View) -> Floats:
    """Present nodes as in `embed`; a newcomer has the mean of its present neighbours' vectors, or zeros."""
    _, vectors, new = _fitted(view, DEFAULT_RECIPE, None)
    links = view.whole[new] @ sp.diags(view.present.astype(np.float32))
    vectors[new] = 0
    vectors[new] = links @ vectors / np.maximum(np.asarray(links.sum(axis=1)), 1)
    return vectors


def _fitted(view: View, recipe: str, settings: dict[str, Any] | None) -> tuple[SANNE, Floats, Ints]:
    """The model, an array with the present nodes' vectors, and the numbers of the newcomers."""
    present, new = np.flatnonzero(view.present), np.flatnonzero(~view.present)
    graph = graph_of(view, view.known, present)
    if graph.num_nodes <= int((settings or {}).get("dim", 0)):
        raise LeftOut("more columns than nodes")
    model = SANNE(recipe, settings=settings, random_state=0, progress=False).fit(graph)
    vectors = np.empty((len(view.present), model.embedding_.shape[1]), np.float32)
    vectors[present] = model.embedding_
    return model, vectors, new


def graph_of(view: View, links: Any, nodes: Ints, texts: bool = True) -> Graph:
    """Some nodes, their links and their texts, words or columns; node ids are their numbers in the view."""
    arcs = links[nodes][:, nodes].tocoo()
    once = arcs.row < arcs.col
    ends = arcs.row[once], arcs.col[once]
    if texts and view.texts is not None:
        return Graph.from_edges(*ends, node_ids=nodes, texts=np.array([view.texts[i] for i in nodes], object))
    return Graph.from_edges(*ends, node_ids=nodes, features=view.counts[nodes])
