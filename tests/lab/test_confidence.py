"""Whether a number tells which answers are wrong, against figures worked out by hand."""

import numpy as np
import pytest

from sanne.errors import InputError
from sanne_lab.experiments.confidence import accuracy_by_count, accuracy_by_quarter, error_auc


def test_accuracy_by_count_puts_the_last_step_and_more_together() -> None:
    correct = [1, 0, 1, 1, 0, 1]
    known = [0, 0, 1, 3, 4, 9]
    assert accuracy_by_count(correct, known) == [50.0, 100.0, None, pytest.approx(200 / 3)]


def test_quarters_go_from_the_smallest_to_the_largest() -> None:
    values = [8, 7, 6, 5, 4, 3, 2, 1]
    correct = [0, 0, 0, 1, 1, 1, 1, 1]
    assert accuracy_by_quarter(correct, values) == [100.0, 100.0, 50.0, 0.0]


def test_equal_values_share_their_accuracy_whatever_their_order() -> None:
    # Four zeros of which one is right: 25 % wherever the cut falls. Then 1 (right), 2, 3, 4 (wrong).
    values = np.array([0, 0, 0, 0, 1, 2, 3, 4])
    correct = np.array([1, 0, 0, 0, 1, 0, 0, 0])
    expected = [25.0, 25.0, 50.0, 0.0]
    assert accuracy_by_quarter(correct, values) == expected
    order = [3, 2, 1, 0, 4, 5, 6, 7]
    assert accuracy_by_quarter(correct[order], values[order]) == expected


def test_auc_counts_pairs_in_the_right_order() -> None:
    # Wrong: 0.9 and 0.3; right: 0.1, 0.3, 0.5. Of six pairs 0.9 wins three; 0.3 wins one and ties one: 4.5 / 6.
    assert error_auc([False, False, True, True, True], [0.9, 0.3, 0.1, 0.3, 0.5]) == pytest.approx(4.5 / 6)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(InputError, match="all answers are right"):
        error_auc([True, True], [0.1, 0.2])
    with pytest.raises(InputError, match="one value an answer"):
        accuracy_by_quarter([True] * 4, [0.1, 0.2])
    with pytest.raises(InputError, match="cannot be cut in four"):
        accuracy_by_quarter([True] * 3, [1, 2, 3])
    with pytest.raises(InputError, match="not finite"):
        error_auc([True, False], [np.nan, 0.2])
    with pytest.raises(InputError, match="one count an answer"):
        accuracy_by_count([True], [1, 2])
