"""The classifier does not mind the scale of vectors, and chooses C on validation."""

from typing import Any

import numpy as np
import pytest

from blobs import blobs, exact, ranges
from sanne.evaluate.logistic import C_GRID
from sanne.evaluate.node_classification import SplitScore, classify_split


def score_split(*given: Any) -> SplitScore:
    return classify_split(*given)[0]


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


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_scale_and_offset_of_the_vectors_change_nothing(factor: float) -> None:
    vectors, labels = blobs()
    split = ranges(60, 240, 300)
    moved = vectors.astype(np.float64) * factor + 3 * factor
    assert score_split(moved, labels, *split) == score_split(vectors, labels, *split)


def test_class_without_training_nodes_counts_as_wrong() -> None:
    vectors = np.array([[0.0, 1], [1, 0]] * 20)
    labels = np.array([0, 1] * 20)
    labels[30:35] = 7
    assert score_split(vectors, labels, *ranges(20, 10, 10)).test == 50.0


def test_ties_take_the_smaller_c() -> None:
    vectors = np.array([[0.0, 1], [1, 0]] * 20)
    labels = np.array(["x", "y"] * 20)
    assert score_split(vectors, labels, *ranges(20, 10, 10)) == SplitScore(val=100.0, test=100.0, C=C_GRID[0])
