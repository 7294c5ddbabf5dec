"""Which labels are given, on which nodes a choice is scored, and which nodes are kept for the end.

`few`: 20 labels a class (the paper's splits where there are any, `public`: Planetoid's). `many`: 10%, the public
masks, or half of the nodes, 6,000 at most.

Settings are chosen by `choice` (newcomers: `newcomer_choice`), which scores only nodes of a fixed pool; `final` and
`newcomer_final` are for the final run, which scores only nodes outside of it. The pool holds no test node of
Planetoid's public split. It cannot avoid the test parts of the paper's splits and of the public masks, because ten of
them cover nearly all nodes: the pool's nodes are left out of those test parts instead.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sanne_lab.suite.graphs import SuiteGraph
from sanne_lab.suite.parts import Ints

_PARTS = ("train", "val", "test")
_FEW, _MOST = 20, 6000
_TENTH = ("photo", "cs", "blogcatalog")
_SCORED = 3000  # nodes of a part that are scored, at most: more only costs time


@dataclass(frozen=True, eq=False)
class Split:
    """Node numbers of one split of the labels."""

    regime: str
    number: int
    train: Ints
    val: Ints
    test: Ints


def regimes(graph: SuiteGraph) -> list[str]:
    """The regimes that a graph has."""
    if "public_train" in graph.masks:
        return ["few", "public", "many"]
    return ["many"] if "mask_train" in graph.masks else ["few", "many"]


def split(graph: SuiteGraph, regime: str, number: int) -> Split:
    """Split `number` of one regime; newcomers that are real are in no part of it."""
    if regime == "public":
        return Split(regime, number, *(graph.masks[f"public_{part}"] for part in _PARTS))
    if regime == "few" and "paper_train" in graph.masks:
        return Split(regime, number, *(_known(graph, graph.masks[f"paper_{p}"][number]) for p in _PARTS))
    if regime == "many" and "mask_train" in graph.masks:
        return Split(regime, number, *(np.flatnonzero(graph.masks[f"mask_{p}"][number]) for p in _PARTS))
    return _drawn(graph, regime, number)


def pool(graph: SuiteGraph) -> npt.NDArray[np.bool_]:
    """The nodes on which settings are chosen: a fixed half of the present nodes, without the public test nodes."""
    usable = graph.labels >= 0
    if graph.newcomers is not None:
        usable &= ~graph.newcomers
    half = np.random.default_rng(2024).random(graph.num_nodes) < 0.5
    half[graph.masks.get("public_test", [])] = False
    return np.asarray(half & usable)


def choice(graph: SuiteGraph, regime: str, number: int) -> Split:
    """Split `number` for choosing settings; only nodes of the pool are scored, and `test` is empty.

    The public masks also give labels of nodes outside of the pool to train on, since Texas has too few otherwise.
    """
    among = pool(graph)
    if "mask_train" in graph.masks:
        given = graph.masks["mask_train"][number]
        return Split(regime, number, np.flatnonzero(given), np.flatnonzero(among & ~given), _NOBODY)
    if regime == "public":
        given = graph.masks["public_train"]
        rest = np.setdiff1d(np.flatnonzero(among), given)
        return Split(regime, number, given, np.random.default_rng(5).permutation(rest)[:_SCORED], _NOBODY)
    order = np.random.default_rng([number, len(regime), 5]).permutation(np.flatnonzero(among))
    if regime == "few":
        given = _rank_in_class(graph.labels[order]) < _FEW
    else:
        size = graph.num_nodes // 10 if graph.kind in _TENTH else min(len(order) * 2 // 3, _MOST)
        given = np.arange(len(order)) < size
    return Split(regime, number, order[given], order[~given][:_SCORED], _NOBODY)


def final(graph: SuiteGraph, regime: str, number: int) -> Split:
    """The split of the final run, with the pool's nodes taken out of its test part."""
    base = split(graph, regime, number)
    return Split(regime, number, base.train, base.val, base.test[~pool(graph)[base.test]])


_NOBODY = np.zeros(0, np.int64)


def _known(graph: SuiteGraph, nodes: Ints) -> Ints:
    return nodes[graph.labels[nodes] >= 0]


def _drawn(graph: SuiteGraph, regime: str, number: int) -> Split:
    stream = np.random.default_rng([number, len(regime)])
    usable = graph.labels >= 0
    if graph.newcomers is not None:
        usable &= ~graph.newcomers
    order = stream.permutation(np.flatnonzero(usable))
    if regime == "few":
        rank = _rank_in_class(graph.labels[order])
        train, rest = order[rank < _FEW], order[rank >= _FEW]
        held = max(len(order) // 10, min(1000, len(rest) // 3))
    else:
        size = len(order) // 10 if graph.kind in _TENTH else min(len(order) // 2, _MOST)
        train, rest = order[:size], order[size:]
        held = len(order) // 10 if graph.kind in _TENTH else len(rest) // 2
    val, test = rest[:held], rest[held:]
    return Split(regime, number, train, val[:_SCORED], test)


def _rank_in_class(labels: Ints) -> Ints:
    """How many earlier entries have the same label."""
    by_label = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[by_label], labels[by_label])
    rank = np.empty(len(labels), np.int64)
    rank[by_label] = np.arange(len(labels)) - starts
    return rank


def hidden(graph: SuiteGraph, number: int, last: bool = False) -> Ints:
    """The newcomers of one trial: the real ones, a part of a paper split, or a random tenth.

    For a choice a split's validation part or nodes of the pool, in the last run its test part or other nodes.
    """
    if graph.newcomers is not None:
        return np.flatnonzero(graph.newcomers)
    if "paper_val" in graph.masks:
        return graph.masks["paper_test" if last else "paper_val"][number]
    among = np.flatnonzero(pool(graph) != last)
    return np.sort(np.random.default_rng([number, 99]).permutation(among)[: graph.num_nodes // 10])


def newcomer_choice(graph: SuiteGraph, regime: str, number: int) -> Split:
    """A split whose train part holds no newcomer; newcomers of the pool are scored, of real ones a fixed half."""
    new = hidden(graph, number)
    train = split(graph, regime, number).train
    return Split(regime, number, np.setdiff1d(train, new), _scored(graph, new, False)[:_SCORED], _NOBODY)


def newcomer_final(graph: SuiteGraph, regime: str, number: int) -> Split:
    """The same for the final run: newcomers outside of the pool, the other half of real ones."""
    new = hidden(graph, number, last=True)
    base = split(graph, regime, number)
    train, val = (np.setdiff1d(part, new) for part in (base.train, base.val))
    return Split(regime, number, train, val, _scored(graph, new, True))


def _scored(graph: SuiteGraph, new: Ints, last: bool) -> Ints:
    labelled = np.random.default_rng(7).permutation(_known(graph, new))
    if graph.newcomers is not None:
        return labelled[(np.arange(len(labelled)) < len(labelled) // 2) != last]
    return labelled[pool(graph)[labelled] != last]
