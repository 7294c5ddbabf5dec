"""Embedding all nodes of a graph that fits on no single machine: each process has the rows of a part of the nodes.

Parts are ranges of nodes with about equally many arcs. In every step of the walks (`walks/diffusion.py`) a part needs
the rows of nodes in other parts that its arcs lead to, its halo, through Ray's object store. So the vectors
are those of one pass over the whole graph.
"""

import bisect
import threading
from collections.abc import Callable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sanne.errors import InputError, SanneError
from sanne.files.atomic import replaced_folder, scratch_folder
from sanne.graph.graph import Adjacency, FloatArray, Graph, IntArray
from sanne.graph.sparse import row_blocks
from sanne.infer.embed import NODES_A_PART, check_finite
from sanne.infer.ray import PARQUET, check_ray_output, plain_errors, quiet, ray_session
from sanne.model.artifact import Artifact
from sanne.vectors.parquet import ROW_GROUP, read_parquet_parts, write_parquet
from sanne.vectors.vectors import Embedding
from sanne.walks.diffusion import Diffusion


def embed_partitioned(
    model: Path, load: Callable[[], Graph], out: Path, *, workers: int, address: str | None = None
) -> int:
    """Embed all nodes with as many actors as the graph has parts, and return how many nodes there are.

    `out` is a Parquet file in the graph's order, or a folder with a file for each part. It is written completely or
    not at all. Actors read the model and call `load`, so that both must be visible on every machine.
    """
    check_ray_output(out)
    if not Artifact.read(model).model.reads_whole:
        raise InputError(f"{model}: its recipe reads nodes walk by walk, so the graph cannot be partitioned")
    one_file = out.suffix == PARQUET
    with scratch_folder(out) if one_file else replaced_folder(out) as folder:
        with quiet(), ray_session(workers, address) as ray, plain_errors():
            remote = ray.remote(num_cpus=1, max_concurrency=workers + 1)(
                Part
            )  # other parts send requests while this one computes
            parts = [remote.remote(model, load, number, workers) for number in range(workers)]
            try:
                ray.get([part.prepare.remote() for part in parts])
                counts, pending = [], [part.embed.remote(parts, folder) for part in parts]
                while pending:  # raise the first error: other parts would wait for the one that failed
                    done, pending = ray.wait(pending)
                    counts += ray.get(done)
            except ray.exceptions.RayActorError as error:
                raise SanneError(
                    "a worker process died, perhaps for lack of memory: nothing was written; "
                    "embed again with more workers, or with more memory for each"
                ) from error
            finally:
                for part in parts:
                    ray.kill(part)
        if one_file:
            files = sorted(folder.iterdir())
            rows = chain.from_iterable(read_parquet_parts(path, ROW_GROUP) for path in files)
            write_parquet(out, rows, sum(counts), 0)
    return sum(counts)


def cut_rows(indptr: IntArray, count: int) -> list[int]:
    """Where each part begins, and the end of the last: parts have about equally many nodes plus arcs."""
    nodes = len(indptr) - 1
    efforts = np.linspace(0, int(indptr[-1]) + nodes, count + 1)[1:-1]
    # By bisection, so that few pages of a mapped file are read.
    return [0, *(bisect.bisect_left(range(nodes), e, key=lambda n: int(indptr[n]) + n) for e in efforts), nodes]


class Part:
    """An actor: a part of the nodes, and the halo of their walks."""

    def __init__(self, model: Path, load: Callable[[], Graph], number: int, count: int) -> None:
        self._model, self._load = model, load
        self._number, self._count = number, count
        self._round = 0  # of exchanges; all parts have the same
        self._given: dict[tuple[int, int], FloatArray] = {}  # rows for other parts, by round and part
        self._changed = threading.Condition()

    def prepare(self) -> None:
        """Read this part of the graph, and find its halo."""
        self._artifact, self._graph = Artifact.read(self._model), self._load()
        adjacency = self._graph.adjacency(self._artifact.config.walks.direction)
        self._cuts = cut_rows(adjacency.indptr, self._count)
        first, last = self._cuts[self._number : self._number + 2]
        self._nodes = np.arange(first, last)
        rows = adjacency.rows(self._nodes)
        outside = (rows.indices < first) | (rows.indices >= last)
        self._halo = np.unique(rows.indices[outside])
        self.size = len(self._halo)
        ends = np.where(outside, len(self._nodes) + np.searchsorted(self._halo, rows.indices), rows.indices - first)
        weights = None if adjacency.weights is None else rows.data
        self._arcs = Adjacency(rows.indptr.astype(np.int64), ends.astype(np.int32), weights)
        self._places = [slice(*ends) for ends in pairwise(np.searchsorted(self._halo, self._cuts).tolist())]

    def needs(self, other: int) -> tuple[IntArray, int]:
        """The rows of another part that this one needs, and how many nodes it has with its halo."""
        return self._halo[self._places[other]] - self._cuts[other], len(self._nodes) + self.size

    def embed(self, parts: list[Any], folder: Path) -> int:
        """Write the vectors of this part into a folder, as all parts do at the same time; returns how many."""
        import ray

        self._parts = parts
        found = ray.get([part.needs.remote(self._number) for part in parts])
        self._needed = {other: rows for other, (rows, _) in enumerate(found) if len(rows)}
        self.held = max(size for _, size in found)
        feature_map, model = self._artifact.feature_map, self._artifact.model
        graph = self._artifact.as_fitted(self._graph)
        features = np.empty((len(self._nodes), feature_map.width), np.float32)
        for block in row_blocks(len(features)):
            features[block] = feature_map.transform(graph, self._nodes[block])
        vectors = model.read_whole(Diffusion(self._arcs, self), features)
        if len(vectors):
            path = folder / f"part-{self._number:05}{PARQUET}"
            write_parquet(path, self._embeddings(vectors), len(vectors), model.vector_dim)
        return len(vectors)

    def _embeddings(self, vectors: FloatArray) -> Iterator[Embedding]:
        for first in range(0, len(vectors), NODES_A_PART):
            nodes, some = self._nodes[first : first + NODES_A_PART], vectors[first : first + NODES_A_PART]
            check_finite(self._graph, nodes, some)
            yield Embedding(self._graph.node_ids[nodes], some, self._artifact.model.uncertainty(some))

    def fetch(self, rows: FloatArray) -> None:
        """Send other parts the rows they need, and fill in those of the halo."""
        import ray

        with self._changed:
            self._changed.wait_for(lambda: not self._given)  # so that a part without a halo does not run ahead
            self._given |= {(self._round, other): rows[needed] for other, needed in self._needed.items()}
            self._changed.notify_all()
        asked = [
            (rows[len(self._nodes) :][place], part.given.remote(self._round, self._number))
            for part, place in zip(self._parts, self._places, strict=True)
            if place.stop > place.start
        ]
        for missing, answer in asked:
            missing[:] = ray.get(answer)
        self._round += 1

    def given(self, number: int, to: int) -> FloatArray:
        """The rows for another part in a round, once they are there."""
        with self._changed:
            self._changed.wait_for(lambda: (number, to) in self._given)
            self._changed.notify_all()
            return self._given.pop((number, to))
