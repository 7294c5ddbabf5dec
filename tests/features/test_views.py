"""Views of a node: halves that share no column, the same maps for newcomers, saved and restored."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from planted import document_graph, planted_graph
from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features import words
from sanne.features.choose import restore_features
from sanne.features.views import Views
from sanne.graph.graph import Graph

SMALL = FeatureConfig(feature_dim=16, hidden_splits=2, half_dim=5, link_dim=6, fine_dim=0)
PLANTED = planted_graph(3, 30)
DOCUMENTS = document_graph()
COUNTS = replace(DOCUMENTS, texts=None, features=words.count_words(np.asarray(DOCUMENTS.texts), 1000)[1])
GRAPHS = {
    "text": DOCUMENTS,
    "counts": COUNTS,
    "numbers": PLANTED,
    "nothing": replace(PLANTED, features=None),
}
every_kind = pytest.mark.parametrize("kind", sorted(GRAPHS))


def views_of(rows: Any, views: Views) -> list[Any]:
    """All views of the rows; halves of numbers are no columns of their own."""
    parts = np.split(rows, np.cumsum(views.widths)[:-1], axis=1)
    return [parts[0], *(parts[0] @ basis for basis in views.bases), *parts[1:]] if views.linear else parts


@every_kind
def test_the_views_stand_side_by_side(kind: str) -> None:
    graph = GRAPHS[kind]
    views, rows = Views.fit_transform(graph, SMALL, 0)
    assert rows.shape == (90, views.width)
    assert rows.dtype == np.float32
    parts = views_of(rows, views)
    assert [part.shape[1] for part in parts[1:]] == [5, 5, 5, 5, 6]
    np.testing.assert_allclose(parts[0], views.base.transform(graph), atol=1e-6)
    assert views.reads == {"text": "text", "counts": "counts", "numbers": "numbers", "nothing": "nothing"}[kind]
    if views.directional:
        for part in parts[:5]:
            lengths = np.linalg.norm(part, axis=1)
            np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-5)  # a half may have no word of a node
            assert (lengths > 0).mean() > 0.9
    if views.links is not None:
        np.testing.assert_array_equal(parts[5], views.links.transform(graph, None))
    np.testing.assert_allclose(Views.fit(graph, SMALL, 0).transform(graph), rows, atol=1e-6)


def test_halves_share_no_column() -> None:
    """Whatever is done to the columns of one half, the other half's view stays as it was."""
    views, rows = Views.fit_transform(PLANTED, SMALL, 0)
    before = views_of(rows, views)
    arrays = views.state()[1]
    for number in (0, 1):
        sides = arrays[f"split{number}/sides"]
        assert sorted(sides.tolist()) == [0] * 6 + [1] * 6
        for side in (0, 1):
            changed = np.array(PLANTED.features)
            changed[:, sides == side] += np.random.default_rng(1).normal(size=(90, 6))
            after = views_of(views.transform(replace(PLANTED, features=changed.astype(np.float32))), views)
            own, other = 1 + 2 * number + side, 2 + 2 * number - side
            assert np.abs(after[own] - before[own]).max() > 0.1
            np.testing.assert_array_equal(after[other], before[other])
    assert not np.array_equal(arrays["split0/sides"], arrays["split1/sides"])


def test_words_of_one_half_do_not_reach_the_other() -> None:
    graph = DOCUMENTS
    views, _ = Views.fit_transform(graph, SMALL, 0)
    description, arrays = views.state()
    words, sides = description["state"]["vocabulary"], arrays["split0/sides"]
    halves = [[word for word, side in zip(words, sides, strict=True) if side == which] for which in (0, 1)]
    only_first = replace(graph, texts=np.array([" ".join(halves[0])] * 90, object))
    parts = views_of(views.transform(only_first), views)
    assert parts[1].any()
    assert not parts[2].any()


