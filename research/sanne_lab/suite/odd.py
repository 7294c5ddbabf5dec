"""Made-up graphs of kinds that the suite lacks, against the four closed forms: percent, mean over random splits.

python -m sanne_lab.suite.odd

`mines`: a board on which half of the fields show how many mines are around them; which fields are mines? (AUC)
`words`: words of a text in a row, linked to the next one and to some before, with the vector of each word; what is a
word, and what stands beside it? The columns are wide and all count alike, and linked nodes are not alike.
`workers`: many links between workers of some skill, ten columns of all scales; who was banned? (AUC)
"""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from sanne.features.svd import components
from sanne.vectors.normalise import unit
from sanne_lab.suite import baselines, product, score
from sanne_lab.suite.graphs import data_folder
from sanne_lab.suite.parts import Floats, Ints
from sanne_lab.suite.splits import Split
from sanne_lab.suite.systems import FOUR
from sanne_lab.suite.view import View

_SPLITS = 2


class Odd(NamedTuple):
    """A made-up graph."""

    columns: Floats
    sources: Ints
    targets: Ints
    labels: Ints


def mines(side: int = 100) -> Odd:
    """A fifth of the fields are mines; those that show a number have it in one column each, the others in the last."""
    stream = np.random.default_rng(0)
    mine = stream.random((side, side)) < 0.2
    board = np.pad(mine, 1).astype(int)
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    around = np.sum([np.roll(board, shift, (0, 1)) for shift in shifts], axis=0)[1:-1, 1:-1].ravel()
    columns = np.zeros((side**2, 7), np.float32)
    columns[np.arange(side**2), np.minimum(around, 5)] = 1
    hidden = stream.random(side**2) < 0.5
    columns[hidden] = np.eye(7, dtype=np.float32)[6]
    field = np.arange(side**2).reshape(side, side)
    pairs = [
        (field[:, :-1], field[:, 1:]), (field[:-1], field[1:]),
        (field[:-1, :-1], field[1:, 1:]), (field[:-1, 1:], field[1:, :-1]),
    ]  # fmt: skip
    ends = [np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1)]
    return Odd(columns, ends[0], ends[1], mine.ravel().astype(np.int64))


def words(nodes: int = 20_000, width: int = 300) -> Odd:
    """Words of Debian's descriptions; their vectors are an SVD of what stands within two words of them."""
    stream = np.random.default_rng(0)
    texts = pq.read_table(data_folder() / "suite" / "debian-bookworm.nodes.parquet")["text"].to_pylist()
    text = " ".join(texts[i] or "" for i in stream.permutation(len(texts))[:15_000]).lower()
    vocabulary, found = np.unique(re.findall(r"[a-z]+", text), return_inverse=True)
    size = len(vocabulary)
    next_one, next_two = (_counts(found[:-gap], found[gap:], size) for gap in (1, 2))
    near = (next_one + next_one.T + next_two + next_two.T).tocoo()
    totals = np.asarray(near.sum(axis=1)).ravel()
    surprise = np.log(np.maximum(near.data * near.sum() / (totals[near.row] * totals[near.col]), 1))
    table = sp.csr_matrix((surprise.astype(np.float32), (near.row, near.col)), near.shape)
    axes = components(table, width, np.random.default_rng(0), passes=3)
    vectors = table @ axes
    vectors /= np.sqrt(np.maximum(np.linalg.norm(vectors, axis=0), 1e-6))  # square roots of singular values
    often = np.argsort(-totals)[:60]
    beside = np.log1p(np.hstack([next_one[:, often].toarray(), next_one[often].T.toarray()]))
    kind = KMeans(6, n_init=2, random_state=0).fit(unit(beside)).labels_[found[:nodes]]
    before, after = np.roll(kind, 1) < 3, np.roll(kind, -1) < 3
    labels = np.unique(kind * 4 + before * 2 + after, return_inverse=True)[1]
    later = np.arange(7, nodes)[stream.random(nodes - 7) < 0.4]
    sources = np.concatenate([np.arange(nodes - 1), later])
    targets = np.concatenate([np.arange(1, nodes), later - stream.integers(2, 7, len(later))])
    return Odd(vectors[found[:nodes]].astype(np.float32), sources, targets, labels)


def workers(nodes: int = 6000, links: int = 60) -> Odd:
    """A fifth were banned, who are more active and have links among themselves."""
    stream = np.random.default_rng(0)
    banned = stream.random(nodes) < 0.22
    columns = stream.normal(size=(nodes, 10))
    columns[:, 0] += 0.8 * banned
    columns[:, 1] += 0.5 * banned
    columns[:, 2] = np.exp(columns[:, 2] + 0.4 * banned)
    columns[:, 3:7] = stream.random((nodes, 4)) < np.where(banned, 0.5, 0.3)[:, None]
    activity = np.exp(stream.normal(0, 1.2, nodes)) * np.where(banned, 1.5, 1)
    ends = stream.choice(nodes, (2, links * nodes), p=activity / activity.sum())
    kept = stream.random(links * nodes) < np.where(banned[ends[0]] == banned[ends[1]], 1, 0.6)
    return Odd(columns.astype(np.float32), ends[0, kept], ends[1, kept], banned.astype(np.int64))


def _counts(rows: Ints, columns: Ints, size: int) -> Any:
    return sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (size, size))


def measure(vectors: Floats, labels: Ints, number: int, *, auc: bool) -> float:
    """Half of the nodes have labels, a quarter choose C."""
    order = np.random.default_rng(number).permutation(len(labels))
    train, val, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    if not auc:
        return score.accuracy(vectors, labels, Split("many", number, train, val, test))[0]
    rows = vectors / np.sqrt(np.square(vectors[train]).sum() / len(train), dtype=np.float32)
    Cs = score.strengths(len(train))
    found = score.logistic(rows[train], labels[train], 2, Cs, rows[np.concatenate([val, test])])
    margins = [scores[:, 1] - scores[:, 0] for scores in found]
    pairs = [
        (roc_auc_score(labels[val], margin[: len(val)]), roc_auc_score(labels[test], margin[len(val) :]))
        for margin in margins
    ]
    return 100 * float(max(pairs)[1])


def main() -> None:
    systems = {name: baselines.SYSTEMS[name] for name in FOUR} | {"sanne": product.embed}
    for make in (mines, words, workers):
        graph = make()
        nodes = len(graph.labels)
        links = _counts(graph.sources, graph.targets, nodes)
        links = (links + links.T).tocsr()
        links.setdiag(0)
        links.eliminate_zeros()
        links.data[:] = 1
        view = View(np.ones(nodes, bool), links, links, graph.columns, None)
        for name, system in systems.items():
            vectors = system(view)
            found = [measure(vectors, graph.labels, number, auc=make is not words) for number in range(_SPLITS)]
            print(make.__name__, name, vectors.shape[1], f"{np.mean(found):.1f}", flush=True)


if __name__ == "__main__":
    main()
