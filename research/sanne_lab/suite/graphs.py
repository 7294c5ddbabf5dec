"""The graphs of the suite: links, word counts or numeric columns, labels, and which nodes belong together."""

import os
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.features.svd import components
from sanne.files.atomic import replaced_file
from sanne_lab.suite.parts import Ints, tfidf

_WORD = re.compile(r"(?u)\b\w\w+\b")
_WORDNET = "usr/share/wordnet/data.noun"


@dataclass(frozen=True, eq=False)
class SuiteGraph:
    """One graph; `masks` holds published splits, `groups` nodes that belong together (siblings), -1 for none."""

    name: str
    arcs: Any  # CSR (nodes, nodes), float32 ones, as listed: directed where the source is
    counts: Any  # CSR (nodes, words), or dense numeric columns; float32
    labels: Ints  # -1: unknown
    masks: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    texts: list[str] | None = None
    groups: Ints | None = None
    newcomers: npt.NDArray[np.bool_] | None = None  # real newcomers, which came after the rest

    @property
    def kind(self) -> str:
        """The graph that this one is a variant of, or its own name."""
        return self.name.partition("-")[0]

    @property
    def num_nodes(self) -> int:
        return int(self.arcs.shape[0])

    @property
    def adjacency(self) -> Any:
        """Undirected, no self-loops, ones."""
        both = (self.arcs + self.arcs.T).tocsr()
        both.setdiag(0)
        both.eliminate_zeros()
        both.data[:] = 1
        return both.astype(np.float32)


def data_folder() -> Path:
    return Path(os.environ.get("SANNE_DATA", "../shared/data"))


