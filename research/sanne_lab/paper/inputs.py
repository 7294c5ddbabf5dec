"""What every training of a cell shares: graph, splits, Doc2Vec vectors and the fixed set of walks, made once."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.config import FeatureConfig
from sanne.errors import DatasetError, InputError
from sanne.evaluate.splits import Splits
from sanne.features.doc2vec import Doc2VecMap
from sanne.features.text import word_counts
from sanne.files.atomic import replaced_file
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.split import hide_nodes
from sanne.seeds import derived_seed
from sanne.walks.sample import Walks, WalkSampler
from sanne_lab.datasets.fetch import data_folder
from sanne_lab.datasets.npz import load_arrays
from sanne_lab.experiments.data import data_of
from sanne_lab.paper.grid import FIXED, Candidate, Cell

# The longer the documents, the fewer: with 100 epochs those of Pubmed (50 words) are learned by heart and lose six
# points. For the vectors alone; what walks are averaged over may be trained longer ("own-130").
DOC2VEC_EPOCHS = {"cora": 100, "citeseer": 60, "pubmed": 15}


@dataclass(frozen=True, eq=False)
class Inputs:
    """One training's inputs. Nodes are numbered as in the training graph; `present` maps them to the dataset."""

    splits: Splits
    numbers: tuple[int, ...]  # the splits that this training serves
    labels: IntArray  # of all nodes of the dataset
    present: IntArray  # the training graph's nodes
    features: FloatArray  # (present, 128)
    sampler: WalkSampler  # over the training graph
    walks: Walks  # the fixed set, (starts * T, N)
    unreached: IntArray  # training-graph nodes without neighbours: no output vector of theirs is ever trained
    new_features: FloatArray  # of all nodes of the dataset
    new_walks: Walks  # Z walks over the whole graph from each node of `new`, in the dataset's numbers
    digest: str  # of the features


def make_inputs(candidate: Candidate, split: int | None, seed: int, cache: Path) -> Inputs:
    """Inputs of a training: over the whole graph, or with the test nodes of one split hidden (`split`)."""
    cell = candidate.cell
    if (split is None) != (cell.setting == "transductive"):
        raise InputError(f"{cell}: {'name a split' if split is None else 'one training serves all splits'}")
    graph, splits = data_of(cell.dataset)
    assert graph.labels is not None
    every = np.arange(graph.num_nodes)
    new = every[:0] if split is None else splits.test[split]
    present = np.setdiff1d(every, new)
    train_graph = graph if split is None else hide_nodes(graph, new)
    source = candidate.unstated.features
    if cell.texts == "present":
        features = strict_vectors(cell.dataset, source, split, train_graph, seed, cache)
    else:
        features = doc2vec_vectors(cell.dataset, source, seed, cache)
    digest = hashlib.sha256(np.ascontiguousarray(features).data).hexdigest()[:16]
    if candidate.unstated.standardised:
        features = (features - features.mean(axis=0)) / features.std(axis=0)
    adjacency = train_graph.adjacency("both")
    sampler = WalkSampler(adjacency, walk_length=FIXED["walk_length"], seed=seed)
    whole = WalkSampler(graph.adjacency("both"), walk_length=FIXED["walk_length"], seed=derived_seed(seed, "inference"))
    linked = np.diff(adjacency.indptr) > 0
    return Inputs(
        splits=splits,
        numbers=tuple(range(len(splits))) if split is None else (split,),
        labels=graph.labels,
        present=present,
        features=np.ascontiguousarray(features[present]),
        sampler=sampler,
        walks=sampler.walks_of_each(np.flatnonzero(linked), candidate.num_walks),
        unreached=np.flatnonzero(~linked),
        new_features=features,
        new_walks=whole.walks_of_each(new, FIXED["num_inference_walks"]),
        digest=digest,
    )


