"""A small graph of the suite with known groups."""

import numpy as np
import scipy.sparse as sp

from sanne_lab.suite.graphs import SuiteGraph


def planted(nodes: int = 120, words: int = 60, seed: int = 0) -> SuiteGraph:
    stream = np.random.default_rng(seed)
    labels = np.arange(nodes) % 3
    likely = stream.random((3, words)) * 0.3
    counts = sp.csr_matrix((stream.random((nodes, words)) < likely[labels]).astype(np.float32))
    same = labels[:, None] == labels[None, :]
    arcs = sp.csr_matrix(np.triu(stream.random((nodes, nodes)) < np.where(same, 0.1, 0.01), 1).astype(np.float32))
    return SuiteGraph("planted", arcs, counts, labels)


def with_other_words(graph: SuiteGraph, first: int) -> SuiteGraph:
    """The same graph, with all words of the nodes from `first` on turned to their opposite."""
    other = graph.counts.tolil()
    other[first:] = 1 - graph.counts[first:].toarray()
    return SuiteGraph("other", graph.arcs, other.tocsr(), graph.labels)


def numeric(nodes: int = 240) -> SuiteGraph:
    """The planted graph with numeric columns instead of words."""
    graph, stream = planted(nodes), np.random.default_rng(1)
    columns = np.eye(3, dtype=np.float32)[graph.labels] @ stream.standard_normal((3, 12), np.float32)
    columns += 0.5 * stream.standard_normal((nodes, 12), np.float32)
    return SuiteGraph("planted-numeric", graph.arcs, columns, graph.labels)
