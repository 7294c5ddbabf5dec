"""The classifier of experiments does not mind the scale of vectors, and chooses C on validation."""

import numpy as np
import pytest

from blobs import blobs, exact, ranges
from sanne.errors import InputError
from sanne_lab.evaluate.node_classification import (
    C_GRID,
    SplitScore,
    predict_arrays,
    score_split,
)


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
