"""Nearest vectors, of the base and of added nodes."""

import numpy as np
import pytest

from sanne.serve.store.vectors import LiveVectors

DIM = 16


def some(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    stream = np.random.default_rng(seed)
    centres = stream.normal(size=(20, DIM))
    rows = centres[stream.integers(0, 20, count)] + 0.5 * stream.normal(size=(count, DIM))
    return rows.astype(np.float32)


def cosines(rows: np.ndarray, query: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)


def test_exact_search_over_base_and_added_rows() -> None:
    rows = some(300, 0)
    vectors = LiveVectors(rows[:200].copy(), np.zeros(200, np.float32))
    vectors.add(rows[200:], np.zeros(100, np.float32))
    alive = np.ones(300, bool)
    alive[[5, 250]] = False
    vectors.put(7, rows[8], 0.5)
    expected = rows.copy()
    expected[7] = rows[8]
    scores = cosines(expected, rows[8])
    scores[~alive] = -2
    (found,) = vectors.search(rows[[8]], 10, alive)
    assert sorted(found[:2]) == [(7, pytest.approx(1.0, abs=1e-5)), (8, pytest.approx(1.0, abs=1e-5))]
    assert [node for node, _ in found[2:]] == np.argsort(-scores)[2:10].tolist()
    assert vectors.get(7)[1] == 0.5
    assert len(vectors.search(rows[[8]], 1000, alive)[0]) == 298


def test_many_queries_are_compared_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some(300, 1)
    vectors, alive = LiveVectors(rows.copy(), np.zeros(300, np.float32)), np.ones(300, bool)
    at_once = vectors.search(rows[:20], 5, alive)
    monkeypatch.setattr("sanne.serve.store.vectors._SCORES_AT_ONCE", 1000)  # three of them
    for whole, part in zip(at_once, vectors.search(rows[:20], 5, alive), strict=True):
        assert [node for node, _ in whole] == [node for node, _ in part]
