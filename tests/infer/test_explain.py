"""What vectors are made of: shares that sum to one, of the words and links that the node really has."""

import numpy as np
import pytest
import scipy.sparse as sp

from planted import TINY, planted_graph
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne.infer.explain import MadeOf
from sanne.infer.read import AskedNodes, GraphReader
from sanne.model.hidden import HiddenModel

TOPICS = ("apple pear plum fig cherry quince", "engine wheel brake gear clutch axle")
SETTINGS = TINY | {"half_dim": 4, "feature_dim": 8}


def documents(count: int = 60) -> Graph:
    """Two topics, linked within each; node i has a word of its own."""
    stream = np.random.default_rng(0)
    texts = [" ".join([*stream.choice(TOPICS[i % 2].split(), 4), f"rare{i}"]) for i in range(count)]
    sources = np.arange(count - 2)
    return Graph.from_edges(sources, sources + 2, node_ids=np.arange(count), texts=np.array(texts, object))


@pytest.fixture(scope="module")
def fitted() -> SANNE:
    return SANNE(settings=SETTINGS).fit(documents())


def total(found: MadeOf) -> float:
    return sum(found.parts.values())


def test_shares_are_of_the_words_and_links_around_a_node(fitted: SANNE) -> None:
    (found,) = fitted.explain(documents(), [20], count=1000)
    assert total(found) == pytest.approx(1)
    own = set(documents().texts[20].split())  # type: ignore[index]
    assert {word.word for word in found.words if word.own > 1e-6} <= own
    assert found.words == sorted(found.words, key=lambda word: -word.share)
    assert found.words[0].word in TOPICS[0]
    assert {other for other, _ in found.links} <= {18, 22}
    assert found.nodes[0][0] == 20


def test_all_words_sum_to_the_parts(fitted: SANNE) -> None:
    """Words with a negative share are not listed, so that those listed are at least what all of them sum to."""
    (found,) = fitted.explain(documents(), [20], count=1000)
    assert sum(word.share for word in found.words) >= found.parts["own"] + found.parts["around"] - 1e-5
    assert sum(share for _, share in found.links) >= found.parts["links"] - 1e-5


def test_taking_the_most_important_word_away_moves_the_vector_most(fitted: SANNE) -> None:
    graph = documents()
    (found,) = fitted.explain(graph, [20], count=1000)
    listed = [word for word in found.words if word.own > 1e-6]
    before = fitted.transform(graph, [20])[0]

    def without(word: str) -> float:
        texts = graph.texts.copy()  # type: ignore[union-attr]
        texts[20] = texts[20].replace(word, "")
        arcs = np.arange(58)
        changed = Graph.from_edges(arcs, arcs + 2, node_ids=np.arange(60), texts=texts)
        return float(np.linalg.norm(fitted.transform(changed, [20])[0] - before))

    by_own = sorted(listed, key=lambda word: -word.own)
    assert without(by_own[0].word) > without(by_own[-1].word)


def test_a_newcomer_is_explained_by_what_the_model_knows(fitted: SANNE) -> None:
    later = documents(62)
    (found,) = fitted.explain(later, [60])
    assert total(found) == pytest.approx(1)
    assert [other for other, _ in found.links] == [58]
    assert "rare60" not in {word.word for word in found.words}


def test_columns_without_names_are_numbered_and_a_graph_without_attributes_has_links() -> None:
    graph = planted_graph(2, 30, width=9)
    (found,) = SANNE(settings=SETTINGS).fit(graph).explain(graph, graph.node_ids[:1])
    assert {word.word.split()[0] for word in found.words} == {"column"}
    assert total(found) == pytest.approx(1)
    bare = Graph.from_edges(np.arange(58), np.arange(2, 60), node_ids=np.arange(60))
    (found,) = SANNE(settings=SETTINGS).fit(bare).explain(bare, [20], count=2)
    assert not found.words
    assert {other for other, _ in found.links} <= set(range(0, 60, 2))
    assert total(found) == pytest.approx(1)


def test_counts_are_explained_by_column() -> None:
    counts = sp.random(60, 40, 0.2, format="csr", random_state=0, dtype=np.float32)
    counts.data[:] = 1
    graph = Graph.from_edges(np.arange(58), np.arange(2, 60), node_ids=np.arange(60), features=counts)
    (found,) = SANNE(settings=SETTINGS).fit(graph).explain(graph, [3], count=1000)
    assert {word.word for word in found.words if word.own > 1e-6} <= {f"column {i}" for i in counts[3].indices}


def test_the_paper_s_model_names_nodes_only() -> None:
    graph = planted_graph(2, 30, width=9)
    settings = TINY | {"objective": "neighbours", "epochs": 1, "features": "numeric"}
    (found,) = SANNE("paper", settings=settings).fit(graph).explain(graph, graph.node_ids[:1])
    assert found.nodes
    assert (found.parts, found.words, found.links) == ({}, [], [])


def test_at_least_one_is_listed(fitted: SANNE) -> None:
    with pytest.raises(InputError, match="1 or more, not 0"):
        fitted.explain(documents(), [1], count=0)


@pytest.mark.parametrize("recipe", ["best", "fast"])
@pytest.mark.parametrize("graph", [documents(), planted_graph(2, 30, width=9)], ids=["words", "numbers"])
def test_what_pulls_a_vector_is_all_of_it(graph: Graph, recipe: str) -> None:
    model = SANNE(recipe, settings=SETTINGS).fit(graph)
    hidden = model.artifact_.model
    assert isinstance(hidden, HiddenModel)
    for node in (0, 7):
        pull = hidden.pull(AskedNodes(GraphReader(model.artifact_, graph, 0), np.array([node])))
        seen = pull.around.mean(pull.rows, hidden.background[:-1])
        vector = model.embedding_[node]
        constant = float(hidden.offset @ vector) / float(vector @ vector)
        assert np.vdot(seen, pull.columns) + pull.degree + constant == pytest.approx(1, abs=0.01)
