"""Rows have length one after scaling, whatever their numbers were."""

from typing import Any

import numpy as np
import pytest

from sanne.vectors.normalise import unit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-30, 1e-6, 1.0, 1e6, 1e30])
def test_rows_get_length_one_in_their_own_precision(dtype: Any, size: float) -> None:
    rows = (np.array([[3, -4], [0, 0], [1, 0]]) * size).astype(dtype)
    scaled = unit(rows)
    assert scaled.dtype == dtype
    np.testing.assert_allclose(scaled, [[0.6, -0.8], [0, 0], [1, 0]], atol=1e-6)
    np.testing.assert_allclose(unit(rows[0]), [0.6, -0.8], atol=1e-6)


def test_usual_rows_are_divided_by_their_length_and_others_do_not_change_that() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_array_equal(unit(rows), expected)
    mixed = np.vstack([rows, np.full((1, 7), 1e30, np.float32)])
    np.testing.assert_array_equal(unit(mixed)[:-1], expected)
