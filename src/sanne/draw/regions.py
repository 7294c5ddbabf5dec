"""Regions of a map and their names: nested clusters, named by their distinctive words."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage

from sanne.device import calm_threads
from sanne.evaluate.splits import has_label
from sanne.features.words import count_words, words
from sanne.model.clusters import spherical_kmeans
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit

Clusters = npt.NDArray[np.int64]  # (nodes,)
Levels = npt.NDArray[np.int64]  # (nodes, levels): a cluster of each level, the broadest first, each inside the last
Flags = npt.NDArray[np.bool_]
Names = list[tuple[dict[int, str], Flags]]  # for each level: names of clusters, and the nodes that their names fit

_FINE, _MIDDLE, _BROAD = 150, 50, 18  # clusters at most
_FEWEST = 12  # nodes in a fine cluster, on average
_SAMPLE = 40_000  # nodes that are clustered; the others join the nearest
_TEXTS = 60_000  # that are read for names
_GLUE_TEXTS = 20_000  # that are read to find function words
_OPENING = re.compile(r".{,120}\w{,20}", re.DOTALL)  # of a text, which is read: its title, mostly; words are whole
_ADDRESS = re.compile(r"\w+://\S+|www\.\S+")
_BREAK = re.compile(r"[^\w\s'-]+|\n")  # between phrases
_WORDS = 20_000  # that are considered
_GLUE = (0.07, 10)  # share of all words, and how many, that must follow a function word
_OFTEN = 0.002  # of all words: for such a word this share is enough, or one of its own occurrences
_GLUE_OFTEN = (0.06, 0.5)
_PROSE = 0.8  # of all words are such, at most; in lists of keywords any word may follow any other
_NAMED = (2, 3, 3)  # words in a name, by level
_CLEAR = 0.5  # of the score of a name's first word, which its others have at least


@dataclass(frozen=True)
class Region:
    """A named part of the map; `level` 0 is the broadest."""

    level: int
    name: str
    x: float
    y: float
    size: int


def find_clusters(rows: npt.NDArray[Any], seed: int) -> Clusters:
    """Up to 150 clusters of (nodes, width) rows by direction."""
    directions = unit(np.asarray(rows, np.float32))
    count = max(1, min(_FINE, len(rows) // _FEWEST))
    sample = directions[numpy_stream(seed, "cluster").permutation(len(rows))[:_SAMPLE]]
    parts = np.array_split(directions, len(rows) // 50_000 + 1)
    with calm_threads(rows):
        centres = spherical_kmeans(sample, count, numpy_stream(seed, "cluster"))
        nearest = np.concatenate([(part @ centres.T).argmax(axis=1) for part in parts])
    return np.unique(nearest, return_inverse=True)[1].astype(np.int64)


def find_levels(clusters: Clusters, points: npt.NDArray[Any]) -> Levels:
    """Clusters at three levels: those near each other on the map are merged into broader ones."""
    found = sp.csr_matrix((np.ones(len(clusters)), (clusters, np.arange(len(clusters)))))
    middles = np.array([np.median(points[row.indices], axis=0) for row in found])
    levels = [clusters]
    if len(middles) > 2:
        tree = linkage(middles, "ward")
        levels = [fcluster(tree, most, "maxclust")[clusters] - 1 for most in (_broad_count(tree), _MIDDLE)] + levels
    return np.stack([levels[0]] * (3 - len(levels)) + levels, axis=1).astype(np.int64)


def _broad_count(tree: npt.NDArray[np.float64]) -> int:
    """How many broad clusters there are: where the cost of merging two more jumps most."""
    heights = tree[::-1, 2]  # of the join that leaves 1, 2, 3, ... clusters
    counts = np.arange(2, min(_BROAD, len(heights)) + 1)
    ratios = heights[counts - 2] / np.maximum(heights[np.minimum(counts - 1, len(heights) - 1)], 1e-9)
    return int(counts[np.argmax(ratios)] if ratios.max() > 2 else min(_BROAD, len(heights)))


def find_regions(points: npt.NDArray[Any], levels: Levels, names: Names) -> list[Region]:
    """The named clusters, placed where the nodes that fit their names are densest; broad ones first, then by size.

    Of clusters with the same name, only the broadest and largest is a region.
    """
    found: dict[str, Region] = {}
    span = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    for level, (named, fits) in enumerate(names):
        sizes = np.bincount(levels[:, level])
        for cluster in sorted(named, key=lambda cluster: -sizes[cluster]):
            if named[cluster] and named[cluster] not in found:
                x, y = _peak(points[(levels[:, level] == cluster) & fits], 0.03 * span)
                found[named[cluster]] = Region(level, named[cluster], x, y, int(sizes[cluster]))
    return list(found.values())


def _peak(points: npt.NDArray[Any], radius: float) -> tuple[float, float]:
    """The middle of the place with most points around it."""
    some = points[:: len(points) // 600 + 1].astype(np.float64)
    near = np.linalg.norm(some[:, None] - some, axis=2) <= radius
    x, y = some[near[near.sum(axis=1).argmax()]].mean(axis=0)
    return float(x), float(y)


def region_names(levels: Levels, *, texts: Any = None, labels: Any = None, ids: Any, rows: Any) -> Names:
    """For each level the names of its clusters, and which nodes they fit.

    Names are words of the texts; without texts the most common label; without labels the ids of nodes in the middle of
    `rows`, the vectors.
    """
    if texts is not None and any(texts[i] for i in range(min(len(texts), 1000))):
        return _word_names(levels, texts)
    if labels is not None and np.ndim(labels) == 1 and any(given := has_label(labels)):
        return [_label_names(level, np.asarray(labels), np.asarray(given, bool)) for level in levels.T]
    everyone = np.ones(len(levels), bool)
    return [(_id_names(level, ids, unit(np.asarray(rows))), everyone) for level in levels.T]


def _label_names(clusters: Clusters, labels: npt.NDArray[Any], given: Flags) -> tuple[dict[int, str], Flags]:
    words = np.array([str(label) for label in labels.tolist()], object)
    names = {}
    for cluster in np.unique(clusters[given]).tolist():
        names[cluster] = Counter(words[given & (clusters == cluster)].tolist()).most_common(1)[0][0]
    return names, np.array([names.get(cluster) == word for cluster, word in zip(clusters.tolist(), words, strict=True)])


def _id_names(clusters: Clusters, ids: Sequence[Any], rows: npt.NDArray[Any]) -> dict[int, str]:
    names = {}
    for cluster in np.unique(clusters).tolist():
        members = np.flatnonzero(clusters == cluster)
        central = members[np.argsort(-(rows[members] @ rows[members].mean(axis=0)), kind="stable")[:2]]
        names[cluster] = ", ".join(str(ids[row]) for row in central)
    return names


def _word_names(levels: Levels, texts: Sequence[Any]) -> Names:
    """Class-based TF-IDF: the share of a cluster's texts with a word, times how much larger it is than elsewhere.

    Words spread over many fine clusters count less: in any language, those tell nothing about a subject.
    """
    read = np.arange(0, len(texts), len(texts) // _TEXTS + 1)
    openings = [_OPENING.findall(_ADDRESS.sub(" ", str(texts[row] or "")))[0] for row in read.tolist()]
    vocabulary, counts = count_words(openings, _WORDS)
    counts.data[:] = 1
    glue = _glue(openings)
    spoken = np.array([word not in glue and any(map(str.isalpha, word)) for word in vocabulary], bool)
    place_of = {word: place for place, word in enumerate(vocabulary)}
    rarity = _rarity(levels[read, -1], counts)
    parents: Clusters = np.zeros(len(read), np.int64)
    inherited: dict[int, set[str]] = {}
    names: Names = []
    for level in range(levels.shape[1]):
        clusters, own = np.unique(levels[read, level], return_inverse=True)
        shares, sizes = _shares(own, counts)
        shares[:, ~spoken] = 0
        shares[shares * sizes < min(2.5, 0.5 * float(sizes.min()))] = 0  # a single occurrence is chance
        more = np.log(np.maximum(shares, 1e-9) / np.maximum(shares.mean(axis=0), 1e-9))
        scores = shares * np.maximum(more, 0) * rarity
        parent = np.zeros(len(clusters), np.int64)
        parent[own] = parents
        chosen = _choose(scores, parent, vocabulary, inherited, _NAMED[level])
        inherited = {
            k: {_stem(word) for word in words} | inherited.get(int(parent[k]), set()) for k, words in enumerate(chosen)
        }
        first = np.array([place_of[words[0]] if words else 0 for words in chosen])
        fits = np.zeros(len(texts), bool)
        fits[read] = np.asarray(counts[np.arange(len(read)), first[own]]).ravel() > 0
        names.append(({int(k): " · ".join(words) for k, words in zip(clusters, chosen, strict=True)}, fits))
        parents = own
    return names


def _glue(texts: Sequence[str]) -> set[str]:
    """Function words, which almost any word may follow: in most languages articles, prepositions, "and"."""
    phrases = (phrase for text in texts[:: len(texts) // _GLUE_TEXTS + 1] for phrase in _BREAK.split(text))
    following: dict[str, list[int]] = defaultdict(list)
    for (word, _), count in Counter(pair for phrase in phrases for pair in pairwise([*words(phrase), ""])).items():
        following[word].append(count)
    sizes = {word: sum(counts) for word, counts in following.items()}
    total, variety = sum(sizes.values()), _variety(list(sizes.values()))

    def least(word: str) -> float:
        share, own = _GLUE_OFTEN
        often = sizes[word] >= _OFTEN * total
        return max(_GLUE[1], min(share * variety, own * sizes[word]) if often else _GLUE[0] * variety)

    found = {word for word, counts in following.items() if len(counts) > least(word) < _variety(counts)}
    return found if sum(sizes[word] for word in found) <= _PROSE * total else set()


def _variety(counts: Sequence[int]) -> float:
    """Perplexity: how many equally frequent items would be as hard to predict."""
    parts = np.array(counts) / max(1, sum(counts))
    return float(np.exp(-parts @ np.log(parts)))


def _shares(clusters: Clusters, counts: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The share of each cluster's texts that has each word (clusters, words), and how many texts it has."""
    member = sp.csr_matrix((np.ones(len(clusters), np.float32), (clusters, np.arange(len(clusters)))))
    sizes = np.asarray(member.sum(axis=1))
    return np.asarray((member @ counts).todense()) / sizes, sizes


