"""Leading singular vectors against numpy's."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.features.svd import components, definite_signs
from sanne.graph import sparse


def decaying(rows: int, columns: int, seed: int = 0) -> Any:
    """A matrix whose singular values fall by a fifth from one to the next."""
    stream = np.random.default_rng(seed)
    rank = min(rows, columns)
    left, _ = np.linalg.qr(stream.normal(size=(rows, rank)))
    right, _ = np.linalg.qr(stream.normal(size=(columns, rank)))
    return (left * 0.8 ** np.arange(rank) @ right.T).astype(np.float32)


@pytest.mark.parametrize("shape", [(200, 60), (60, 200), (50, 50), (9, 4)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_they_are_numpys_up_to_signs(shape: tuple[int, int], form: Any) -> None:
    matrix = decaying(*shape)
    width = min(6, *shape)
    found = components(form(matrix), width, np.random.default_rng(1))
    expected = np.linalg.svd(matrix, full_matrices=False)[2][:width].T
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, definite_signs(expected.astype(np.float32)), atol=1e-3)


def sparse_noise(rows: int, columns: int, share: float) -> Any:
    """Singular values that lie close together."""
    stream = np.random.default_rng(0)
    filled = stream.random((rows, columns)) < share
    return sp.csr_matrix(np.where(filled, stream.random((rows, columns)), 0).astype(np.float32))


def test_they_are_orthonormal_and_explain_as_much_as_any_could() -> None:
    matrix = sparse_noise(300, 120, 0.05)
    found = components(matrix, 20, np.random.default_rng(1))
    np.testing.assert_allclose(found.T @ found, np.eye(20), atol=1e-4)
    best = np.linalg.svd(matrix.toarray(), compute_uv=False)[:20]
    assert np.square(matrix @ found).sum() > 0.99 * np.square(best).sum()


def test_there_are_no_more_than_the_rank() -> None:
    matrix = np.outer(np.arange(1, 20), np.arange(1, 9)).astype(np.float32)
    found = components(matrix, 5, np.random.default_rng(0))
    assert found.shape == (8, 1)
    np.testing.assert_allclose(found[:, 0], np.arange(1, 9) / np.linalg.norm(np.arange(1, 9)), atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_matrix_of_zeros_has_one_of_zeros(form: Any) -> None:
    found = components(form(np.zeros((20, 8), np.float32)), 5, np.random.default_rng(0))
    np.testing.assert_array_equal(found, np.zeros((8, 1)))


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_the_unit_does_not_matter(factor: float) -> None:
    matrix = decaying(60, 30)
    found = [components(np.float32(by) * matrix, 5, np.random.default_rng(1)) for by in (1, factor)]
    np.testing.assert_allclose(found[1], found[0], atol=1e-3)


def test_the_largest_entry_is_positive() -> None:
    axes = np.array([[1, -3], [-2, 1]], np.float32)
    assert definite_signs(axes).tolist() == [[-1, 3], [2, -1]]


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = sparse_noise(1500, 900, 0.02)
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(sparse, "available_cores", lambda cores=cores: cores)
        found.append(components(matrix, 8, np.random.default_rng(1)))
    np.testing.assert_array_equal(*found)
