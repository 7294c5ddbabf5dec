"""Clusters of directions against planted ones, and how decided vectors are between them."""

from typing import Any

import numpy as np
import pytest

from sanne.model.clusters import doubt, spherical_kmeans
from sanne.vectors.normalise import unit


def planted_rows(count: int = 4, each: int = 50) -> tuple[Any, Any]:
    stream = np.random.default_rng(0)
    labels = np.repeat(np.arange(count), each)
    return unit((np.eye(count, 8)[labels] + 0.1 * stream.normal(size=(len(labels), 8))).astype(np.float32)), labels


@pytest.mark.parametrize("seed", range(5))
def test_kmeans_finds_planted_clusters(seed: int) -> None:
    rows, labels = planted_rows()
    centres = spherical_kmeans(rows, 4, np.random.default_rng(seed))
    assert np.allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)
    assigned = np.argmax(rows @ centres.T, axis=1)
    groups = {frozenset(np.flatnonzero(assigned == c).tolist()) for c in range(4)}
    assert groups == {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(4)}


def test_fewer_rows_than_centres_and_rows_of_zeros_still_give_centres() -> None:
    for rows in (np.eye(2, 3, dtype=np.float32), np.zeros((4, 3), np.float32)):
        centres = spherical_kmeans(rows, 5, np.random.default_rng(0))
        assert centres.shape == (5, 3)
        assert np.isfinite(centres).all()


def test_doubt_is_what_the_largest_share_leaves() -> None:
    centres = np.eye(4, dtype=np.float32)
    at_one, between_two, nowhere = np.eye(4)[0], np.array([1, 1, 0, 0]), np.zeros(4)
    found = doubt(np.array([at_one, 100 * at_one, between_two, nowhere], np.float32), [centres])
    share = np.exp(5) / (np.exp(5) + 3)
    half = np.exp(5 / 2**0.5)
    assert found.tolist() == pytest.approx([1 - share, 1 - share, 1 - half / (2 * half + 2), 0.75], abs=1e-5)
    both = doubt(np.array([between_two], np.float32), [centres, unit(np.array([[1, 1, 0, 0]], np.float32))])
    assert both.tolist() == pytest.approx([found[2] / 2], abs=1e-5)  # the mean over clusterings; one has no doubt


def test_a_short_vector_is_near_the_mean_and_so_undecided() -> None:
    centres = np.eye(4, dtype=np.float32)
    rows = np.outer([0.1, 0.5, 1, 3], np.eye(4)[0]).astype(np.float32)
    found = doubt(rows, [centres], shortest=1.0).tolist()
    assert 0.75 > found[0] > found[1] > found[2] == pytest.approx(found[3], abs=1e-6)
