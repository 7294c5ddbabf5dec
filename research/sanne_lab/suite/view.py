"""What a system may see of a graph: the part that is present, and newcomers that only come after the fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne_lab.suite.graphs import SuiteGraph
from sanne_lab.suite.parts import Ints


@dataclass(frozen=True, eq=False)
class View:
    """`known` holds the links among present nodes, `whole` all links; with no newcomers they are the same."""

    present: npt.NDArray[np.bool_]
    known: Any  # CSR (nodes, nodes), undirected
    whole: Any
    counts: Any  # word counts or numeric columns
    texts: list[str] | None

    @property
    def numeric(self) -> bool:
        return not sp.issparse(self.counts)

    @property
    def strict(self) -> bool:
        return not bool(self.present.all())


def view(graph: SuiteGraph, hidden: Ints | None = None) -> View:
    """The graph with some nodes hidden from the fit; real newcomers are left out altogether when none are."""
    nodes = graph.num_nodes
    present = np.ones(nodes, bool)
    if hidden is not None:
        present[hidden] = False
    elif graph.newcomers is not None:
        keep = np.flatnonzero(~graph.newcomers)
        whole = graph.adjacency[keep][:, keep].tocsr()
        counts = used_words(graph.counts[keep], np.ones(len(keep), bool))
        texts = [graph.texts[i] for i in keep] if graph.texts else None
        return View(np.ones(len(keep), bool), whole, whole, counts, texts)
    whole = graph.adjacency
    known = whole
    if hidden is not None:
        inside = sp.diags(present.astype(np.float32))
        known = (inside @ whole @ inside).tocsr()
        known.eliminate_zeros()
    return View(present, known, whole, used_words(graph.counts, present), graph.texts)


def used_words(counts: Any, present: npt.NDArray[np.bool_]) -> Any:
    """Only the words that a present node has; numeric columns as they are."""
    if not sp.issparse(counts):
        return counts
    part = counts[np.flatnonzero(present)]
    frequency = np.bincount(part.indices, weights=(part.data != 0), minlength=counts.shape[1])
    return counts.tocsc()[:, np.flatnonzero(frequency > 0)].tocsr()
