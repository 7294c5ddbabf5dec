"""Regions of a map: clusters inside clusters, named by the words that set them apart."""

import numpy as np
import pytest

from sanne.draw.regions import Levels, find_clusters, find_levels, find_regions, region_names

SUBJECTS = ("bread oven dough", "bees hive honey", "stars orbit comet", "ships harbour sail")
KINDS = ("old", "big", "wild")


def planted(size: int = 60) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Rows of four groups of three parts each, and texts with the words of both."""
    stream = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 3 * size)
    part = np.tile(np.repeat(np.arange(3), size), 4)
    rows = 4 * np.eye(8)[group] + np.eye(8)[4 + part] + 0.1 * stream.normal(size=(len(group), 8))
    words = [f"{SUBJECTS[g]} and {KINDS[p]}{g}" for g, p in zip(group.tolist(), part.tolist(), strict=True)]
    texts = [f"the text of a {some} things, {i}, https://example.org/{i}" for i, some in enumerate(words)]
    return rows, texts, group


def found(rows: np.ndarray) -> tuple[Levels, np.ndarray]:
    """Levels, and the points of a map on which groups lie in the corners and their parts side by side."""
    corners, beside = np.array([[0, 0], [0, 40], [40, 0], [40, 40]]), np.array([[0, 0], [0, 6], [6, 0]])
    points = corners[rows[:, :4].argmax(axis=1)] + beside[rows[:, 4:7].argmax(axis=1)] + 20 * rows[:, 7:] * [[1, 0.5]]
    return find_levels(find_clusters(rows, seed=0), points), points


def test_broad_regions_are_the_groups_and_bear_their_words() -> None:
    rows, texts, group = planted()
    levels, points = found(rows)
    names = region_names(levels, texts=texts, ids=np.arange(len(rows)), rows=rows)
    assert len(names[0][0]) == 4
    for cluster, name in names[0][0].items():
        (own,) = set(group[levels[:, 0] == cluster])
        assert set(name.split(" · ")) <= set(SUBJECTS[own].split())
        (region,) = [region for region in find_regions(points, levels, names) if region.name == name]
        assert group[np.linalg.norm(points - [region.x, region.y], axis=1).argmin()] == own


def test_finer_regions_lie_inside_broader_ones_and_have_words_of_their_own() -> None:
    rows, texts, _ = planted()
    levels, _ = found(rows)
    for finer, broader in ((2, 1), (1, 0)):
        parents = {(fine, broad) for fine, broad in levels[:, [finer, broader]].tolist()}
        assert len(parents) == len({fine for fine, _ in parents})
    names = region_names(levels, texts=texts, ids=np.arange(len(rows)), rows=rows)
    for fine, broad in set(map(tuple, levels[:, [1, 0]].tolist())):
        assert not set(names[1][0][fine].split(" · ")) & set(names[0][0][broad].split(" · "))
    fine_words = {word for name in names[1][0].values() for word in name.split(" · ")}
    assert {f"{kind}{group}" for kind in KINDS for group in range(4)} & fine_words


def test_names_are_whole_words_where_the_opening_of_a_text_ends_inside_one() -> None:
    rows, _, group = planted()
    subjects = ("breadmaking", "beekeeping", "stargazing", "shipbuilding")
    texts = [f"{'filler ' * (15 + i % 4)}{subjects[g]} {subjects[g]} more" for i, g in enumerate(group.tolist())]
    names = region_names(found(rows)[0], texts=texts, ids=np.arange(len(rows)), rows=rows)
    assert {word for name in names[0][0].values() for word in name.split(" · ")} <= set(subjects)


def test_words_that_all_texts_share_name_nothing() -> None:
    rows, texts, _ = planted()
    names = region_names(found(rows)[0], texts=texts, ids=np.arange(len(rows)), rows=rows)
    words = {word for level, _ in names for name in level.values() for word in name.split(" · ")}
    assert not words & {"the", "text", "of", "a", "and", "things", "https", "example", "org"}


def test_words_that_any_other_may_follow_name_nothing_though_regions_use_them_more() -> None:
    stream = np.random.default_rng(0)
    group, others = np.repeat(np.arange(4), 100), [f"thing{i}" for i in range(80)]
    glue = ("of", "with", "and", "for")  # each is the commonest word of one group
    texts = [
        f"{SUBJECTS[g].split()[i % 3] if i % 2 else stream.choice(others)} {glue[g]} {stream.choice(others)}, {i}"
        for i, g in enumerate(group.tolist())
    ]
    names = region_names(np.stack([group] * 3, axis=1), texts=texts, ids=group, rows=np.eye(4)[group])
    for g, name in names[0][0].items():
        assert set(name.split(" · ")) <= set(SUBJECTS[g].split())


def test_in_few_short_texts_a_frequent_word_with_ever_other_followers_names_nothing() -> None:
    stream = np.random.default_rng(0)
    group, others = np.repeat(np.arange(4), [150, 600, 600, 600]), [f"thing{i}" for i in range(20000)]
    words = [SUBJECTS[g].split()[0] for g in group.tolist()]
    texts = [f"{' '.join(stream.choice(others, 4))}, {word}" for word in words]
    texts[:90] = [f"{stream.choice(others)} using {stream.choice(others)}, {word}" for word in words[:90]]
    names = region_names(np.stack([group] * 3, axis=1), texts=texts, ids=group, rows=np.eye(4)[group])
    assert names[0][0][0] == "bread"  # and not "bread · using", though most of its texts, and no others, have it


def test_keywords_in_any_order_name_regions() -> None:
    stream = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 100)
    topics = [[f"{word}{letter}" for word in subject.split() for letter in "abcde"] for subject in SUBJECTS]
    texts = [" ".join(stream.permutation([*stream.choice(topics[g], 8), "of", "and"])) for g in group.tolist()]
    names = region_names(np.stack([group] * 3, axis=1), texts=texts, ids=group, rows=np.eye(4)[group])
    for g, name in names[0][0].items():
        assert name
        assert set(name.split(" · ")) <= set(topics[g])


def test_without_texts_the_commonest_label_names_a_region_and_without_labels_ids_in_its_middle() -> None:
    rows, _, group = planted()
    ids = np.array([f"node-{i}" for i in range(len(rows))], object)
    levels, _ = found(rows)
    labels = np.array(["bread", "bees", "stars", "ships"], object)[group]
    labels[::7] = None
    named = region_names(levels, labels=labels, ids=ids, rows=rows)
    assert set(named[0][0].values()) == {"bread", "bees", "stars", "ships"}
    by_id = region_names(levels, ids=ids, rows=rows)
    for cluster, name in by_id[0][0].items():
        assert set(name.split(", ")) <= set(ids[levels[:, 0] == cluster])


def test_a_region_is_where_most_nodes_are_that_its_name_fits() -> None:
    stream = np.random.default_rng(0)
    points = np.concatenate([np.zeros((30, 2)), np.full((10, 2), 100.0), np.full((5, 2), 50.0)]) + stream.random(
        (45, 2)
    )
    one, everyone = np.zeros((45, 1), np.int64), np.ones(45, bool)
    (region,) = find_regions(points, one, [({0: "all"}, everyone)])
    assert (region.x, region.y, region.size) == (pytest.approx(0.5, abs=0.5), pytest.approx(0.5, abs=0.5), 45)
    (region,) = find_regions(points, one, [({0: "some"}, np.arange(45) >= 30)])
    assert region.x == pytest.approx(100.5, abs=0.5)


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_few_nodes_have_few_regions(count: int) -> None:
    rows, texts, _ = planted()
    some = slice(None, None, len(rows) // count)
    levels, _ = found(rows[some])
    names = region_names(levels, texts=texts[some], ids=np.arange(len(levels)), rows=rows[some])
    assert levels.shape[1] == len(names) == 3
    assert len(set(levels[:, 0])) <= max(1, count // 10)
