"""What a client of the engine relies on: vectors as `embed` gives them, changes that are seen at once, clear errors."""

import dataclasses
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import (
    GROUP,
    add_one,
    delete_one,
    embed_one,
    graph_of,
    link,
    newcomer,
    only,
    rebuilt,
    replace_one,
    save_model,
)

from sanne.errors import FieldError, NodeExistsError, UnknownNodeError
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.model.artifact import Artifact
from sanne.serve.engine.engine import Engine
from sanne.serve.engine.reader import read_nodes
from sanne.serve.live.features import NewNode

GRAPH = graph_of("plain")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    yield engine
    engine.close()


def read_all(engine: Engine, graph: Graph) -> Any:
    return read_nodes(
        engine._model, engine._state, [engine._read_request(number) for number in range(graph.num_nodes)]
    ).vectors


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("plain", {}),
        ("weighted", {}),
        ("directed", {"direction": "both"}),
        ("directed weighted", {"direction": "along"}),
        ("directed", {"direction": "against"}),
        ("text integer", {}),
        ("counts", {}),
        ("bare", {}),
        ("plain", {"objective": "neighbours"}),
    ],
)
def test_a_node_that_nothing_touched_has_the_vector_that_embed_gives(
    kind: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    graph = graph_of(kind)
    folder = save_model(tmp_path / "model", graph, **settings)
    engine = Engine.open(folder, graph, tmp_path / "store")
    expected = embed(Artifact.read(folder), graph, progress=False)
    np.testing.assert_allclose(read_all(engine, graph), expected.vectors, atol=1e-4)
    ends = [(node_id, 1.0) for node_id in graph.node_ids[[3, 5]].tolist()]
    answer = add_one(engine, NewNode("new", links=tuple(ends)), explain=3, similar=4)  # every kind takes additions
    assert np.isfinite(answer.vector).all()
    assert answer.explanation is not None
    assert answer.similar is not None
    assert len(answer.explanation) == (1 if "against" in settings.values() else 3)  # no arc leads to it
    assert len(answer.similar) == 4
    assert engine.similar_to("new", 1)[0] == answer.similar[0]
    engine.close()


def test_a_graph_with_more_than_the_model_saw_is_embedded_anew(model: Path, tmp_path: Path) -> None:
    bigger = rebuilt(GRAPH, [newcomer(0)])
    engine = Engine.open(model, bigger, tmp_path / "store")
    expected = embed(Artifact.read(model), bigger, progress=False).vectors
    found = [engine.node(node_id).vector for node_id in ("p0", "new0")]
    np.testing.assert_allclose(found, expected[[0, -1]], atol=1e-6)
    engine.close()


def test_a_table_with_its_columns_in_another_order_is_served_like_the_one_of_the_fit(tmp_path: Path) -> None:
    columns = [f"column {i}" for i in range(12)]
    graph = dataclasses.replace(GRAPH, feature_names=tuple(columns))
    folder = save_model(tmp_path / "model", graph)
    turned = dataclasses.replace(
        graph,
        features=np.hstack([np.ones((graph.num_nodes, 1), np.float32), graph.features[:, ::-1]]),
        feature_names=("another", *columns[::-1]),
    )
    engine, other = (Engine.open(folder, one, tmp_path / name) for one, name in ((graph, "one"), (turned, "other")))
    assert other.feature_width == 12
    np.testing.assert_allclose(read_all(other, turned), read_all(engine, graph), atol=1e-6)
    answers = [add_one(one, newcomer(0)).vector for one in (engine, other)]  # its features are in the order of the fit
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-6)
    engine.close()
    other.close()


