"""EP-B, embedding propagation (Garcia-Duran and Niepert 2017): a node's labels are rebuilt from its neighbours'.

A node has labels of two types: its words, and its own id. Every label has an embedding, and each type is trained
on its own: the mean embedding of a node's labels, h(v), shall be nearer to the mean over its neighbours' labels
than that of a random node is, by a margin. A node's vector is its h of both types side by side.

A new node has no trained id: it takes its neighbours' mean. Its words' half is the mean of what its own words and
its neighbours' say. The words alone, trained to agree with the neighbours, say much less of a node that was not
there: of validation nodes hidden from training on Cora, 71% were then classified rightly, against 77%.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import numpy_stream
from sanne_lab.baselines.bag_of_words import BagOfWords
from sanne_lab.baselines.fast_kernel import fast_kernel
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.neighbours_mean import fill_unlinked, linked, neighbours_mean


@dataclass(frozen=True)
class _Settings:
    dim: int  # of each type
    margin: float
    learning_rate: float
    batch_size: int
    epochs: int
    every: int  # epochs from one candidate for validation to the next


class _Rows(NamedTuple):
    """Rows of a CSR matrix whose entries add up to one in a row."""

    indptr: Any
    indices: Any
    data: Any


class _LabelType:
    """The embeddings of one type's labels and Adam's two moments of them."""

    def __init__(self, own: Any, arcs: Any, dim: int, stream: np.random.Generator) -> None:
        self.own = own  # (nodes, labels) which labels a node has
        around = arcs @ own
        usable = (np.diff(own.indptr) > 0) & (np.diff(around.tocsr().indptr) > 0)
        self.nodes: IntArray = np.flatnonzero(usable)  # those with labels, and neighbours with labels
        self._own, self._around = _averaging(own), _averaging(around)
        limit = np.sqrt(6.0 / dim)
        self.table = stream.uniform(-limit, limit, (own.shape[1], dim)).astype(np.float32)
        self._moments = np.zeros_like(self.table), np.zeros_like(self.table)
        self._steps = 0

    def epoch(self, settings: _Settings, stream: np.random.Generator) -> None:
        """Every usable node once, in a new order, each against one random node."""
        order = stream.permutation(self.nodes)
        others = stream.choice(self.nodes, len(order))
        size = settings.batch_size
        _epoch(
            *(self._own, self._around, order, others, size, self.table, *self._moments),
            *(np.float32(settings.margin), np.float32(settings.learning_rate), self._steps),
        )
        self._steps += -(-len(order) // size)

    def vectors(self) -> FloatArray:
        """The mean embedding of every node's labels."""
        return _mean(self.own, self.table)


class EPB:
    """The paper's sizes: 128 numbers for either type, batches of 64 nodes, Adam."""

    name = "ep-b"

    def __init__(
        self,
        dim: int = 128,
        margin: float = 5.0,
        learning_rate: float = 1e-2,
        batch_size: int = 64,
        epochs: int = 100,
        every: int = 10,
    ) -> None:
        self._settings = _Settings(dim, margin, learning_rate, batch_size, epochs, every)

    @classmethod
    def grid(cls) -> list[Self]:
        """The paper's margins, by two learning rates."""
        return [cls(margin=margin, learning_rate=rate) for rate in (1e-2, 3e-2) for margin in (5.0, 10.0, 20.0, 1.0)]

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self._settings)

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train both types side by side, and hand over what they are every few epochs."""
        started, judging = time.perf_counter(), 0.0
        settings = self._settings
        bag = BagOfWords.fit(features_from or graph)
        counts = bag.read(graph)
        known = np.flatnonzero(np.bincount(counts[linked(graph)].indices, minlength=bag.width))
        arcs = graph.adjacency("both").to_scipy()
        types = [
            _LabelType(own.tocsr(), arcs, settings.dim, numpy_stream(seed, "initialise", number))
            for number, own in enumerate((counts[:, known], sp.identity(graph.num_nodes, np.float32)))
        ]
        if len(types[1].nodes) == 0:
            raise InputError("the graph has no edges: nothing to rebuild a node from")
        for epoch in range(1, settings.epochs + 1):
            for number, one in enumerate(types):
                one.epoch(settings, numpy_stream(seed, "negatives", number, epoch))
            if epoch % settings.every == 0 or epoch == settings.epochs:
                paused = time.perf_counter()
                consider(_snapshot(graph, epoch, bag, known, *types))
                judging += time.perf_counter() - paused
        return time.perf_counter() - started - judging


def _snapshot(
    graph: Graph, epoch: int, bag: BagOfWords, known: IntArray, words: _LabelType, ids: _LabelType
) -> Snapshot:
    table = words.table.copy()
    from_words = words.vectors()
    from_ids = fill_unlinked(graph, ids.table)

    def new(larger: Graph, nodes: IntArray) -> FloatArray:
        around = neighbours_mean(graph, np.hstack((from_words, from_ids)), larger, nodes)
        labels = bag.read(larger, nodes)[:, known]
        own = _mean(labels, table, from_words.mean(axis=0))
        # How much a new node's neighbours say about its words: all if it has none, nothing if it has no neighbours.
        share = np.where(np.diff(labels.indptr) > 0, 0.5, 1.0) * linked(larger)[nodes]
        half = own.shape[1]
        own += share[:, None].astype(np.float32) * (around[:, :half] - own)
        return np.hstack((own, around[:, half:]))

    return Snapshot(epoch, present=lambda: np.hstack((from_words, from_ids)), new=new)


def _averaging(matrix: Any) -> _Rows:
    """The rows divided by their sums; empty rows stay empty."""
    rows = matrix.tocsr()
    total = np.asarray(rows.sum(axis=1)).ravel()
    data = rows.data / np.repeat(np.maximum(total, 1e-12), np.diff(rows.indptr))
    return _Rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), data.astype(np.float32))


def _mean(labels: Any, table: FloatArray, default: FloatArray | None = None) -> FloatArray:
    """The mean embedding of each row's labels; rows without get `default`, or the mean of those that have some."""
    rows = _averaging(labels)
    mean: FloatArray = sp.csr_matrix((rows.data, rows.indices, rows.indptr), labels.shape) @ table
    empty = np.diff(rows.indptr) == 0
    mean[empty] = mean[~empty].mean(axis=0) if default is None else default
    return mean


