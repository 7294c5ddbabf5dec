"""Nearest nodes by cosine."""

import numpy as np
import pytest

from sanne.errors import InputError
from sanne.vectors.search import most_similar

IDS = np.array(["east", "north", "north-east", "west", "nowhere"], object)
VECTORS = np.array([[5, 0], [0, 1], [2, 2], [-1, 0], [0, 0]], np.float32)


def test_the_nearest_come_first_whatever_their_length() -> None:
    found = most_similar(IDS, VECTORS, np.array([1, 0.1], np.float32), 3)
    assert [name for name, _ in found] == ["east", "north-east", "north"]
    assert found[1][1] == pytest.approx(1.1 / np.sqrt(2 * 1.01), abs=1e-5)
    assert all(type(score) is float for _, score in found)


def test_all_are_given_in_order_when_k_is_large() -> None:
    found = most_similar(IDS, VECTORS, VECTORS[0], 99)
    assert [name for name, _ in found] == ["east", "north-east", "north", "nowhere", "west"] or [
        name for name, _ in found
    ] == ["east", "north-east", "nowhere", "north", "west"]
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_the_node_itself_can_be_left_out() -> None:
    found = most_similar(IDS, VECTORS, VECTORS[0], 99, leave_out=0)
    assert len(found) == 4
    assert "east" not in dict(found)
    assert most_similar(IDS[:1], VECTORS[:1], VECTORS[0], 3, leave_out=0) == []


def test_it_agrees_with_brute_force() -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    query = vectors[17]
    cosine = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    expected = np.argsort(-cosine)[:25]
    found = most_similar(np.arange(300), vectors, query, 25)
    assert [node for node, _ in found] == expected.tolist()
    assert np.allclose([score for _, score in found], cosine[expected], atol=1e-6)
    assert all(type(node) is int for node, _ in found)  # plain numbers, ready for JSON


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1, not 0"):
        most_similar(IDS, VECTORS, VECTORS[0], 0)
    with pytest.raises(InputError, match="3 numbers, the vectors have 2"):
        most_similar(IDS, VECTORS, np.ones(3, np.float32), 1)
    with pytest.raises(InputError, match="not finite"):
        most_similar(IDS, VECTORS, np.array([np.inf, 1], np.float32), 1)


@pytest.mark.parametrize("query_size", [1e-30, 1.0, 1e37])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e37])
def test_cosines_do_not_depend_on_how_large_the_numbers_are(size: float, query_size: float) -> None:
    vectors = VECTORS * np.float32(size)
    found = most_similar(IDS, vectors, np.array([1, 0.1], np.float32) * np.float32(query_size), 5)
    assert [name for name, _ in found] == ["east", "north-east", "north", "nowhere", "west"]
    expected = most_similar(IDS, VECTORS, np.array([1, 0.1], np.float32), 5)
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=1e-6)


def test_a_query_beyond_single_precision_finds_its_neighbours() -> None:
    assert most_similar(IDS, VECTORS, np.array([1e300, 0.0]), 1) == [("east", pytest.approx(1.0))]