def test_a_seed_gives_the_same_split_and_another_seed_another() -> None:
    found = [Views.fit(PLANTED, SMALL, seed).state()[1]["split0/sides"] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@every_kind
def test_a_newcomer_goes_through_the_same_maps(kind: str) -> None:
    """Nodes fitted on and nodes not: the rows of some nodes are those that they have among all."""
    graph = GRAPHS[kind]
    views = Views.fit(graph.subgraph(np.arange(60)), SMALL, 0)
    rows = views.transform(graph)
    assert np.isfinite(rows).all()
    assert rows[60:].any(axis=1).mean() > 0.3
    chosen = np.array([88, 2, 61, 2])
    np.testing.assert_allclose(views.transform(graph, chosen), rows[chosen], atol=1e-5)


def test_a_newcomer_without_known_words_has_zeros_and_one_without_links_too() -> None:
    graph = DOCUMENTS
    views = Views.fit(graph, SMALL, 0)
    ids = ["stranger", "p0"]
    strangers = Graph.from_edges([0], [1], node_ids=ids, texts=np.array(["nothing known", "topic0x1 common3"], object))
    first, second = (views_of(row[None], views) for row in views.transform(strangers))
    assert not any(part.any() for part in first[:5])
    assert first[5].any()  # it links to p0
    assert second[0].any()
    assert not second[5].any()  # its only link is to the stranger


def test_texts_are_split_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = DOCUMENTS
    calls: list[str] = []
    real = words.words
    monkeypatch.setattr(words, "words", lambda document: calls.append(document) or real(document))
    views, _ = Views.fit_transform(graph, SMALL, 0)
    assert len(calls) == 90
    calls.clear()
    Views.from_state(*views.state()).transform(graph, np.array([3, 4]))
    assert calls == np.asarray(graph.texts)[[3, 4]].tolist()


@pytest.mark.parametrize(("columns", "splits"), [(1, 0), (7, 0), (8, 2), (9, 2)])
def test_few_columns_are_not_split(columns: int, splits: int) -> None:
    graph = planted_graph(3, 30, width=columns)
    views, rows = Views.fit_transform(graph, SMALL, 0)
    assert views.num_splits == splits
    widths = [part.shape[1] for part in views_of(rows, views)]
    assert widths == [columns] + [min(5, columns // 2)] * 2 * splits + [6]
    assert rows.shape == (90, views.width)


def test_no_splits_and_no_links_leave_the_base_map() -> None:
    views, rows = Views.fit_transform(PLANTED, replace(SMALL, hidden_splits=0, link_dim=0), 0)
    np.testing.assert_array_equal(rows, views.base.transform(PLANTED))
    assert not views.reads_links


@pytest.mark.parametrize("features", [np.full((90, 9), 3.0, np.float32), sp.csr_matrix((90, 9), dtype=np.float32)])
def test_columns_that_say_nothing_give_zeros(features: Any) -> None:
    graph = replace(PLANTED, features=features)
    views, rows = Views.fit_transform(graph, SMALL, 0)
    assert not rows[:, : -views.widths[-1]].any()
    assert rows[:, -views.widths[-1] :].any()  # the links
    np.testing.assert_array_equal(views.transform(graph), rows)


@every_kind
def test_link_columns_are_what_depends_on_links(kind: str) -> None:
    graph = GRAPHS[kind]
    views, rows = Views.fit_transform(graph, SMALL, 0)
    chosen = np.array([5, 50])
    np.testing.assert_allclose(views.transform_links(graph, chosen), rows[chosen][:, views.link_columns], atol=1e-5)
    bare = Graph.from_edges([0], [1], node_ids=graph.node_ids, texts=graph.texts, features=graph.features)
    before, after = np.delete(rows, views.link_columns, 1), np.delete(views.transform(bare), views.link_columns, 1)
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert views.reads_links


@every_kind
def test_restored_views_give_the_same_rows(kind: str) -> None:
    graph = GRAPHS[kind]
    views, rows = Views.fit_transform(graph, SMALL, 0)
    description, arrays = views.state()
    again = restore_features("views", json.loads(json.dumps(description)), arrays)
    np.testing.assert_allclose(again.transform(graph), rows, atol=1e-6)
    assert again.state()[0] == description
    assert (again.reads, again.directional, again.costly) == (views.reads, views.directional, views.costly)
    assert again.link_columns == views.link_columns


def test_fine_words_tell_rare_words_apart_that_the_main_axes_leave_out() -> None:
    stream = np.random.default_rng(0)
    texts = [" ".join([f"word{stream.integers(3)}", f"rare{i // 2}"]) for i in range(90)]  # each rare word in two nodes
    graph = replace(DOCUMENTS, texts=np.array(texts, object))
    config = replace(SMALL, feature_dim=2, fine_dim=11)
    views, rows = Views.fit_transform(graph, config, 0)
    assert views.fine is not None
    assert views.widths == [2, 5, 5, 5, 5, 11, 6]
    parts = views_of(rows, views)
    np.testing.assert_allclose(np.linalg.norm(parts[5], axis=1), 1, atol=1e-5)
    twins = np.einsum("ij,ij->i", parts[5][::2], parts[5][1::2])
    assert twins.mean() > np.mean(parts[5] @ parts[5].T) + 0.3
    description, arrays = views.state()
    again = restore_features("views", json.loads(json.dumps(description)), arrays)
    np.testing.assert_allclose(again.transform(graph), rows, atol=1e-6)
    np.testing.assert_allclose(views.transform(graph, np.array([4, 5])), rows[[4, 5]], atol=1e-5)
    for odd in ({"width": 0}, {"width": 10**9}, {"seed": -1}, {"seed": "x"}):
        with pytest.raises((InputError, ValueError)):
            restore_features("views", description | {"fine": description["fine"] | odd}, arrays)
    assert Views.fit(graph, replace(config, fine_dim=12), 0).fine is None  # too few words to be hashed


def _with(arrays: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return arrays | {name: value}


@pytest.mark.parametrize(
    "damage",
    [
        lambda d, a: (d, _with(a, "split0/sides", a["split0/sides"][:-1])),
        lambda d, a: (d, _with(a, "split0/sides", a["split0/sides"] + 1)),
        lambda d, a: (d, _with(a, "split0/sides", a["split0/sides"][None])),
        lambda d, a: (d, _with(a, "split1/basis", a["split1/basis"][:, 0])),
        lambda d, a: (d, _with(a, "split1/basis", a["split1/basis"][1:])),
        lambda d, a: (d, a | {f"split0/{n}": a[f"split0/{n}"][:4] for n in ("sides", "basis")}),
        lambda d, a: (d, _with(a, "links/components", a["links/components"][1:])),
        lambda d, a: (d, {name: array for name, array in a.items() if name != "split1/basis"}),
        lambda d, a: (d, _with(a, "split0/more", a["split0/basis"])),
        lambda d, a: (d | {"splits": 3}, a),
        lambda d, a: (d | {"splits": "many"}, a),
        lambda d, a: (d | {"splits": 10**12}, a),
        lambda d, a: (d | {"base": "views"}, a),
        lambda d, a: (d | {"base": "no such"}, a),
        lambda d, a: ({name: value for name, value in d.items() if name != "base"}, a),
        lambda d, a: (d | {"links": {}}, a),
        lambda d, a: (d | {"links": None}, a),
    ],
)
def test_damaged_parts_are_refused(damage: Any) -> None:
    """By an error that reading a model folder turns into the user's."""
    description, arrays = damage(*Views.fit(PLANTED, SMALL, 0).state())
    with pytest.raises((InputError, LookupError, ValueError, TypeError)):
        restore_features("views", description, arrays)


def test_they_are_not_a_setting_of_their_own() -> None:
    with pytest.raises(InputError, match="'views' is what the objective 'hidden' makes of other features"):
        Views.fit(PLANTED, replace(SMALL, features="views"), 0)


def test_other_columns_than_those_of_the_fit_are_refused() -> None:
    views = Views.fit(PLANTED, SMALL, 0)
    with pytest.raises(InputError, match=r"7 feature columns .* fitted on 12"):
        views.transform(planted_graph(3, 30, width=7))
