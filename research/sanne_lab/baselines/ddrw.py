"""DDRW (Li, Zhu and Zhang 2016): DeepWalk and a support vector classifier, learnt together."""

import time
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.svm import LinearSVC

from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.seeds import derived_seed, mix, numpy_stream, step
from sanne_lab.baselines.fast_kernel import fast_kernel
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.negative_sampling import noise_table, pair_step
from sanne_lab.baselines.neighbours_mean import fill_unlinked, linked, neighbours_mean
from sanne_lab.baselines.skip_gram import SkipGram, WalkCorpus


@dataclass(frozen=True)
class Settings(SkipGram):
    """Walks, skip-gram and classifier."""

    pull: float = 0.1  # eta: how much the classifier moves the vectors of labelled nodes
    C: float = 1.0  # of the classifier


class _Classifier(NamedTuple):
    """One hyperplane per class: a class's score is weights @ vector + bias."""

    classes: IntArray
    weights: FloatArray  # (classes, dim)
    bias: FloatArray  # (classes,)

    def choose(self, vectors: FloatArray) -> IntArray:
        """The class with the highest score."""
        return self.classes[(vectors @ self.weights.T + self.bias).argmax(axis=1)]


class DDRW:
    """After every pass of walks the classifier is fitted anew; validation chooses the pass."""

    name = "ddrw"

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()

    @classmethod
    def grid(cls) -> list[Self]:
        """The classifier's pull and its C."""
        settings = [Settings(), Settings(C=10.0), Settings(pull=1.0), Settings(C=0.1), Settings(pull=0.01)]
        return [cls(each) for each in settings]

    def settings(self) -> dict[str, Any]:
        """Walks, skip-gram and classifier."""
        return {name: value for name, value in asdict(self._settings).items() if name not in ("p", "q")}  # always 1

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train on walks and classes; node features are not read."""
        started = time.perf_counter()
        if not linked(graph).any():
            raise InputError("the graph has no edges: walks lead nowhere")
        best: tuple[float, int, FloatArray, _Classifier] | None = None
        training = _Training(graph, train, self._settings, seed)
        for number in range(1, self._settings.num_walks + 1):
            vectors, classifier = training.next_pass()
            accuracy = float(np.mean(classifier.choose(vectors[val.nodes]) == val.classes))
            if best is None or accuracy > best[0]:
                best = accuracy, number, vectors, classifier
        assert best is not None
        _, chosen, vectors, classifier = best
        fitted = Fitted(
            chosen,
            present=lambda nodes: classifier.choose(vectors[nodes]),
            new=lambda larger, nodes: classifier.choose(neighbours_mean(graph, vectors, larger, nodes)),
        )
        return fitted, time.perf_counter() - started


class _Training:
    """The tables of vectors, and how far the walks have gone."""

    def __init__(self, graph: Graph, train: Labelled, settings: Settings, seed: int) -> None:
        n, dim = graph.num_nodes, settings.dim
        self._graph, self._train, self._settings, self._seed = graph, train, settings, seed
        self._table = ((numpy_stream(seed, "initialise").random((n, dim)) - 0.5) / dim).astype(np.float32)
        self._outputs = np.zeros((n, dim), np.float32)
        self._noise = noise_table(np.diff(graph.adjacency("both").indptr))
        self._passes = enumerate(WalkCorpus(graph, settings, seed).passes())
        self._classifier: _Classifier | None = None

    def next_pass(self) -> tuple[FloatArray, _Classifier]:
        """One walk from every node under the classifier so far, then the classifier; both as they are then."""
        settings = self._settings
        number, walks = next(self._passes)
        side, weights, bias = self._targets()
        first, last = (1 - (number + done) / settings.num_walks for done in (0, 1))
        rates = settings.learning_rate * np.maximum(np.linspace(first, last, len(walks)), 1e-4)
        state = np.uint64(derived_seed(self._seed, "negatives", number))
        _train_walks(
            *(walks, rates.astype(np.float32), self._table, self._outputs, self._noise),
            *(settings.window, settings.negatives, side, weights, bias, np.float32(settings.pull), state),
        )
        vectors = fill_unlinked(self._graph, self._table)
        self._classifier = _fit_classifier(vectors[self._train.nodes], self._train.classes, settings.C)
        return vectors, self._classifier

    def _targets(self) -> tuple[Any, FloatArray, FloatArray]:
        """Which hyperplane each node shall be in front of (-1: none, or nothing fitted yet), and the hyperplanes."""
        side = np.full(self._graph.num_nodes, -1, np.int32)
        if self._classifier is None:
            return side, np.zeros((1, self._settings.dim), np.float32), np.zeros(1, np.float32)
        side[self._train.nodes] = np.searchsorted(self._classifier.classes, self._train.classes)
        return side, self._classifier.weights, self._classifier.bias


def _fit_classifier(rows: FloatArray, classes: IntArray, C: float) -> _Classifier:
    """One against the rest, squared hinge loss, as in the paper; C is for rows at a distance of one from their mean."""
    centre = rows.mean(axis=0, dtype=np.float64)
    spread = float(np.sqrt(((rows - centre) ** 2).sum(axis=1).mean())) or 1.0
    svm = LinearSVC(C=C, dual=False, max_iter=10_000).fit((rows - centre) / spread, classes)
    weights = svm.coef_ / spread
    bias = svm.intercept_ - weights @ centre
    if len(svm.classes_) == 2:  # scikit-learn keeps one hyperplane for two classes
        weights, bias = np.concatenate((-weights, weights)), np.concatenate((-bias, bias))
    return _Classifier(svm.classes_.astype(np.int64), weights.astype(np.float32), bias.astype(np.float32))


@fast_kernel
def _train_walks(
    walks: Any,
    rates: Any,
    table: Any,
    outputs: Any,
    noise: Any,
    window: Any,
    negatives: Any,
    side: Any,
    weights: Any,
    bias: Any,
    pull: Any,
    state: Any,
) -> None:
    """Skip-gram over some walks; a labelled node in the middle of a window is also moved by the classifier."""
    change = np.zeros(table.shape[1], np.float32)
    length = walks.shape[1]
    for i in range(len(walks)):
        for middle in range(length):
            node = walks[i, middle]
            vector = table[node]
            state = step(state)
            reach = 1 + int(mix(state) % np.uint64(window))
            for place in range(max(middle - reach, 0), min(middle + reach + 1, length)):
                if place != middle:
                    state = pair_step(vector, walks[i, place], outputs, noise, negatives, rates[i], state, change)
                    for d in range(len(vector)):
                        vector[d] += change[d]
            if side[node] >= 0:
                _classify(vector, side[node], weights, bias, pull * rates[i])


@fast_kernel
def _classify(vector: Any, side: int, weights: Any, bias: Any, rate: Any) -> None:
    """A step down the squared hinge losses of one labelled node's vector."""
    for c in range(len(weights)):
        score = bias[c]
        for d in range(len(vector)):
            score += weights[c, d] * vector[d]
        sign = np.float32(1) if c == side else np.float32(-1)
        slack = np.float32(1) - sign * score
        if slack > 0:
            for d in range(len(vector)):
                vector[d] += np.float32(2) * rate * slack * sign * weights[c, d]