def test_what_is_shown_is_what_is_kept_and_what_is_found_after_a_restart(
    engine: Engine, model: Path, tmp_path: Path
) -> None:
    node = newcomer(0)
    shown = embed_one(engine, node, explain=4, similar=5)
    assert engine.statistics()["nodes"] == GRAPH.num_nodes
    with pytest.raises(UnknownNodeError):
        engine.node("new0")
    kept = add_one(engine, node, explain=4, similar=5)
    np.testing.assert_array_equal(kept.vector, shown.vector)
    assert (kept.uncertainty, kept.explanation, kept.similar) == (shown.uncertainty, shown.explanation, shown.similar)
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    info = again.node("new0")
    np.testing.assert_array_equal(info.vector, shown.vector)
    assert info.uncertainty == shown.uncertainty
    assert sorted(info.neighbours) == sorted(node.links)
    assert (info.added, info.stale, info.degree) == (True, False, 3)
    assert again.statistics() | {"nodes": 121, "edges": GRAPH.num_edges + 3, "added": 1} == again.statistics()
    again.close()


def test_an_answer_does_not_depend_on_what_is_computed_beside_it(engine: Engine) -> None:
    groups = [[newcomer(i, i % 3, 1 + i % 4)] for i in range(20)]
    beside = engine.embed(groups, explain=[3] * 20, similar=[3] * 20)[3]
    alone = embed_one(engine, groups[3][0], explain=3, similar=3)
    assert isinstance(beside, list)
    np.testing.assert_allclose(beside[0].vector, alone.vector, atol=1e-6)
    assert beside[0].uncertainty == pytest.approx(alone.uncertainty, abs=1e-6)
    assert [name for name, _ in beside[0].explanation or []] == [name for name, _ in alone.explanation or []]
    assert [name for name, _ in beside[0].similar or []] == [name for name, _ in alone.similar or []]


def test_groups_do_not_see_each_other_but_nodes_of_a_group_do(engine: Engine) -> None:
    pair = [newcomer(0, links=1), NewNode("other", links=(("new0", 1.0),))]
    results = engine.embed([pair, [NewNode("third", links=(("new0", 1.0),))]], explain=[9, 0], similar=[0, 0])
    assert isinstance(results[0], list)
    assert {"new0", "other"} <= {name for name, _ in results[0][1].explanation or []}
    assert isinstance(results[1], FieldError)
    assert results[1].field == "nodes[0].links[0]"
    assert "'new0'" in str(results[1])


def test_a_newcomer_resembles_the_group_that_it_links_to(engine: Engine) -> None:
    hits = 0
    for number in range(12):
        group = number % 3
        answer = embed_one(engine, newcomer(number, group), similar=5)
        hits += sum(GRAPH.labels[int(str(name)[1:])] == group for name, _ in answer.similar or [])
    assert hits >= 40  # of 60, where chance gives 20
    assert 0 < answer.uncertainty < embed_one(engine, NewNode("alone")).uncertainty < 1


def test_a_new_edge_is_walked_at_once(engine: Engine) -> None:
    add_one(engine, newcomer(0))
    answer = embed_one(engine, NewNode("next", links=(("new0", 1.0),)), explain=5)
    assert "new0" in [name for name, _ in answer.explanation or []]


def test_refresh_brings_old_nodes_to_what_embed_gives_on_the_graph_built_anew(engine: Engine, model: Path) -> None:
    nodes = [newcomer(0, 0), newcomer(1, 1), newcomer(2, 2)]
    before = engine.node("p5").vector
    for node in nodes:
        add_one(engine, node)
    edges: list[tuple[str, str]] = [("p5", "p119"), ("p5", "new1"), ("p7", "p90")]
    link(engine, [(source, target, 1.0) for source, target in edges])
    assert engine.node("p5").stale
    waiting = engine.statistics()["stale"]
    assert engine.refresh(4) == 4
    assert engine.statistics()["stale"] == waiting - 4
    assert engine.refresh() == waiting - 4
    assert engine.refresh() == 0
    bigger = rebuilt(GRAPH, nodes, edges)
    expected = embed(Artifact.read(model), bigger, progress=False).vectors
    for row in (5, 119, 7, 90, *(int(str(end)[1:]) for node in nodes for end, _ in node.links)):
        info = engine.node(f"p{row}")
        np.testing.assert_allclose(info.vector, expected[row], atol=1e-6)
        assert not info.stale
    assert np.abs(engine.node("p5").vector - before).max() > 1e-3


