"""Nearest vectors: exact in memory, and through an index that is never asked about what it does not know."""

from pathlib import Path

import numpy as np
import pytest

from sanne.serve.store.index import SearchIndex, find_or_build
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
    (found,) = vectors.search(rows[[8]], 10, alive, leave_out=8)
    scores[8] = -2
    assert [node for node, _ in found] == np.argsort(-scores)[:10].tolist()
    assert found[0] == (7, pytest.approx(1.0, abs=1e-5))
    assert vectors.get(7)[1] == 0.5
    assert len(vectors.search(rows[[8]], 1000, alive)[0]) == 298


def test_an_index_finds_nearly_all_and_what_changed_is_compared_one_by_one(tmp_path: Path) -> None:
    rows = some(3000, 1)
    vectors = LiveVectors(rows.copy(), np.zeros(3000, np.float32))
    vectors.index = find_or_build(tmp_path, rows)
    assert vectors.index is not None
    now = np.concatenate([rows, some(50, 2)])
    alive = np.ones(len(now), bool)
    alive[::7] = False

    def change(vectors: LiveVectors) -> None:
        vectors.add(now[3000:], np.zeros(50, np.float32))
        for node in range(40):  # these are replaced by vectors from elsewhere
            now[node] = now[2999 - node]
            vectors.put(node, now[node], 0.0)

    change(vectors)
    check_nearly_exact(vectors, now, alive)
    again = LiveVectors(rows.copy(), np.zeros(3000, np.float32))  # a restart: the index on disk, then what is newer
    change(again)
    again.index = find_or_build(tmp_path, np.empty((0, DIM), np.float32))  # none has to be made
    check_nearly_exact(again, now, alive)


def test_an_index_that_was_not_completed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some(3000, 1)
    vectors = LiveVectors(rows.copy(), np.zeros(3000, np.float32))

    def breaks_off(*arguments: object, **named: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr("lancedb.table.LanceTable.create_index", breaks_off)
        vectors.index = find_or_build(tmp_path, rows)
    assert vectors.index is None
    assert SearchIndex.open(tmp_path) is None
    vectors.index = find_or_build(tmp_path, rows)
    assert vectors.index is not None
    check_nearly_exact(vectors, rows, np.ones(3000, bool))


def check_nearly_exact(vectors: LiveVectors, rows: np.ndarray, alive: np.ndarray) -> None:  # type: ignore[type-arg]
    hits = 0
    for query in range(0, 3000, 60):
        scores = cosines(rows, rows[query])
        scores[~alive] = -2
        (found,) = vectors.search(rows[[query]], 10, alive)
        best = set(np.argsort(-scores)[:10].tolist())
        hits += len(best & {node for node, _ in found})
        assert len(found) == 10
        assert all(alive[node] for node, _ in found)
        for node, score in found:
            assert score == pytest.approx(scores[node], abs=1e-5)
    assert hits >= 0.97 * 500
