"""PV-DBOW Doc2Vec features, as in the paper: word vectors trained by gensim, documents read by our own kernel.

gensim's own inference starts from Python's randomised string hash, so it differs from process to process.
Here every document, present or new, gets its vector by the same seeded descent over fixed word vectors.
"""

from typing import Any, Self

import numpy as np

from sanne.config import FeatureConfig
from sanne.errors import InputError, import_extra
from sanne.features.base import register_features
from sanne.features.text import WordMap, are_whole, check_components, fit_word_counts
from sanne.graph.graph import FloatArray, Graph
from sanne.seeds import derived_seed, kernel, mix, step, walk_stream

# The learning rate of the paper's authors. They drop frequent words far more often (sample 1e-5), which takes
# many times the epochs for the same vectors.
_ALPHA, _MIN_ALPHA, _SAMPLE, _NEGATIVE = 0.01, 0.0001, 1e-3, 5


@register_features
class Doc2VecMap(WordMap):
    """A fitted map from word counts to document vectors; a document without known words gives zeros."""

    name = "doc2vec"

    def __init__(
        self,
        vocabulary: list[str] | None,
        frequency: FloatArray,
        output: FloatArray,
        epochs: int,
        seed: int,
        whole: bool,
    ) -> None:
        check_components(frequency, output, vocabulary)
        super().__init__(vocabulary, len(frequency))
        self._frequency = frequency  # (words,) counts in fit
        self._output = output  # (words, width) the words' output vectors
        self._epochs = epochs
        self._seed = seed
        self._whole = whole
        self.width = int(output.shape[1])

    @classmethod
    def fit_columns(cls, graph: Graph, config: FeatureConfig, seed: int) -> tuple[Self, Any]:
        """A fitted map and the vectors of the graph's nodes; every text is split into words once."""
        vocabulary, counts = fit_word_counts(graph, config.max_words)
        whole = are_whole(counts)
        counts = _as_whole(counts, whole)
        if counts.nnz == 0:
            raise InputError("features='doc2vec' needs words, and no node has any")
        frequency = np.asarray(counts.sum(axis=0)).ravel().astype(np.float32)
        output = _train_word_vectors(counts, config, derived_seed(seed, "features") % 2**31)
        fitted = cls(vocabulary, frequency, output, config.doc2vec_epochs, seed, whole)
        return fitted, fitted._columns(counts)

    def _columns(self, counts: Any) -> FloatArray:
        counts = _as_whole(counts, self._whole)
        keep, noise = _sampling(self._frequency)
        vectors = np.zeros((counts.shape[0], self.width), np.float32)
        times = counts.data.astype(np.int32)
        seed = derived_seed(self._seed, "features", 1)
        _read_documents(counts.indptr, counts.indices, times, self._output, keep, noise, self._epochs, seed, vectors)
        return vectors

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        description = {"vocabulary": self._vocabulary, "epochs": self._epochs, "seed": self._seed, "whole": self._whole}
        return description, {"frequency": self._frequency, "output": self._output}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(
            description["vocabulary"],
            arrays["frequency"],
            arrays["output"],
            int(description["epochs"]),
            int(description["seed"]),
            bool(description["whole"]),
        )


def _as_whole(counts: Any, whole: bool) -> Any:
    counts.data = np.maximum(np.rint(counts.data), 1) if whole else np.ones_like(counts.data)
    return counts


def _train_word_vectors(counts: Any, config: FeatureConfig, seed: int) -> FloatArray:
    """Output vectors (words, feature_dim); words that fit never saw get zeros."""
    gensim = import_extra("gensim.models.doc2vec", "text", "Doc2Vec (features='doc2vec')", "gensim")
    repeated = np.repeat(counts.indices, counts.data.astype(np.int64))
    ends = np.cumsum(np.asarray(counts.sum(axis=1)).ravel().astype(np.int64))
    documents = [
        gensim.TaggedDocument([str(word) for word in part], [number])
        for number, part in enumerate(np.split(repeated, ends[:-1]))
    ]
    model = gensim.Doc2Vec(
        documents,
        dm=0,
        vector_size=config.feature_dim,
        alpha=_ALPHA,
        min_alpha=_MIN_ALPHA,
        sample=_SAMPLE,
        negative=_NEGATIVE,
        min_count=1,
        epochs=config.doc2vec_epochs,
        workers=1,  # more would make the result depend on the scheduler
        seed=seed,
    )
    output = np.zeros((counts.shape[1], config.feature_dim), np.float32)
    output[[int(word) for word in model.wv.index_to_key]] = model.syn1neg
    return output


def _sampling(frequency: FloatArray) -> tuple[FloatArray, FloatArray]:
    """word2vec's keep probabilities and the running sums of its noise distribution, both (words,)."""
    share = frequency / max(float(frequency.sum()), 1.0)
    ratio = _SAMPLE / np.maximum(share, 1e-12)
    keep = np.where(frequency > 0, np.minimum(1.0, np.sqrt(ratio) + ratio), 0.0)
    noise = np.cumsum(np.where(frequency > 0, frequency.astype(np.float64) ** 0.75, 0.0))
    return keep.astype(np.float32), noise / max(noise[-1], 1e-12)


@kernel
def _read_documents(
    indptr: Any, words: Any, counts: Any, output: Any, keep: Any, noise: Any, epochs: int, seed: int, vectors: Any
) -> None:
    """Gradient descent on each document's vector with the words' output vectors fixed."""
    width = vectors.shape[1]
    unit = 1.0 / 9007199254740992.0  # 2**-53
    change = np.zeros(width, np.float32)
    for document in range(len(indptr) - 1):
        # One stream for all: a document's vector depends on its words alone.
        state = walk_stream(np.uint64(seed), np.uint64(0), np.uint64(0), np.uint64(0))
        vector = vectors[document]
        for epoch in range(epochs):
            rate = np.float32(_ALPHA - (_ALPHA - _MIN_ALPHA) * epoch / max(epochs - 1, 1))
            for position in range(indptr[document], indptr[document + 1]):
                for _ in range(counts[position]):
                    state = step(state)
                    if (mix(state) >> np.uint64(11)) * unit >= keep[words[position]]:
                        continue
                    change[:] = 0
                    for draw in range(_NEGATIVE + 1):
                        word = words[position]
                        if draw > 0:
                            state = step(state)
                            word = np.searchsorted(noise, (mix(state) >> np.uint64(11)) * unit, side="right")
                            if word == words[position]:
                                continue
                        dot = np.float32(0)
                        for d in range(width):
                            dot += vector[d] * output[word, d]
                        expected = np.float32(1) / (np.float32(1) + np.exp(-dot))
                        gradient = ((np.float32(1) if draw == 0 else np.float32(0)) - expected) * rate
                        for d in range(width):
                            change[d] += gradient * output[word, d]
                    for d in range(width):
                        vector[d] += change[d]