def test_refreshed_vectors_are_still_there_after_a_restart(engine: Engine, model: Path, tmp_path: Path) -> None:
    link(engine, [("p5", "p119", 1.0)])
    engine.refresh(1)
    fresh = engine.node("p5") if not engine.node("p5").stale else engine.node("p119")
    statistics = engine.statistics()
    engine.close()
    again = Engine.open(model, GRAPH, tmp_path / "store")
    assert again.statistics() == statistics
    np.testing.assert_array_equal(again.node(fresh.id).vector, fresh.vector)
    assert not again.node(fresh.id).stale
    again.close()


def test_a_replaced_node_is_read_by_its_new_links_and_attributes(engine: Engine) -> None:
    add_one(engine, newcomer(0, group=0))
    moved = dataclasses.replace(newcomer(1, group=2), id="new0")
    answer = replace_one(engine, moved)
    info = engine.node("new0")
    np.testing.assert_array_equal(info.vector, answer.vector)
    assert sorted(info.neighbours) == sorted(moved.links)
    assert not info.stale
    expected = embed_one(engine, dataclasses.replace(moved, id="twin"))
    assert np.linalg.norm(answer.vector - expected.vector) < 5 * (answer.uncertainty + expected.uncertainty)
    replace_one(engine, NewNode("p3", links=(("p100", 1.0),)))  # a node of the base
    assert engine.node("p3").neighbours == [("p100", 1.0)]
    assert "p3" in [name for name, _ in engine.node("p100").neighbours]
    assert engine.node("p3").label == 0


def test_a_replacement_that_fails_changes_nothing(engine: Engine) -> None:
    info, statistics = engine.node("p3"), engine.statistics()
    neighbour = engine.node(info.neighbours[0][0])
    with pytest.raises(FieldError, match="too large"):
        replace_one(engine, NewNode("p3", features=np.full(12, 1e30, np.float32), links=(("p100", 1.0),)))
    after = engine.node("p3")
    assert (after.neighbours, after.stale) == (info.neighbours, False)
    assert engine.node(neighbour.id).neighbours == neighbour.neighbours
    assert engine.statistics() == statistics
    np.testing.assert_allclose(read_all(engine, GRAPH)[3], info.vector, atol=1e-4)


def test_a_deleted_node_is_gone_and_its_id_is_free(engine: Engine) -> None:
    nearest = engine.similar_to("p3", 1)[0][0]
    neighbour = engine.node("p3").neighbours[0][0]
    delete_one(engine, "p3")
    for ask in (engine.node, partial(delete_one, engine), lambda node_id: engine.similar_to(node_id, 3)):
        with pytest.raises(UnknownNodeError, match="'p3'"):
            ask("p3")
    assert "p3" not in [name for name, _ in engine.node(neighbour).neighbours]
    assert engine.node(neighbour).stale
    everybody = engine.similar_to(nearest, 1000)
    assert len(everybody) == GRAPH.num_nodes - 2
    assert "p3" not in dict(everybody)
    add_one(engine, dataclasses.replace(newcomer(0), id="p3"))
    assert engine.node("p3").added
    assert engine.statistics()["nodes"] == GRAPH.num_nodes


