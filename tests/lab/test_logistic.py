"""The fast solver equals scikit-learn's, and so do scores of several labels a node."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

from blobs import blobs, exact, ranges
from sanne.evaluate import node_classification as product
from sanne_lab.evaluate.logistic import fit_one_vs_rest, fit_softmax
from sanne_lab.evaluate.multi_label import score_multilabel, top_labels
from sanne_lab.evaluate.node_classification import score_split


@pytest.mark.parametrize("dim", [12, 60])  # more rows than columns, and fewer
def test_softmax_equals_scikit_learn(dim: int) -> None:
    vectors, labels = blobs(40, dim)
    Cs = [0.01, 0.3, 4.0, 1.0, 2.0, 10.0]
    solutions = fit_softmax(vectors, labels, 5, Cs)
    for i, C in enumerate(Cs):
        reference = exact(C).fit(vectors.astype(float), labels)
        size = np.abs(reference.coef_).max()
        np.testing.assert_allclose(solutions.weights[i].T, reference.coef_, atol=2e-3 * size)
        expected = reference.predict_proba(vectors)
        scores = solutions.scores(vectors)[i]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), expected, atol=1e-3)


def test_one_vs_rest_equals_scikit_learn() -> None:
    vectors, labels = blobs(150, 12, 4)
    marks = np.eye(4)[labels] + np.eye(4)[(labels * 3) % 4] > 0
    solutions = fit_one_vs_rest(vectors, marks, [0.5])
    for j in range(4):
        reference = exact(0.5).fit(vectors.astype(float), marks[:, j])
        np.testing.assert_allclose(solutions.weights[0, :, j], reference.coef_[0], atol=2e-3)
        np.testing.assert_allclose(solutions.intercepts[0, j], reference.intercept_[0], atol=2e-2)


def test_multilabel_scores_equal_scikit_learn_f1() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(400, 10))
    scores = vectors @ random.normal(size=(10, 6)) + random.normal(size=(400, 6))
    marks = top_labels(scores, random.integers(1, 4, size=400))
    train, test = ranges(300, 100)
    result = score_multilabel(vectors, sp.csr_matrix(marks), train, test, Cs=[1.0])
    rows = vectors / np.sqrt(((vectors[train] - vectors[train].mean(axis=0)) ** 2).sum(axis=1).mean())
    columns = [exact(1.0).fit(rows[train], marks[train, j]) for j in range(6)]
    predicted = top_labels(
        np.column_stack([model.decision_function(rows[test]) for model in columns]), marks[test].sum(axis=1)
    )
    assert result.micro_f1 == pytest.approx(100 * f1_score(marks[test], predicted, average="micro"))
    assert result.macro_f1 == pytest.approx(100 * f1_score(marks[test], predicted, average="macro"))
    assert result.micro_f1 > 70


def test_top_labels_takes_the_known_number() -> None:
    scores = np.array([[0.1, 0.9, 0.5], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    expected = [[False, True, True], [True, False, False], [False, False, False]]
    assert top_labels(scores, np.array([2, 1, 0])).tolist() == expected


def test_a_split_scores_the_same_with_either_solver() -> None:
    vectors, labels = blobs()
    split = ranges(60, 240, 300)
    fast, plain = score_split(vectors, labels, *split), product.classify_split(vectors, labels, *split)[0]
    assert fast.C == plain.C
    assert (fast.val, fast.test) == pytest.approx((plain.val, plain.test), abs=0.5)
