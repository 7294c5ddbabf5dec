"""Vectors for nodes, present or new: walks over the graph as it is now, read by a fitted model (Algorithm 2)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from sanne.device import torch_threads
from sanne.errors import InputError, SanneError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.ids import shown
from sanne.model.artifact import Artifact
from sanne.seeds import derived_seed
from sanne.walks.sample import Walks, WalkSampler

WALKS_AT_ONCE = 4096  # read by the model together
NODES_A_PART = 16_384  # given by `embed_parts` together

Explanation = list[tuple[Any, float]]  # (node id, share of the vector), largest first


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of nodes, with how sure and why."""

    node_ids: npt.NDArray[Any]
    vectors: FloatArray  # (count, dim)
    spread: FloatArray  # (count,): length of the standard error of each vector over its walks; NaN where there is none
    explanation: list[Explanation] | None = None  # the nodes that each vector drew on


def embed(
    artifact: Artifact,
    graph: Graph,
    nodes: Iterable[Any] | None = None,
    *,
    explain: int = 0,
    progress: bool | None = None,
) -> Embedding:
    """Embed nodes of a graph by their ids (all nodes by default).

    A node's vector is the mean over `num_inference_walks` walks from it; it does not depend on which other nodes
    are asked for. `explain` is how many contributing nodes to name for each.
    """
    chosen = _chosen(graph, nodes)
    vectors = np.empty((len(chosen), artifact.model.vector_dim), np.float32)
    spread = np.empty(len(chosen), np.float32)
    explanation: list[Explanation] = []
    first = 0
    for part in _embed_parts(artifact, graph, chosen, explain, progress):
        rows = slice(first, first + len(part.vectors))
        vectors[rows], spread[rows] = part.vectors, part.spread
        explanation += part.explanation or []
        first = rows.stop
    return Embedding(graph.node_ids[chosen], vectors, spread, explanation if explain else None)


def embed_parts(
    artifact: Artifact,
    graph: Graph,
    nodes: Iterable[Any] | None = None,
    *,
    explain: int = 0,
    progress: bool | None = None,
) -> Iterator[Embedding]:
    """What `embed` gives, some nodes at a time and in the same order, so that not all vectors are held at once."""
    return _embed_parts(artifact, graph, _chosen(graph, nodes), explain, progress)


def _chosen(graph: Graph, nodes: Iterable[Any] | None) -> IntArray:
    return np.arange(graph.num_nodes) if nodes is None else graph.nodes_of(nodes)