def _rarity(clusters: Clusters, counts: Any) -> npt.NDArray[Any]:
    """log(clusters / clusters that a word is spread over), where an even spread counts all and one cluster 1."""
    shares, _ = _shares(np.unique(clusters, return_inverse=True)[1], counts)
    parts = shares / np.maximum(shares.sum(axis=0), 1e-9)
    spread = -(parts * np.log(np.maximum(parts, 1e-9))).sum(axis=0)
    return np.asarray(np.maximum(np.log(len(shares)) - spread, 0.01))


def _choose(
    scores: npt.NDArray[Any], parent: Clusters, vocabulary: list[str], inherited: dict[int, set[str]], most: int
) -> list[list[str]]:
    """Words for each cluster, the best first; a cluster and the clusters inside it share no stem."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, : 12 * most]
    offers = [
        (scores[k, word], k, vocabulary[word]) for k in range(len(scores)) for word in best[k] if scores[k, word] > 0
    ]
    chosen: list[list[str]] = [[] for _ in scores]
    taken = {int(k): set(inherited.get(int(k), set())) for k in parent}
    first = np.zeros(len(scores))
    for score, k, word in sorted(offers, key=lambda offer: -offer[0]):
        used, stem = taken[int(parent[k])], _stem(word)
        if len(chosen[k]) < most and stem not in used and score >= _CLEAR * first[k]:
            first[k] = max(first[k], score)
            chosen[k].append(word)
            used.add(stem)
    return chosen


def _stem(word: str) -> str:
    """A rough stem of a word, in any language."""
    return word[:4]