def test_ids_may_be_written_as_numbers_or_as_text(tmp_path: Path) -> None:
    graph = graph_of("integer")
    engine = Engine.open(save_model(tmp_path / "model", graph), graph, tmp_path / "store")
    assert engine.node("-7").id == engine.node(-7).id == -7
    for wrong in ("-07", "3", "x", "", 3):
        with pytest.raises(UnknownNodeError):
            engine.node(wrong)
    assert add_one(engine, NewNode("1000000", links=((2, 1.0), ("5", 1.0)))).id == 1_000_000
    assert sorted(name for name, _ in engine.node(1_000_000).neighbours) == [2, 5]  # type: ignore[type-var]
    with pytest.raises(NodeExistsError):
        add_one(engine, NewNode(1_000_000))
    assert add_one(engine, NewNode("paper-9")).id == "paper-9"
    engine.close()


GOOD = newcomer(0)


@pytest.mark.parametrize(
    ("node", "field"),
    [
        (NewNode("new0"), "nodes[1].id"),  # twice in the group
        (NewNode("x", text="words"), "nodes[1].text"),
        (NewNode("x", features=np.zeros(11, np.float32)), "nodes[1].features"),
        (NewNode("x", features=np.full(12, 1e30, np.float32)), "nodes[1].features"),
        (NewNode("x", links=(("p1", 1.0), ("p999", 1.0))), "nodes[1].links[1]"),
        (NewNode("x", links=(("p1", 1.0), ("x", 1.0))), "nodes[1].links[1]"),
    ],
)
def test_what_is_wrong_is_named_and_does_not_spoil_other_requests(engine: Engine, node: NewNode, field: str) -> None:
    fine = [newcomer(5)]
    results = engine.add([[GOOD, node], fine], explain=[0, 0], similar=[0, 0])
    assert isinstance(results[0], FieldError)
    assert results[0].field == field
    assert isinstance(results[1], list)
    assert engine.node("new5").added
    with pytest.raises(UnknownNodeError):
        engine.node("new0")


def test_an_id_that_is_taken_is_another_error(engine: Engine) -> None:
    results = engine.add([[GOOD], [GOOD], [NewNode("p1")]], explain=[0] * 3, similar=[0] * 3)
    assert isinstance(results[0], list)
    assert isinstance(results[1], NodeExistsError)
    assert isinstance(results[2], NodeExistsError)
    assert isinstance(engine.embed([[GOOD]], explain=[0], similar=[0])[0], NodeExistsError)


def test_edges_are_checked_before_any_is_added(engine: Engine) -> None:
    edges = engine.statistics()["edges"]
    wrongs = (
        (("p1", "x", 1.0), "edges[1].dst"),
        (("x", "p1", 1.0), "edges[1].src"),
        (("p1", "p1", 1.0), "edges[1].dst"),
    )
    for wrong, field in wrongs:
        with pytest.raises(FieldError) as raised:
            link(engine, [("p0", "p119", 1.0), wrong])
        assert raised.value.field == field
    assert engine.statistics()["edges"] == edges
    link(engine, [("p0", "p119", 1.0), ("p119", "p0", 1.0)])
    assert engine.statistics()["edges"] == edges + 1


@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
def test_a_repeated_edge_counts_once_and_has_its_last_weight(kind: str, tmp_path: Path) -> None:
    graph = graph_of(kind)
    engine = Engine.open(save_model(tmp_path / "model", graph), graph, tmp_path / "store")
    add_one(engine, NewNode("new"))
    edges = engine.statistics()["edges"]
    assert engine.add_edges([[("p0", "new", 1.0), ("p0", "new", 5.0), ("p0", "new", 2.0)]]) == [1]
    assert engine.node("new").neighbours == [("p0", 2.0)]
    back = 2 if engine._state.graph.directed else 1  # an arc back is another one
    assert engine.add_edges([[("p0", "new", 3.0), ("new", "p0", 4.0)]]) == [back]
    assert engine.node("new").neighbours == [("p0", 4.0)]
    assert engine.statistics()["edges"] == edges + back
    engine.close()


def test_a_node_that_is_not_there_cannot_be_replaced(engine: Engine) -> None:
    with pytest.raises(UnknownNodeError):
        replace_one(engine, NewNode("nobody"))