def _embed_parts(
    artifact: Artifact, graph: Graph, chosen: IntArray, explain: int, progress: bool | None
) -> Iterator[Embedding]:
    if explain < 0:
        raise InputError(f"explain is how many contributing nodes to name: 0 or more, not {explain}")
    config = artifact.config
    num_walks = config.infer.num_inference_walks
    sampler = WalkSampler(
        graph.adjacency(config.walks.direction),
        walk_length=config.walks.walk_length,
        seed=derived_seed(artifact.seed, "inference"),
        p=config.walks.p,
        q=config.walks.q,
    )
    features = _FeatureRows(artifact, graph, len(chosen) * num_walks * config.walks.walk_length)
    bar = tqdm(total=len(chosen), desc="embedding", unit="node", disable=None if progress is None else not progress)
    artifact.model.eval()
    with bar:
        for first in range(0, len(chosen), NODES_A_PART):
            # A part's vectors have their place before the walks are read. Small arrays that outlive a batch would
            # stand between its large ones, and memory would grow with every batch.
            nodes = chosen[first : first + NODES_A_PART]
            vectors = np.empty((len(nodes), artifact.model.vector_dim), np.float32)
            spread = np.empty(len(nodes), np.float32)
            explanation: list[Explanation] = []
            for rows in _slices(len(nodes), max(1, WALKS_AT_ONCE // num_walks)):
                positions = len(nodes[rows]) * num_walks * config.walks.walk_length
                # torch's modes are set for each batch anew: while this waits to be asked for more, others use torch.
                with torch_threads(config.train.threads, positions), torch.inference_mode():
                    walks = sampler.walks_of_each(nodes[rows], num_walks)
                    read = features.of(walks)
                    outputs = artifact.model(read, features.start_degrees(walks)).cpu()
                    per_walk = outputs.view(len(nodes[rows]), num_walks, -1)  # (nodes, Z, dim)
                    vectors[rows], spread[rows] = per_walk.mean(dim=1).numpy(), standard_error(per_walk).numpy()
                    if explain:
                        shares = artifact.model.position_shares(read).cpu().numpy()
                        explanation += top_contributions(graph, walks, shares, num_walks, explain)
                bar.update(len(nodes[rows]))
            _check_finite(graph, nodes, vectors)
            yield Embedding(graph.node_ids[nodes], vectors, spread, explanation if explain else None)


def _check_finite(graph: Graph, nodes: IntArray, vectors: FloatArray) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        node = shown(graph.node_ids, int(nodes[finite.argmin()]))
        raise SanneError(f"the vector of node {node} is not finite: the model is damaged, or its features too large")


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def embed_present(artifact: Artifact, graph: Graph, *, progress: bool | None = None) -> Embedding:
    """Vectors of the training graph's own nodes, `graph` being that graph.

    With the paper's objective and `present_vectors="table"` they are the trained output vectors, which have no
    spread. Nodes without edges are read from walks even then: their output vectors never met a gradient.
    """
    vectors = artifact.model.objective.present_vectors()
    if vectors is None:
        return embed(artifact, graph, progress=progress)
    spread = np.full(graph.num_nodes, np.nan, np.float32)
    isolated = np.flatnonzero(np.diff(graph.adjacency(artifact.config.walks.direction).indptr) == 0)
    walked = embed(artifact, graph, graph.node_ids[isolated], progress=progress)
    vectors[isolated], spread[isolated] = walked.vectors, walked.spread
    return Embedding(np.asarray(graph.node_ids), vectors, spread)


def standard_error(per_walk: torch.Tensor) -> torch.Tensor:
    """Length of the standard error of the mean over walks, (nodes,); not a number for a single walk."""
    num_walks = per_walk.shape[1]
    if num_walks == 1:
        return torch.full((len(per_walk),), float("nan"))
    return (per_walk.var(dim=1).sum(dim=1) / num_walks).sqrt()


def top_contributions(graph: Graph, walks: Walks, shares: FloatArray, num_walks: int, count: int) -> list[Explanation]:
    """For each start node, the nodes that its vector drew on most, itself included; all shares sum to one."""
    return [
        list(zip(graph.node_ids[nodes].tolist(), parts.tolist(), strict=True))
        for nodes, parts in largest_shares(walks, shares, num_walks, count)
    ]


def largest_shares(
    walks: npt.NDArray[np.integer[Any]], shares: FloatArray, num_walks: int, count: int
) -> Iterator[tuple[IntArray, npt.NDArray[np.float64]]]:
    """For each start node, the indices of the nodes that its vector drew on most, and their shares."""
    for first in range(0, len(walks), num_walks):
        part = slice(first, first + num_walks)
        visited, where = np.unique(walks[part].ravel(), return_inverse=True)
        total = np.bincount(where, shares[part].ravel()) / num_walks
        largest = np.argsort(-total, kind="stable")[:count]
        yield visited[largest].astype(np.int64), total[largest]


class _FeatureRows:
    """Feature vectors of walked nodes as the model reads them: all computed at once for many walks, else those visited.

    Given numbers that are mapped from a file are never computed at once: they may be larger than memory, and
    to standardise a row costs next to nothing.
    """

    def __init__(self, artifact: Artifact, graph: Graph, num_positions: int) -> None:
        self._artifact = artifact
        self._graph = graph
        self._indptr = graph.adjacency(artifact.config.walks.direction).indptr
        self._device = next(artifact.model.parameters()).device
        self._all: torch.Tensor | None = None
        if num_positions >= graph.num_nodes and not artifact.feature_map.rows_stay_on_disk(graph):
            self._all = torch.from_numpy(self._rows(None)).to(self._device)

    def of(self, walks: Walks) -> torch.Tensor:
        """(walks, walk_length, width)."""
        if self._all is not None:
            return self._all[torch.from_numpy(walks).long().to(self._device)]
        visited, where = np.unique(walks, return_inverse=True)
        rows = torch.from_numpy(self._rows(visited.astype(np.int64))).to(self._device)
        return rows[torch.from_numpy(where.reshape(walks.shape)).to(self._device)]

    def start_degrees(self, walks: Walks) -> torch.Tensor:
        """How many neighbours the first node of each walk has, (walks,)."""
        return torch.from_numpy(self._degrees(walks[:, 0])).to(self._device)

    def _degrees(self, nodes: npt.NDArray[np.integer[Any]]) -> IntArray:
        degrees: IntArray = self._indptr[nodes + 1] - self._indptr[nodes]
        return degrees

    def _rows(self, nodes: IntArray | None) -> FloatArray:
        """Features of some nodes (None: all), multiplied by what a visit to them counts."""
        rows = self._artifact.feature_map.transform(self._graph, nodes)
        degrees = np.diff(self._indptr) if nodes is None else self._degrees(nodes)
        weighed = self._artifact.model.objective.weigh(rows, degrees)
        return np.require(weighed, requirements="W")  # torch reads no other; a copy if the map keeps the rows