def cache_folder() -> Path:
    folder = Path(os.environ.get("SANNE_SUITE_CACHE", ".cache/suite"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def load(name: str) -> SuiteGraph:
    """One graph of the suite by name."""
    if name not in LOADERS:
        raise InputError(f"no graph {name!r} in the suite: choose from {', '.join(LOADERS)}")
    cached = cache_folder() / f"{name}.2.pickle"  # our own file: text takes half a minute to count
    if cached.exists():
        return pickle.loads(cached.read_bytes())
    graph = LOADERS[name]()
    with replaced_file(cached) as part:
        part.write_bytes(pickle.dumps(graph))
    return graph


def _arcs(edges: npt.NDArray[Any], nodes: int) -> Any:
    edges = edges[edges[:, 0] != edges[:, 1]]
    arcs = sp.csr_matrix((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), (nodes, nodes))
    arcs.sum_duplicates()
    arcs.data[:] = 1
    return arcs


def _planetoid(name: str) -> SuiteGraph:
    data = np.load(data_folder() / f"{name}.npz")
    labels = data["labels"].astype(np.int64)
    nodes = len(labels)
    counts = sp.csr_matrix(
        (data["words_values"].astype(np.float32), data["words_indices"], data["words_indptr"]),
        (nodes, int(data["num_words"])),
    )
    counts.data[:] = 1  # Pubmed's are TF-IDF already; only which words are there is kept
    splits = np.load(data_folder() / f"{name}.paper_splits.npz")
    masks = {f"paper_{part}": splits[part].astype(np.int64) for part in ("train", "val", "test")}
    train = 20 * (int(labels.max()) + 1)
    masks["public_train"] = np.arange(train)
    masks["public_val"] = np.arange(train, train + 500)
    masks["public_test"] = np.arange(nodes - 1000, nodes)
    return SuiteGraph(name, _arcs(data["edges"], nodes), counts, labels, masks)


def _sparse_words(name: str, file: str) -> SuiteGraph:
    data = np.load(data_folder() / "suite" / f"{file}.npz")
    labels = data["labels"].astype(np.int64)
    counts = sp.csr_matrix((data["x_data"], data["x_indices"], data["x_indptr"]), tuple(data["x_shape"]))
    return SuiteGraph(name, _arcs(data["edges"], len(labels)), counts.astype(np.float32), labels)


def _masked(name: str, file: str) -> SuiteGraph:
    data = np.load(data_folder() / "suite" / f"{file}.npz")
    labels = data["labels"].astype(np.int64)
    masks = {f"mask_{part}": data[part] for part in ("train", "val", "test")}
    counts = sp.csr_matrix(data["features"].astype(np.float32))
    return SuiteGraph(name, _arcs(data["edges"], len(labels)), counts, labels, masks)


def _debian() -> SuiteGraph:
    """Bookworm's packages, then those that came with trixie, with trixie's arcs of the newcomers."""
    folder = data_folder() / "suite"
    old, new = (pq.read_table(folder / f"debian-{release}.nodes.parquet") for release in ("bookworm", "trixie"))
    ids = old["id"].to_pylist()
    known = set(ids)
    fresh = [row for row in new.to_pylist() if row["id"] not in known]
    ids += [row["id"] for row in fresh]
    number = {node: i for i, node in enumerate(ids)}
    edges = _numbered(folder / "debian-bookworm.edges.parquet", number)
    later = _numbered(folder / "debian-trixie.edges.parquet", number)
    later = later[(later >= len(known)).any(axis=1)]
    sections = old["section"].to_pylist() + [row["section"] for row in fresh]
    names = {section: i for i, section in enumerate(sorted(set(old["section"].to_pylist())))}
    labels = np.array([names.get(section, -1) for section in sections])
    texts = old["text"].to_pylist() + [row["text"] for row in fresh]
    source = {row["id"]: row["source"] for row in pq.read_table(folder / "debian-bookworm.sources.parquet").to_pylist()}
    groups = np.unique([source.get(node, node) for node in ids[: len(known)]], return_inverse=True)[1]
    return SuiteGraph(
        "debian",
        _arcs(np.concatenate([edges, later]), len(ids)),
        count_words(texts),
        labels,
        texts=texts,
        groups=np.concatenate([groups, np.full(len(fresh), -1)]),
        newcomers=np.arange(len(ids)) >= len(known),
    )


def _numbered(path: Path, number: dict[str, int]) -> Ints:
    table = pq.read_table(path)
    pairs = zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True)
    return np.array([(number[s], number[d]) for s, d in pairs if s in number and d in number])


def _wordnet() -> SuiteGraph:
    places = (Path("/") / _WORDNET, cache_folder() / "wn" / _WORDNET)
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise InputError(f"WordNet is in neither of {', '.join(map(str, places))}: install Debian's wordnet-base")
    number: dict[str, int] = {}
    texts: list[str] = []
    labels: list[int] = []
    pointers: list[list[tuple[str, str]]] = []  # kind and the number of a word's line
    for line in path.read_text("latin-1").splitlines():
        if line.startswith(" "):
            continue
        record, gloss = line.split("|", 1)
        fields = record.split()
        words = int(fields[3], 16)
        number[fields[0]] = len(number)
        labels.append(int(fields[1]))
        texts.append(gloss.strip())
        rest = fields[4 + 2 * words + 1 :]
        pointers.append([(rest[i], rest[i + 1]) for i in range(0, len(rest) - 3, 4) if rest[i + 2] == "n"])
    edges = np.array([(i, number[p]) for i, several in enumerate(pointers) for _, p in several if p in number])
    parents = [next((number[p] for kind, p in several if kind in ("@", "@i")), -1) for several in pointers]
    classes = np.unique(labels, return_inverse=True)[1]
    return SuiteGraph(
        "wordnet",
        _arcs(edges, len(number)),
        count_words(texts),
        classes,
        texts=texts,
        groups=np.array(parents, np.int64),
    )


def count_words(texts: list[str]) -> Any:
    """CSR counts of all words of two or more letters, in lower case, that stand in two texts or more."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=lambda text: _WORD.findall(text.lower()), min_df=2)
    return counter.fit_transform(texts).astype(np.float32)


def _with_doc2vec(name: str) -> SuiteGraph:
    """The vectors that the paper's authors made of the texts as numeric columns, no words."""
    vectors = np.load(data_folder() / f"{name}.authors_doc2vec.npz")["vectors"].astype(np.float32)
    return replace(load(name), name=f"{name}-doc2vec", counts=vectors)


def _turned(name: str, width: int = 64) -> SuiteGraph:
    """TF-IDF of the words reduced to a few numeric columns, turned at random."""
    graph = load(name)
    weighted = tfidf(graph.counts, np.ones(graph.num_nodes, bool))
    stream = np.random.default_rng(0)
    turn = np.linalg.qr(stream.standard_normal((width, width)))[0].astype(np.float32)
    return replace(graph, name=f"{name}-svd", counts=weighted @ components(weighted, width, stream) @ turn)


def _mean_words(name: str, width: int = 200) -> SuiteGraph:
    """A node is the mean of its words' vectors, which come from the words that they stand beside."""
    graph = load(name)
    counts = graph.counts.astype(np.float64)
    beside = (counts.T @ counts).tocsr()
    beside.setdiag(0)
    beside.eliminate_zeros()
    pairs, total = beside.tocoo(), beside.sum()
    often = np.maximum(np.asarray(beside.sum(axis=1)).ravel(), 1e-9)
    flat = often**0.75 * total / np.sum(often**0.75)  # rare words are not all that counts
    surprise = np.log(pairs.data * total / (often[pairs.row] * flat[pairs.col]))
    positive = surprise > 0
    matrix = sp.csr_matrix((surprise[positive], (pairs.row[positive], pairs.col[positive])), pairs.shape)
    vectors = matrix @ components(matrix.astype(np.float32), width, np.random.default_rng(0), passes=3)
    means = counts @ vectors / np.maximum(np.asarray(counts.sum(axis=1)), 1)
    return replace(graph, name=f"{name}-means", counts=means.astype(np.float32), texts=None)


LOADERS: dict[str, Callable[[], SuiteGraph]] = {
    "texas": lambda: _masked("texas", "texas"),
    "chameleon": lambda: _masked("chameleon", "chameleon-filtered"),
    "cora": lambda: _planetoid("cora"),
    "citeseer": lambda: _planetoid("citeseer"),
    "blogcatalog": lambda: _sparse_words("blogcatalog", "blogcatalog"),
    "photo": lambda: _sparse_words("photo", "amazon-photo"),
    "actor": lambda: _masked("actor", "actor"),
    "cs": lambda: _sparse_words("cs", "coauthor-cs"),
    "pubmed": lambda: _planetoid("pubmed"),
    "cora-doc2vec": lambda: _with_doc2vec("cora"),
    "citeseer-doc2vec": lambda: _with_doc2vec("citeseer"),
    "photo-svd": lambda: _turned("photo"),
    "texas-means": lambda: _mean_words("texas"),
    "chameleon-means": lambda: _mean_words("chameleon"),
    "cora-means": lambda: _mean_words("cora"),
    "citeseer-means": lambda: _mean_words("citeseer"),
    "blogcatalog-means": lambda: _mean_words("blogcatalog"),
    "photo-means": lambda: _mean_words("photo"),
    "actor-means": lambda: _mean_words("actor"),
    "debian": _debian,
    "wordnet": _wordnet,
}