@pytest.mark.parametrize("kind", ["plain", "text", "bare", "directed"])
def test_a_new_node_has_its_features_read_and_its_links_merged_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = graph_of(kind)
    engine = Engine.open(save_model(tmp_path / "model", graph), graph, tmp_path / "store")
    read: list[Any] = []
    linked: list[Any] = []
    merged: list[Any] = []
    features, live = engine._state.features, engine._state.graph
    once = (features.read, features.read_links, live.merged)
    monkeypatch.setattr(features, "read", lambda nodes: read.extend(n.id for n in nodes) or once[0](nodes))
    monkeypatch.setattr(features, "read_links", lambda rows: linked.extend(n for n, _ in rows) or once[1](rows))
    monkeypatch.setattr(live, "merged", lambda links: merged.extend(links) or once[2](merged[-len(links) :]))
    nodes = [NewNode(f"new{i}", links=(("p1", 1.0), (f"p{i}", 2.0))) for i in range(2, 5)]
    engine.add([[node] for node in nodes], explain=[0] * 3, similar=[0] * 3)
    for found in (read, linked):
        assert sorted(name for name in found if str(name).startswith("new")) == ["new2", "new3", "new4"]
    assert len(merged) == 6
    engine.close()


@pytest.mark.parametrize("kind", ["plain", "bare", "directed weighted"])
def test_groups_that_are_added_together_are_as_if_added_one_by_one(kind: str, tmp_path: Path) -> None:
    graph = graph_of(kind)
    folder = save_model(tmp_path / "model", graph)
    together = Engine.open(folder, graph, tmp_path / "together")
    in_turn = Engine.open(folder, graph, tmp_path / "in turn")
    groups = [
        [NewNode(f"a{i}", links=((f"b{i}", 2.0), ("p1", 1.0))), NewNode(f"b{i}", links=((f"a{i}", 3.0), ("p2", 1.0)))]
        for i in range(3)
    ]
    together.add(groups, explain=[0] * 3, similar=[0] * 3)
    for group in groups:
        in_turn.add([group], explain=[0], similar=[0])
    together.close()
    again = Engine.open(folder, graph, tmp_path / "together")
    for name in ("a0", "b1", "b2", "p1", "p2"):
        infos = [engine.node(name) for engine in (together, in_turn, again)]
        assert infos[0].neighbours == infos[1].neighbours == infos[2].neighbours
        numbers = [engine._state.ids.find(name) for engine in (together, in_turn, again)]
        rows = [engine._state.features.get(numbers[0]) for engine in (together, in_turn, again)]
        np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
        np.testing.assert_allclose(rows[0], rows[2], atol=1e-6)
    in_turn.close()
    again.close()


def test_similar_nodes_by_id_and_by_vector(engine: Engine) -> None:
    by_id = engine.similar_to("p1", 4)
    by_vector = engine.similar_to_vector(engine.node("p1").vector, 5)
    assert by_vector[0] == ("p1", pytest.approx(1.0, abs=1e-5))
    assert [name for name, _ in by_vector[1:]] == [name for name, _ in by_id]
    scores = [score for _, score in by_id]
    assert scores == sorted(scores, reverse=True)


def test_a_text_model_reads_texts(tmp_path: Path) -> None:
    graph = graph_of("text")
    engine = Engine.open(save_model(tmp_path / "model", graph), graph, tmp_path / "store")
    assert (engine.reads, engine.feature_width) == ("text", None)
    text = engine.node(f"p{GROUP}").text
    assert text is not None
    answer = only(engine.add([[NewNode("new", text=text)]], explain=[0], similar=[10]))
    assert sum(GRAPH.labels[int(str(name)[1:])] == 1 for name, _ in answer.similar or []) >= 6
    assert engine.node("new").text == text
    with pytest.raises(FieldError, match="this model reads text"):
        embed_one(engine, NewNode("x", features=np.zeros(12, np.float32)))
    engine.close()


