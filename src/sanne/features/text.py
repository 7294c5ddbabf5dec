"""Documents and bags of words to vectors: TF-IDF, then a truncated SVD."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, register_features
from sanne.features.encoders import TextEncoder
from sanne.features.numeric import check_rows, check_width
from sanne.features.svd import components
from sanne.features.words import count_words, word_counter
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.sparse import multiply
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit

_COMMON = 0.5  # weight of a word that every document has
_ENCODED = 0.35  # length of what a text encoder gives, beside words of length one


class WordMap(FeatureMap):
    """What maps of words have in common: they read text, or a matrix of word counts, whichever fit found."""

    costly = True
    directional = True
    _whole: bool  # False: the numbers only say which words are there

    def __init__(self, vocabulary: list[str] | None, num_words: int) -> None:
        self._vocabulary = vocabulary
        self._num_words = num_words
        self._counter = word_counter(vocabulary)
        self.reads = "counts" if vocabulary is None else "text"

    @classmethod
    def check(cls, graph: Graph) -> None:
        """A graph needs text or word counts."""
        if graph.texts is None and (graph.features is None or graph.features.shape[1] == 0):
            raise InputError(f"features={cls.name!r} needs node text or word counts, and this graph has neither")

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Learn from a graph's text, or from its matrix of word counts."""
        return cls.fit_columns(graph, config, seed)[0]

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        return self.reduced(self.columns(graph, nodes))

    def counts(self, graph: Graph, nodes: IntArray | None) -> Any:
        """A CSR matrix (nodes, words)."""
        return word_counts(graph, nodes, self._counter)

    @classmethod
    def fit_counts(cls, graph: Graph, max_words: int) -> tuple[list[Any] | None, Any]:
        """The vocabulary of a graph and its `counts`."""
        return fit_word_counts(graph, max_words)

    def columns(self, graph: Graph, nodes: IntArray | None = None) -> Any:
        counts = self.counts(graph, nodes)
        check_width(counts.shape[1], self._num_words)
        return self._columns(counts)

    @abstractmethod
    def _columns(self, counts: Any) -> Any:
        """The `columns` of rows of counts."""


@register_features
class TfidfSVD(WordMap):
    """A fitted map from word counts to dense vectors of length `feature_scale` (zero where no word is known)."""

    name = "tfidf"

    def __init__(
        self,
        idf: FloatArray,
        components: FloatArray,
        vocabulary: list[str] | None,
        feature_scale: float,
        whole: bool,
        encoder: TextEncoder | None = None,
    ) -> None:
        check_components(idf, components if encoder is None else components[: len(idf)], vocabulary)
        super().__init__(vocabulary, len(idf))
        self._encoder = encoder
        self._idf = idf  # (words,)
        self._components = components  # (words and columns of the encoder, width)
        self._scale = feature_scale
        self._whole = whole
        self.width = int(components.shape[1])

    @classmethod
    def fit_columns(cls, graph: Graph, config: FeatureConfig, seed: int) -> tuple[Self, Any]:
        """A fitted map and the columns of the graph's nodes; every text is read once."""
        encoder = TextEncoder(config.text_encoder) if config.text_encoder else None
        vocabulary, counts = cls.fit_counts(graph, config.max_words)
        whole, frequency = are_whole(counts), np.bincount(counts.indices, minlength=counts.shape[1])
        idf = (np.log((1 + counts.shape[0]) / (1 + frequency)) + _COMMON) ** config.idf_power  # the rarer, the higher
        idf = idf.astype(np.float32)
        columns = _with_encoded(weigh(counts, idf, whole), encoder, graph, None)
        axes = components(columns, config.feature_dim, numpy_stream(seed, "features"))
        return cls(idf, axes, vocabulary, config.feature_scale, whole, encoder), columns

    @property
    def num_columns(self) -> int:
        return len(self._components)

    @property
    def basis(self) -> FloatArray:
        return self._components

    @property
    def column_names(self) -> list[str] | None:
        encoded = [] if self._encoder is None else [f"the text as {self._encoder.spec} reads it"]
        return None if self._vocabulary is None else self._vocabulary + encoded

    def columns(self, graph: Graph, nodes: IntArray | None = None) -> Any:
        return _with_encoded(super().columns(graph, nodes), self._encoder, graph, nodes)

    def _columns(self, counts: Any) -> Any:
        return weigh(counts, self._idf, self._whole)

    def reduced(self, columns: Any) -> FloatArray:
        """Vectors of length `feature_scale`; a row without known words gives zeros."""
        return np.float32(self._scale) * unit(multiply(columns, self._components))

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        description: dict[str, Any] = {"feature_scale": self._scale, "whole": self._whole}
        description["vocabulary"] = self._vocabulary
        if self._encoder is not None:
            description |= {"encoder": self._encoder.spec, "revision": self._encoder.revision, "unit_length": True}
        return description, {"idf": self._idf, "components": self._components}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        encoder = None
        if "encoder" in description:
            encoder = TextEncoder(str(description["encoder"]), str(description["revision"]))
        return cls(
            arrays["idf"],
            arrays["components"],
            description["vocabulary"],
            checked_factor(description["feature_scale"]),
            bool(description["whole"]),
            encoder,
        )