def doc2vec_vectors(dataset: str, source: str, seed: int, cache: Path) -> FloatArray:
    """Doc2Vec vectors of all nodes of a dataset, trained on all texts as the paper's were; kept on disk."""
    if source == "authors":
        folder = data_folder()
        path = None if folder is None else folder / f"{dataset}.authors_doc2vec.npz"
        if path is None or not path.is_file():
            raise DatasetError(f"the authors' Doc2Vec vectors of {dataset} are not at hand: use features 'own'")
        vectors: FloatArray = load_arrays(path)["vectors"].astype(np.float32)
        return vectors
    kind, epochs = _kind_and_epochs(dataset, source)

    def make() -> FloatArray:
        graph = data_of(dataset)[0]
        if kind == "own":
            return mapped(graph, graph, epochs, seed)
        return jointly_trained(graph, epochs, seed, repeat=kind == "counts")

    return kept(cache / f"{dataset}-{kind}-{epochs}-{seed}.npy", make)


def strict_vectors(
    dataset: str, source: str, split: int | None, train_graph: Graph, seed: int, cache: Path
) -> FloatArray:
    """Doc2Vec vectors of all nodes by a map that has not seen the texts of those that a split hides."""
    _, epochs = _kind_and_epochs(dataset, source)
    path = cache / f"{dataset}-own-{epochs}-{seed}-without-{split}.npy"
    return kept(path, lambda: mapped(train_graph, data_of(dataset)[0], epochs, seed))


def mapped(texts: Graph, graph: Graph, epochs: int, seed: int) -> FloatArray:
    """The vectors that the product's map, fitted on some texts, gives the nodes of a graph."""
    config = FeatureConfig(features="doc2vec", feature_dim=FIXED["encoder_dim"], doc2vec_epochs=epochs)
    return Doc2VecMap.fit(texts, config, seed).transform(graph)


def _kind_and_epochs(dataset: str, source: str) -> tuple[str, int]:
    kind, _, number = source.partition("-")
    return kind, int(number or DOC2VEC_EPOCHS[dataset])


def counts_of(weights: Any) -> IntArray:
    """How often each word stands in its text, from TF-IDF weights: a word that stands there once has the least TF."""
    documents = np.bincount(weights.indices, minlength=weights.shape[1])
    shares = weights.data / np.log(weights.shape[0] / documents)[weights.indices]
    least = [part.min(initial=np.inf) for part in np.split(shares, weights.indptr[1:-1])]
    once = np.repeat(least, np.diff(weights.indptr))
    return np.maximum(1, np.rint(shares / once)).astype(np.int64)


def jointly_trained(graph: Graph, epochs: int, seed: int, *, repeat: bool = False) -> FloatArray:
    """Document vectors as gensim trained them together with the words', which is what the paper's are.

    Texts are known as sets of words, so that each stands there once; by their TF-IDF weights words can be repeated.
    """
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    words = word_counts(graph, None, None)
    counts = counts_of(words) if repeat else np.ones(words.nnz, np.int64)
    documents = [
        TaggedDocument([str(word) for word in np.sort(np.repeat(part, count))], [number])
        for number, (part, count) in enumerate(
            zip(*(np.split(array, words.indptr[1:-1]) for array in (words.indices, counts)), strict=True)
        )
    ]
    model = Doc2Vec(
        documents,
        dm=0,
        vector_size=FIXED["encoder_dim"],
        alpha=0.01,
        sample=1e-3,
        min_count=0,
        epochs=epochs,
        workers=1,  # more would make the result depend on the scheduler
        seed=seed,
    )
    vectors: FloatArray = model.dv.vectors.astype(np.float32)
    return vectors


def kept(path: Path, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """An array from a file, made first if it is not there; another process that wants it meanwhile waits."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(path.name + ".lock")):
            if not path.is_file():
                array = make()
                with replaced_file(path) as part, part.open("wb") as file:
                    np.save(file, array)
    return np.asarray(np.load(path))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for a lock file and hold it; it ends with the process, however that ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def steps_per_epoch(candidate: Candidate) -> int:
    """About how many steps an epoch has; nodes without neighbours are counted, as they are few."""
    graph, splits = data_of(candidate.cell.dataset)
    hidden = splits.test.shape[1] if candidate.cell.setting == "inductive" else 0
    return -(-(graph.num_nodes - hidden) * candidate.num_walks // FIXED["batch_size"])


def number_of_splits(cell: Cell) -> int:
    """How many splits the dataset has."""
    return len(data_of(cell.dataset)[1])


def splits_source(dataset: str) -> str:
    """Where the splits of a dataset come from."""
    return data_of(dataset)[1].source