@pytest.mark.parametrize("settings", [{}, {"link_dim": 8}], ids=str)
def test_a_text_without_a_known_word_is_remarked_on(settings: dict[str, Any], tmp_path: Path) -> None:
    graph = graph_of("text")
    engine = Engine.open(save_model(tmp_path / "model", graph, **settings), graph, tmp_path / "store")
    links = (("p1", 1.0),)
    unknown, nothing = "none of the words of its text is known", "nothing is known about this node"
    known = str(graph.texts[3])
    cases = [
        (NewNode("a", text=known, links=links), []),
        (NewNode("b", text=f"zxqw {known}"), ["no links"]),
        (NewNode("c", text="zxqw qqqq", links=links), [unknown]),
        (NewNode("d", text="zxqw qqqq"), [unknown, nothing]),
        (NewNode("e", text=" "), [nothing]),
        (NewNode("f"), [nothing]),
        (NewNode("g", links=links), []),
    ]
    (answers,) = engine.add([[node for node, _ in cases]], explain=[0], similar=[0])
    assert isinstance(answers, list)
    for answer, (node, parts) in zip(answers, cases, strict=True):
        assert (answer.note is None) == (not parts)
        assert all(part in (answer.note or "") for part in parts), answer.note
        assert engine.node(node.id).note == answer.note
    np.testing.assert_array_equal(answers[3].vector, answers[5].vector)
    assert replace_one(engine, NewNode("a", text="zxqw", links=links)).note == answers[2].note
    engine.close()


@pytest.mark.parametrize("kind", ["plain", "counts", "bare", "directed"])
def test_nodes_that_nothing_is_known_about_have_the_same_vector(kind: str, tmp_path: Path) -> None:
    graph = graph_of(kind)
    engine = Engine.open(save_model(tmp_path / "model", graph), graph, tmp_path / "store")
    one, other = add_one(engine, NewNode("one")), embed_one(engine, NewNode("other"))
    assert one.note == other.note == "nothing is known about this node: its vector is the same as that of any such node"
    np.testing.assert_array_equal(one.vector, other.vector)
    engine.close()


def test_without_attributes_links_are_the_features(tmp_path: Path) -> None:
    graph = graph_of("bare")
    folder = save_model(tmp_path / "model", graph)
    engine = Engine.open(folder, graph, tmp_path / "store")
    assert engine.reads == "links"
    node = NewNode("new", links=(("p3", 1.0), ("p4", 1.0)))
    add_one(engine, node)
    link(engine, [("p5", "p60", 1.0)])
    engine.refresh()
    expected = embed(Artifact.read(folder), rebuilt(graph, [node], [("p5", "p60")]), progress=False).vectors
    for row in (3, 4, 5, 60):
        np.testing.assert_allclose(engine.node(f"p{row}").vector, expected[row], atol=1e-6)
    engine.close()


def test_reads_from_other_threads_while_nodes_are_added(engine: Engine) -> None:
    stop = threading.Event()
    seen: list[Any] = []

    def look() -> None:
        try:
            while not stop.is_set():
                seen.append(len(engine.similar_to("p1", 200)))
                engine.node("p2")
                engine.statistics()
        except BaseException as error:
            seen.append(error)

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(40):
        add_one(engine, newcomer(number))
    stop.set()
    for reader in readers:
        reader.join()
    assert not [item for item in seen if isinstance(item, BaseException)]
    assert GRAPH.num_nodes - 1 <= min(seen) <= max(seen) <= GRAPH.num_nodes + 39
    assert len(engine.similar_to("p1", 200)) == GRAPH.num_nodes + 39


def test_labels_without_a_classifier_are_refused_with_the_command_that_makes_one(engine: Engine) -> None:
    with pytest.raises(FieldError, match="sanne predict MODEL --labels FILE --save"):
        _ = engine.classifier