def fit_word_counts(graph: Graph, max_words: int) -> tuple[list[str] | None, Any]:
    """The vocabulary of a graph's texts and its `word_counts`, from one pass; None where the graph gives counts."""
    if graph.texts is None:
        return None, word_counts(graph, None, None)
    return count_words(graph.texts, max_words)


def word_counts(graph: Graph, nodes: IntArray | None, counter: Any) -> Any:
    """A CSR matrix (nodes, words) of positive counts; `counter` is a `word_counter`, None for a graph of counts."""
    if counter is not None:
        if graph.texts is None:
            raise InputError("the model reads node text, but this graph has none: name its column with text= or --text")
        texts = graph.texts if nodes is None else graph.texts[nodes]
        return counter.transform(texts).astype(np.float32)
    if graph.features is None:
        raise InputError("the model reads node features, but this graph has none: give its node table")
    counts = sp.csr_matrix(graph.features if nodes is None else graph.features[nodes], dtype=np.float32, copy=True)
    counts.sum_duplicates()  # scipy would do so later, under the feet of matrices that share its arrays
    counts.eliminate_zeros()  # a stored zero is not a word
    check_rows(graph, nodes, np.isfinite(np.asarray(counts.sum(axis=1)).ravel()))
    if counts.nnz and counts.data.min() < 0:
        fewest = counts.min(axis=1).toarray().ravel()
        problem = "is a negative word count (features='numeric' reads signed numbers)"
        check_rows(graph, nodes, fewest >= 0, problem)
    return counts


def are_whole(counts: Any) -> bool:
    """Whether a matrix holds whole counts; other numbers only say which words are there."""
    return bool(np.all(counts.data == np.rint(counts.data)))


def check_components(idf: FloatArray, components: FloatArray, words: list[Any] | None) -> None:
    """Refuse parts that do not fit together, as a damaged file may hold."""
    if idf.ndim != 1 or components.ndim != 2 or len(components) != len(idf):
        raise InputError(f"idf of shape {idf.shape} but components of shape {components.shape}")
    if words is not None and (not isinstance(words, list) or len(words) != len(idf)):
        raise InputError(f"{len(idf)} idf weights but another number of words")
    if words is not None and not (all(isinstance(word, str | int) for word in words) and len(set(words)) == len(words)):
        raise InputError("the vocabulary has entries of the wrong type or duplicates")


def checked_factor(value: Any) -> float:
    """A positive number of ordinary size, as saved maps hold; anything else is refused."""
    if not 0 < (number := float(value)) < 1e15:
        raise InputError(f"{value!r} where a positive number of ordinary size was saved")
    return number


def weigh(counts: Any, idf: FloatArray, whole: bool) -> Any:
    """TF-IDF rows of length one; whole counts enter as 1 + log(count), other numbers as 1."""
    data = 1.0 + np.log(np.maximum(counts.data, 1.0)) if whole else np.ones_like(counts.data)
    data = (data * idf[counts.indices]).astype(np.float32)
    squares = sp.csr_matrix((data * data, counts.indices, counts.indptr), shape=counts.shape)
    length = np.sqrt(squares @ np.ones(counts.shape[1], np.float32))
    data *= np.repeat(1.0 / np.maximum(length, 1e-12), np.diff(counts.indptr))
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def _with_encoded(columns: Any, encoder: TextEncoder | None, graph: Graph, nodes: IntArray | None) -> Any:
    """Columns of words, with those of a text encoder beside them if there is one."""
    if encoder is None:
        return columns
    if graph.texts is None:
        raise InputError(f"the text encoder {encoder.spec} reads node text, but this graph has none: name its column")
    encoded = encoder.encode(graph.texts if nodes is None else graph.texts[nodes])
    return sp.hstack([columns, sp.csr_matrix(_ENCODED * encoded)]).tocsr().astype(np.float32)
