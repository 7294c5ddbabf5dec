"""What a vector is made of: words, links and the nodes around it.

A vector is a sum over all words and links that walks from its node reach (`model/hidden.py`). The share of each is its
contribution in the direction of the whole vector: shares sum to one, and opposite contributions are negative.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.features.links import LinkMap
from sanne.features.views import Views
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.read import AskedNodes, GraphReader
from sanne.model.artifact import Artifact
from sanne.model.model import Pull

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Word:
    """A word, or a column; `own` is the part of its share that comes from the node's own text."""

    word: str
    share: float
    own: float


@dataclass(frozen=True)
class MadeOf:
    """Shares in a node's vector, the largest first. Models other than the hidden-word model only have `nodes`."""

    node_id: Any
    nodes: list[tuple[Any, float]]  # that its walks visit, as `embed` with `explain` gives them
    uncertainty: float
    has_links: bool
    parts: dict[str, float] = field(default_factory=dict)  # of everything
    reads: str = "words"  # what nodes are described by: words, columns, or links where they have neither
    words: list[Word] = field(default_factory=list)
    links: list[tuple[Any, float]] = field(default_factory=list)  # to nodes that fit knew


def made_of(artifact: Artifact, graph: Graph, nodes: Iterable[Any], count: int = 10) -> list[MadeOf]:
    """Explain the vectors of some nodes, seen in fit or not, by at most `count` words, links and nodes each."""
    if count < 1:
        raise InputError(f"the number of words, links and nodes to list must be 1 or more, not {count}")
    reader, asked = GraphReader(artifact, graph, 0), graph.nodes_of(nodes)
    alone = set(graph.without_links(asked).tolist())
    return [_made_of(reader, node, count, has_links=node not in alone) for node in asked.tolist()]


def _made_of(reader: GraphReader, node: int, count: int, has_links: bool) -> MadeOf:
    graph, views, model = reader.graph, reader.artifact.feature_map, reader.artifact.model
    asked = AskedNodes(reader, np.array([node]))
    reading = model.read(asked, count)
    visited, shares = reading.contributions[0]
    nodes = list(zip(graph.node_ids[visited].tolist(), shares.tolist(), strict=True))
    made = MadeOf(graph.node_ids[[node]].tolist()[0], nodes, float(reading.uncertainty[0]), has_links)
    if (pull := model.pull(asked)) is None or not isinstance(views, Views):
        return made
    everywhere = pull.around.shares
    itself = np.where((pull.around.nodes == node)[:, None], everywhere, 0)
    columns = views.base.columns(graph, pull.around.nodes)
    words, own = (_by_column(views, columns, weights, pull) for weights in (everywhere, itself))
    parts = {"own": own.sum(), "around": words.sum() - own.sum()}
    links: list[tuple[Any, float]] = []
    if views.links is not None:
        place = slice(views.width - views.links.width, views.width)
        parts["links"] = np.einsum("nr,nc,rc->", everywhere, pull.rows[:, place], pull.columns[:, place])
        if isinstance(views.links, LinkMap):
            known = views.links.known.links(graph, pull.around.nodes, weighted=True)
            shares = _shares(known, views.links.components, True, everywhere, pull.columns[:, place])
            links = _named(views.links.known.ids, shares, count)
    parts["degree"] = pull.degree
    parts["average"] = 1 - sum(parts.values())  # what is taken from all vectors, so that their mean is zero
    parts = {name: float(share) for name, share in parts.items()}
    fitted = reader.artifact.record.get("feature_names") or [f"column {number}" for number in range(len(words))]
    names = views.base.column_names or fitted
    words, own = (np.append(shares[: len(names) - 1], shares[len(names) - 1 :].sum()) for shares in (words, own))
    if views.base.reads_links:  # neighbours are the words
        return replace(made, parts=parts, reads="links", links=_named(names, words, count))
    described = [Word(str(names[i]), float(words[i]), float(own[i])) for i in _largest(words, count)]
    reads = "words" if views.reads == "text" else "columns"
    return replace(made, parts=parts, reads=reads, words=described, links=links)


def _by_column(views: Views, columns: Any, weights: FloatArray, pull: Pull) -> Doubles:
    """The share of each word or column, over all views of it."""
    found = np.zeros(columns.shape[1])
    for place, basis in views.matrices():
        found += _shares(columns, basis, views.directional, weights, pull.columns[:, place])
    return found


def _shares(columns: Any, basis: Any, directional: bool, weights: FloatArray, pulled: FloatArray) -> Doubles:
    """The share of each column, (columns,), from the nodes' values and how often walks with each restart visit them.

    `basis` (columns, width) makes vectors of columns, of length one if `directional`; `weights` is (nodes, restarts),
    `pulled` (restarts, width).
    """
    if directional:
        rows = columns if basis is None else columns @ basis
        lengths = np.linalg.norm(rows.toarray() if hasattr(rows, "toarray") else rows, axis=1)
        weights = weights / np.maximum(lengths, 1e-12)[:, None]
    along = pulled.T if basis is None else basis @ pulled.T  # (columns, restarts)
    found: Doubles = ((columns.T @ weights) * along).sum(axis=1, dtype=np.float64)
    return found


def _largest(shares: Doubles, count: int) -> list[int]:
    order: list[int] = np.argsort(-shares, kind="stable")[:count].tolist()
    return [i for i in order if shares[i] > 0]


def _named(names: list[Any], shares: Doubles, count: int) -> list[tuple[Any, float]]:
    return [(names[i], float(shares[i])) for i in _largest(shares, count)]
