"""The classifier equals scikit-learn's, does not mind the scale of vectors, and chooses C on validation."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from sanne.errors import InputError
from sanne.evaluate.logistic import fit_one_vs_rest, fit_softmax
from sanne.evaluate.multi_label import classify_multilabel, score_multilabel, top_labels
from sanne.evaluate.node_classification import (
    C_GRID,
    SplitScore,
    classify,
    predict_arrays,
    score_split,
)

Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def blobs(num: int = 600, dim: int = 32, classes: int = 5, noise: float = 1.3, seed: int = 0) -> Arrays:
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=num)
    centres = random.normal(size=(classes, dim))
    scales = np.exp(0.5 * random.normal(size=dim))  # far from round, as real vectors are
    vectors = (centres[labels] + noise * 3 * random.normal(size=(num, dim))) * scales + 2
    return vectors.astype(np.float32), labels


def exact(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8)


def ranges(*sizes: int) -> list[np.ndarray[Any, Any]]:
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]


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


def test_c_is_the_best_on_validation_and_test_is_read_at_it() -> None:
    vectors, labels = blobs()
    train, val, test = ranges(60, 240, 300)
    score = score_split(vectors, labels, train, val, test)
    scale = np.sqrt(((vectors[train] - vectors[train].mean(axis=0)) ** 2).sum(axis=1).mean())
    rows = vectors.astype(float) / scale
    models = [exact(C).fit(rows[train], labels[train]) for C in C_GRID]
    vals = [100 * model.score(rows[val], labels[val]) for model in models]
    best = int(np.argmax(vals))
    assert 0 < best < len(C_GRID) - 1
    assert C_GRID[best] == score.C
    assert score.val == pytest.approx(vals[best])
    assert score.test == pytest.approx(100 * models[best].score(rows[test], labels[test]))


def test_ties_take_the_smaller_c_whatever_the_order_of_the_grid() -> None:
    vectors = np.array([[0.0, 1], [1, 0]] * 20)
    labels = np.array([0, 1] * 20)
    score = score_split(vectors, labels, *ranges(20, 10, 10), Cs=[4.0, 0.5, 2.0])
    assert score == SplitScore(val=100.0, test=100.0, C=0.5)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_scale_and_offset_of_the_vectors_change_nothing(factor: float) -> None:
    vectors, labels = blobs()
    split = ranges(60, 240, 300)
    moved = vectors.astype(np.float64) * factor + 3 * factor
    assert score_split(moved, labels, *split) == score_split(vectors, labels, *split)


def test_test_vectors_may_come_from_another_array_and_labels_may_be_text() -> None:
    vectors, labels = blobs(noise=0.3)
    names = np.array(["a", "b", "c", "d", "e"])[labels]
    train, val, test = ranges(60, 240, 300)
    known = (vectors[train], names[train], vectors[val], names[val])
    same = predict_arrays(*known, vectors[test], names[test]).score
    assert same == score_split(vectors, labels, train, val, test)
    wrong = predict_arrays(*known, np.zeros_like(vectors[test]), names[test]).score
    assert wrong.val == same.val
    assert wrong.test < same.test - 20


def test_class_without_training_nodes_counts_as_wrong() -> None:
    vectors = np.array([[0.0, 1], [1, 0]] * 20)
    labels = np.array([0, 1] * 20)
    labels[30:35] = 7
    assert score_split(vectors, labels, *ranges(20, 10, 10)).test == 50.0


def test_classify_summarises_over_splits() -> None:
    vectors, labels = blobs()
    splits = [ranges(60, 240, 300), ranges(300, 240, 60)]
    result = classify(vectors, labels, [(a, b, c) for a, b, c in splits])
    tests = [split.test for split in result.splits]
    assert result.mean == pytest.approx(sum(tests) / 2)
    assert result.std == pytest.approx(abs(tests[0] - tests[1]) / 2)


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


def test_multilabel_splits_are_seeded_and_leave_unlabelled_nodes_out() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(200, 8))
    marks = top_labels(vectors @ random.normal(size=(8, 5)), random.integers(1, 3, size=200))
    marks[150:] = False
    vectors[150:] *= 1e6  # would spoil the scale if they took part
    runs = [classify_multilabel(vectors, marks, train_fraction=0.5, num_splits=3, seed=seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    assert len({score.micro_f1 for score in runs[0]}) > 1
    assert min(score.micro_f1 for score in runs[0]) > 70


def test_top_labels_takes_the_known_number() -> None:
    scores = np.array([[0.1, 0.9, 0.5], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    expected = [[False, True, True], [True, False, False], [False, False, False]]
    assert top_labels(scores, np.array([2, 1, 0])).tolist() == expected


def test_bad_input_is_named() -> None:
    vectors, labels = blobs(100, 4)
    split = ranges(40, 30, 30)
    spoiled = vectors.copy()
    spoiled[75, 2] = np.nan
    for bad_vectors, bad_labels, bad_split, text in (
        (spoiled, labels, split, "test: vector 5 holds NaN"),
        (vectors[:50], labels, split, "50 vectors but 100 labels"),
        (vectors, labels, [split[0], split[1], np.array([100])], r"test nodes must be indices in 0\.\.99"),
        (vectors, labels, [split[0], [], split[2]], "no val nodes"),
        (vectors, np.zeros(100), split, "two classes"),
    ):
        with pytest.raises(InputError, match=text):
            score_split(bad_vectors, bad_labels, *bad_split)
    with pytest.raises(InputError, match="positive"):
        score_split(vectors, labels, *split, Cs=[0.0])
    with pytest.raises(InputError, match="at least one"):
        classify(vectors, labels, [])
    with pytest.raises(InputError, match="train_fraction"):
        classify_multilabel(vectors, np.eye(5)[labels], train_fraction=1.0)
