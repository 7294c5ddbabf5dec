"""The map: groups stay together, newcomers fall among their like, and what was laid out is kept."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sanne.draw.reduce import between
from sanne.serve.explorer import map as maps
from sanne.serve.explorer.map import NodeMap

GROUPS, SIZE, DIM = 3, 30, 16
LABELS = np.repeat(np.arange(GROUPS), SIZE)
COLUMNS = {"label": LABELS}


def planted(seed: int = 0, size: int = SIZE) -> Any:
    """Vectors of groups that lie apart."""
    stream = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(GROUPS, DIM))
    noise = 0.25 * stream.normal(size=(GROUPS * size, DIM))
    return (np.repeat(centres, size, axis=0) + noise).astype(np.float32)


def laid_out(folder: Path, vectors: Any, columns: Any = None) -> NodeMap:
    node_map = NodeMap(folder, vectors, columns)
    node_map.start()
    wait_for(node_map)
    return node_map


def wait_for(node_map: NodeMap) -> None:
    deadline = time.monotonic() + 120
    while node_map.progress is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def groups_of(points: Any, around: Any, groups: Any) -> Any:
    """The group of the point of the map that is nearest to each point."""
    square = ((np.asarray(points)[:, None] - around[None]) ** 2).sum(axis=2)
    return groups[square.argmin(axis=1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("map")


@pytest.fixture(scope="module")
def node_map(folder: Path) -> NodeMap:
    return laid_out(folder, planted(), COLUMNS)


def test_a_plain_map_is_there_at_once_and_a_better_one_follows(tmp_path: Path, node_map: NodeMap) -> None:
    first = NodeMap(tmp_path, planted(), COLUMNS)
    assert first.layout.kind == "pca"
    assert node_map.layout.kind == "tsne"
    assert first.layout.version != node_map.layout.version
    assert sorted(node_map.rows) == list(range(GROUPS * SIZE))


def test_groups_stay_together(node_map: NodeMap) -> None:
    layout = node_map.layout
    own = LABELS[node_map.rows]
    square = ((layout.points[:, None] - layout.points[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    assert (own[square.argmin(axis=1)] == own).mean() > 0.95


def test_it_is_kept_and_used_again_but_not_for_other_vectors(folder: Path, node_map: NodeMap) -> None:
    again = NodeMap(folder, planted(), COLUMNS)
    again.start()
    assert again.progress is None
    assert again.layout.version == node_map.layout.version
    other = NodeMap(folder, planted(seed=1), COLUMNS)
    assert other._read_kept() is None


@pytest.mark.parametrize("damage", ["points.npy", "map.json"])
def test_a_damaged_map_is_not_used(tmp_path: Path, folder: Path, node_map: NodeMap, damage: str) -> None:
    copy = tmp_path / "map"
    copy.mkdir()
    for file in (folder / "map").iterdir():
        content = file.read_bytes()
        (copy / file.name).write_bytes(content[: len(content) // 2] if file.name == damage else content)
    assert NodeMap(tmp_path, planted(), COLUMNS)._read_kept() is None
    (copy / damage).unlink()
    assert NodeMap(tmp_path, planted(), COLUMNS)._read_kept() is None


def test_newcomers_fall_among_their_like_and_move_nobody(node_map: NodeMap) -> None:
    before = node_map.layout.points.copy()
    vectors = planted(seed=3, size=5)
    points, nearest = node_map.place(vectors)
    expected = np.repeat(np.arange(GROUPS), 5)
    found = groups_of(points, node_map.layout.points, LABELS[node_map.rows])
    assert (found == expected).mean() > 0.9
    assert (LABELS[node_map.rows[nearest]] == expected).all()
    np.testing.assert_array_equal(node_map.layout.points, before)


def test_a_newcomer_alone_stands_where_it_stands_among_others(node_map: NodeMap) -> None:
    vectors = planted(seed=4, size=3)
    together, _ = node_map.place(vectors)
    alone = np.concatenate([node_map.place(vectors[[i]])[0] for i in range(len(vectors))])
    np.testing.assert_allclose(alone, together, atol=1e-3)


def test_regions_are_named_by_words_that_set_them_apart(tmp_path: Path) -> None:
    subjects = ("graph walks", "protein cells", "market prices")
    texts = [f"about {subjects[label]} and more {row}" for row, label in enumerate(LABELS)]
    node_map = NodeMap(tmp_path, planted(), texts=texts)
    broad = [region for region in node_map.layout.regions if region.level == 0]
    assert sorted(" ".join(sorted(region.name.split(" · "))) for region in broad) == [
        "cells protein", "graph walks", "market prices",
    ]  # fmt: skip
    (community,) = node_map.layout.colourings
    assert sorted(community.classes) == sorted(region.name for region in broad)
    for code in range(GROUPS):  # none holds nodes of two groups
        assert len(set(LABELS[node_map.rows[community.codes == code]])) == 1


def test_of_many_nodes_a_sample_is_drawn_and_of_it_a_part_is_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "DRAWN_AT_MOST", 80)
    monkeypatch.setattr(maps, "FITTED_AT_MOST", 60)
    monkeypatch.setattr("sanne.draw.reduce.FITTED_AT_MOST", 60)
    node_map = laid_out(tmp_path, planted(), COLUMNS)
    layout = node_map.layout
    assert len(node_map.rows) == len(set(node_map.rows)) == 80
    assert node_map.total == 90
    assert layout.kind == "tsne"
    found = groups_of(layout.points[60:], layout.points[:60], LABELS[node_map.rows[:60]])
    assert (found == LABELS[node_map.rows[60:]]).mean() > 0.9


def test_nodes_are_in_random_order(node_map: NodeMap, folder: Path) -> None:
    rows = node_map.rows
    assert np.array_equal(rows, NodeMap(folder, planted(), COLUMNS).rows)
    assert {group: (LABELS[rows[:30]] == group).any() for group in range(GROUPS)} == dict.fromkeys(range(GROUPS), True)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_few_nodes_and_nodes_that_are_all_alike_have_a_map(tmp_path: Path, count: int) -> None:
    for vectors in (np.ones((count, 4), np.float32), planted()[:count], np.zeros((count, 1), np.float32)):
        node_map = laid_out(tmp_path, vectors)
        assert np.isfinite(node_map.layout.points).all()
        points, _ = node_map.place(vectors[:1])
        assert np.isfinite(points).all()


def test_a_layout_of_many_is_a_process_and_ends_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "_OWN_PROCESS", 0)
    node_map = NodeMap(tmp_path, planted())
    node_map.start()
    while node_map._process is None:
        time.sleep(0.01)
    node_map.close()
    node_map._process.join(30)
    assert node_map._process.exitcode not in (None, 0)
    wait_for(node_map)
    assert not (tmp_path / "map").exists()
    assert node_map.layout.kind == "pca"


def test_without_opentsne_the_plain_map_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openTSNE", None)
    node_map = laid_out(tmp_path, planted())
    assert node_map.layout.kind == "pca"
    assert "sanne[plot]" in caplog.text
    points, _ = node_map.place(planted()[:2])
    np.testing.assert_allclose(points[0], node_map.layout.points[node_map.rows == 0][0], atol=0.3)


def test_a_process_lays_out_what_a_thread_does(
    tmp_path: Path, node_map: NodeMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "_OWN_PROCESS", 0)
    other = laid_out(tmp_path, planted(), COLUMNS)
    assert other.layout.version == node_map.layout.version
    assert (tmp_path / "map" / "points.npy").is_file()


def test_between_is_where_the_nearest_are() -> None:
    reference = np.array([[0, 0], [10, 0], [0, 10]], np.float32)
    points = np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    np.testing.assert_allclose(between(reference, points, reference), points, atol=0.9)
