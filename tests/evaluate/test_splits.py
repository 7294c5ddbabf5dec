"""Seeded splits: never a node twice, never one without label."""

import numpy as np
import pytest

from sanne.errors import InputError
from sanne.evaluate.splits import seeded_splits


def test_a_small_graph_shares_what_is_left_in_proportion() -> None:
    labels = np.array([0] * 30 + [1] * 10 + [-1] * 5)
    splits = seeded_splits(labels, seed=0, per_class=8, validation=100, test=300)
    # class 0 gives 8, class 1 at most half of its 10; 27 labelled nodes are left
    assert splits.train.shape == (10, 13)
    assert splits.val.shape == (10, 6)
    assert splits.test.shape == (10, 21)
    drawn = np.concatenate([splits.train, splits.val, splits.test], axis=1)
    assert all(sorted(row) == list(range(40)) for row in drawn.tolist())


def test_labels_that_cannot_be_split() -> None:
    with pytest.raises(InputError, match="1 classes among the labels"):
        seeded_splits(np.zeros(5, int), seed=0)