@fast_kernel
def _epoch(
    own: Any,
    around: Any,
    order: Any,
    others: Any,
    size: int,
    table: Any,
    first: Any,
    second: Any,
    margin: Any,
    rate: Any,
    step: int,
) -> None:
    """One pass in batches; Adam moves the rows that a batch has touched."""
    labels, dim = table.shape
    gradient = np.zeros((labels, dim), np.float32)
    touched = np.empty(labels, np.int64)
    is_touched = np.zeros(labels, np.bool_)
    sums = np.zeros((3, dim), np.float32)  # around v, v itself, another node
    for start in range(0, len(order), size):
        count = 0
        for i in range(start, min(start + size, len(order))):
            sums[:] = 0
            _add_mean(around, order[i], table, sums[0])
            _add_mean(own, order[i], table, sums[1])
            _add_mean(own, others[i], table, sums[2])
            if _slopes(sums, margin):
                count = _spread(around, order[i], sums[0], gradient, touched, is_touched, count)
                count = _spread(own, order[i], sums[1], gradient, touched, is_touched, count)
                count = _spread(own, others[i], sums[2], gradient, touched, is_touched, count)
        step += 1
        speed = rate * np.float32(np.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step))
        for j in range(count):
            row = touched[j]
            is_touched[row] = False
            _adam(table[row], first[row], second[row], gradient[row], speed)


@fast_kernel
def _add_mean(rows: Any, node: int, table: Any, total: Any) -> None:
    for position in range(rows.indptr[node], rows.indptr[node + 1]):
        weight, row = rows.data[position], table[rows.indices[position]]
        for d in range(len(total)):
            total[d] += weight * row[d]


@fast_kernel
def _slopes(sums: Any, margin: Any) -> bool:
    """Turn (around, own, other) into the margin loss's gradients by them; False where the loss is zero."""
    near = far = np.float32(0)
    for d in range(sums.shape[1]):
        near += (sums[0, d] - sums[1, d]) ** 2
        far += (sums[0, d] - sums[2, d]) ** 2
    near, far = np.sqrt(near), np.sqrt(far)
    if margin + near - far <= 0:
        return False
    for d in range(sums.shape[1]):
        to_own = (sums[0, d] - sums[1, d]) / max(near, np.float32(1e-9))
        to_other = (sums[0, d] - sums[2, d]) / max(far, np.float32(1e-9))
        sums[0, d], sums[1, d], sums[2, d] = to_own - to_other, -to_own, to_other
    return True


@fast_kernel
def _spread(rows: Any, node: int, slope: Any, gradient: Any, touched: Any, is_touched: Any, count: int) -> int:
    """Add a mean's gradient to those of its labels; returns how many labels the batch has touched."""
    for position in range(rows.indptr[node], rows.indptr[node + 1]):
        weight, label = rows.data[position], rows.indices[position]
        if not is_touched[label]:
            is_touched[label] = True
            touched[count] = label
            count += 1
        row = gradient[label]
        for d in range(len(slope)):
            row[d] += weight * slope[d]
    return count


@fast_kernel
def _adam(row: Any, first: Any, second: Any, gradient: Any, speed: Any) -> None:
    """One step of Adam on one row; leaves the gradient at zero for the next batch."""
    for d in range(len(row)):
        slope = gradient[d]
        first[d] = np.float32(0.9) * first[d] + np.float32(0.1) * slope
        second[d] = np.float32(0.999) * second[d] + np.float32(0.001) * slope * slope
        row[d] -= speed * first[d] / (np.sqrt(second[d]) + np.float32(1e-8))
        gradient[d] = 0
