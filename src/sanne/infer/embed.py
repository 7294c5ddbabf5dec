"""Vectors for nodes, present or new, by their ids; all at once or in parts."""

import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sanne.device import available_cores, calm_threads, one_blas_thread
from sanne.errors import InputError, SanneError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.ids import shown
from sanne.infer.read import GraphReader
from sanne.model.artifact import Artifact
from sanne.model.model import Reading
from sanne.progress import steps
from sanne.vectors.vectors import Embedding, Explanation

NODES_A_PART = 16_384  # given by `embed_parts` together


def embed(
    artifact: Artifact,
    graph: Graph,
    nodes: Iterable[Any] | None = None,
    *,
    explain: int = 0,
    progress: bool | None = None,
    reader: GraphReader | None = None,
) -> Embedding:
    """Embed nodes of a graph by their ids (all nodes by default).

    A node's vector does not depend on which other nodes are embedded, except for what lies where hardly
    any walk goes. `explain` lists that many contributing nodes per vector. `reader`, of the same artifact and
    graph, is for callers who embed nodes of one graph repeatedly.
    """
    options: dict[str, Any] = {"explain": explain, "progress": progress, "reader": reader}
    (found,) = embed_parts(artifact, graph, nodes, **options, nodes_a_part=sys.maxsize)
    return found


def embed_parts(
    artifact: Artifact,
    graph: Graph,
    nodes: Iterable[Any] | None = None,
    *,
    explain: int = 0,
    progress: bool | None = None,
    reader: GraphReader | None = None,
    nodes_a_part: int = NODES_A_PART,
) -> Iterator[Embedding]:
    """Like `embed`, but in parts and in the same order, so that not all vectors are in memory at once."""
    if explain < 0:
        raise InputError(f"explain is how many contributing nodes to list: 0 or more, not {explain}")
    chosen = np.arange(graph.num_nodes) if nodes is None else graph.nodes_of(nodes)  # refuses at once what is unknown

    def parts() -> Iterator[Embedding]:
        using = reader or GraphReader(artifact, graph, len(chosen))
        with steps(of="embedding", unit="node", total=len(chosen), shown=progress) as bar:
            for first in range(0, max(len(chosen), 1), nodes_a_part):
                # A part's vectors are allocated before its walks are read: small arrays that outlive a batch would
                # fragment memory, which would grow with every batch.
                part = chosen[first : first + nodes_a_part]
                vectors = np.empty((len(part), artifact.model.vector_dim), np.float32)
                uncertainty = np.empty(len(part), np.float32)
                explanation: list[Explanation] = []
                for rows, reading in _readings(using, part, explain):
                    check_finite(graph, part[rows], reading.vectors)
                    vectors[rows], uncertainty[rows] = reading.vectors, reading.uncertainty
                    for named, shares in reading.contributions:
                        explanation.append(list(zip(graph.node_ids[named].tolist(), shares.tolist(), strict=True)))
                    bar.update(len(reading.vectors))
                yield Embedding(graph.node_ids[part], vectors, uncertainty, explanation if explain else None)

    return parts()


def _readings(reader: GraphReader, nodes: IntArray, explain: int) -> Iterator[tuple[slice, Reading]]:
    """What the reader returns for some nodes at a time, in order; on all cores, unless the model uses them itself."""

    def read(rows: slice) -> Reading:
        return reader.read(nodes[rows], explain)

    at_once = reader.nodes_at_once(explain)
    batches = [slice(first, first + at_once) for first in range(0, len(nodes), at_once)]
    if not reader.artifact.model.reads_whole:
        yield from ((rows, read(rows)) for rows in batches)
    elif len(batches) < 2:
        with calm_threads(nodes):
            yield from ((rows, read(rows)) for rows in batches)
    else:
        with one_blas_thread(), ThreadPoolExecutor(available_cores()) as pool:
            yield from zip(batches, pool.map(read, batches), strict=True)


def check_finite(graph: Graph, nodes: IntArray, vectors: FloatArray) -> None:
    """Refuse vectors of nodes that no format could hold."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        node = shown(graph.node_ids, int(nodes[finite.argmin()]))
        raise SanneError(f"the vector of node {node} is not finite: the model is damaged, or its features too large")


def embed_present(artifact: Artifact, graph: Graph, *, progress: bool | None = None) -> Embedding:
    """Vectors of the training graph's own nodes, `graph` being that graph.

    With the paper's objective and `present_vectors="table"` they are the trained output vectors, which have no
    uncertainty. Nodes without edges are read from walks even then: their output vectors were never trained.
    """
    vectors = artifact.model.present_vectors()
    if vectors is None:
        return embed(artifact, graph, progress=progress)
    uncertainty = artifact.model.uncertainty(vectors)
    isolated = np.flatnonzero(np.diff(graph.adjacency(artifact.config.walks.direction).indptr) == 0)
    if artifact.model.untrained_if_isolated and len(isolated):
        read = embed(artifact, graph, graph.node_ids[isolated], progress=progress)
        vectors[isolated], uncertainty[isolated] = read.vectors, read.uncertainty
    return Embedding(np.asarray(graph.node_ids), vectors, uncertainty)
