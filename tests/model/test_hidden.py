"""The model of hidden words: planted groups, order of columns, one node or all, and graphs of every shape."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import threadpoolctl  # type: ignore[import-untyped]
from sklearn.metrics import roc_auc_score

from planted import accuracy, document_graph, planted_graph, tiny_config
from sanne.config import Config
from sanne.errors import InputError
from sanne.features.views import Views
from sanne.files.scratch import memory_limit
from sanne.graph import sparse
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.split import hide_nodes
from sanne.infer import read as read_module
from sanne.infer.embed import embed, embed_present
from sanne.model import learn as learning
from sanne.model.artifact import Artifact
from sanne.model.fit import fit_model
from sanne.model.hidden import HiddenModel, Part, compact
from sanne.model.learn import learn
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion

GRAPH = planted_graph(3, 40)
WIDE = planted_graph(3, 40, width=40)  # numbers of which only the direction counts
DOCUMENTS = document_graph(3, 40)
KINDS = {"text": document_graph, "numbers": planted_graph, "wide": partial(planted_graph, width=40)}


def fitted(graph: Graph, seed: int = 0, **settings: Any) -> Artifact:
    return fit_model(graph, tiny_config(**settings), seed)


def present(artifact: Artifact, graph: Graph) -> FloatArray:
    vectors = embed_present(artifact, graph).vectors
    assert np.isfinite(vectors).all()
    assert vectors.shape == (graph.num_nodes, artifact.model.vector_dim)
    return vectors


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nodes are read by following their own walks to the end, however many are asked for."""
    monkeypatch.setattr(read_module, "_MANY", 0)
    monkeypatch.setattr(Diffusion.around, "__defaults__", (1e-7,))


def without(graph: Graph, **changes: Any) -> Graph:
    return replace(graph, **{"features": None, "texts": None} | changes)


# what it learns


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("graph", [DOCUMENTS, GRAPH, WIDE, without(GRAPH)], ids=["text", "numbers", "wide", "nothing"])
def test_planted_groups_are_found(graph: Graph, seed: int) -> None:
    vectors = present(fitted(graph, seed), graph)
    train = np.arange(graph.num_nodes) % 4 == 0
    assert accuracy(vectors, np.asarray(graph.labels), train, ~train) > 0.9  # chance is a third


def test_what_is_hidden_is_predicted_better_than_from_a_nodes_own_words() -> None:
    """A node has few words of its group, and its neighbours have others."""
    graph = document_graph(3, 80, own=2, common=4)
    chosen = fitted(graph, half_dim=16).record["chosen"]
    restarts = len(Config().objective.restarts)
    curve = chosen["hidden_r2"][:restarts]
    assert max(curve) == max(curve[1:]) > 1.5 * max(curve[0], 0.01)  # the first restart is the node itself
    assert sum(chosen["mixture"]) == pytest.approx(1, abs=0.01)
    assert chosen["mixture"][:2] == [0, 0]  # of the far restarts only
    assert 0.5 < chosen["weights"]["smoothed"] <= 1


def test_words_that_tell_nothing_are_not_smoothed() -> None:
    graph = document_graph(3, 80, own=0, common=8)
    chosen = fitted(graph, half_dim=16).record["chosen"]
    assert max(chosen["hidden_r2"]) < 0.05
    assert chosen["weights"]["smoothed"] < 0.5


def test_columns_are_smoothed_by_how_alike_linked_nodes_are() -> None:
    """Same columns, and links within the groups or at random."""
    stream = np.random.default_rng(1)
    random = Graph.from_edges(
        *stream.integers(0, WIDE.num_nodes, (2, 400)), node_ids=WIDE.node_ids, features=WIDE.features
    )
    alike, unlike = (fitted(graph).record["chosen"] for graph in (WIDE, random))
    assert alike["likeness"] > 0.2 > 0.05 > unlike["likeness"]
    assert alike["weights"]["smoothed"] > 0.9
    assert unlike["weights"]["smoothed"] == 0 < alike["weights"]["own"] < unlike["weights"]["own"]


def test_only_the_direction_of_many_numbers_counts() -> None:
    artifact = fitted(WIDE)
    centre = np.asarray(WIDE.features).mean(axis=0)
    stretched = replace(WIDE, features=centre + 3 * (np.asarray(WIDE.features) - centre))
    np.testing.assert_allclose(embed(artifact, stretched).vectors, present(artifact, WIDE), atol=1e-4)


def test_links_stand_beside_attributes_that_tell_nothing() -> None:
    noise = planted_graph(3, 80, signal=0.0)
    chosen, labels = fitted(noise).record["chosen"], np.asarray(noise.labels)
    assert 0.1 < chosen["weights"]["links"] <= 0.3
    assert "links" not in fitted(DOCUMENTS).record["chosen"]["weights"]
    train = np.arange(noise.num_nodes) % 4 == 0
    with_links, without_links = (present(fitted(noise, link_dim=dim), noise) for dim in (16, 0))
    found, before = (accuracy(vectors, labels, train, ~train) for vectors in (with_links, without_links))
    assert found > before + 0.05


def test_each_part_of_a_vector_counts_as_its_weight_says() -> None:
    parts = ("joint", "stacked", "own", "neighbour", "smoothed", "degree")
    only = dict.fromkeys((f"{part}_weight" for part in parts), 0.0)
    degree = present(fitted(GRAPH, **only | {"degree_weight": 1.0}), GRAPH)
    closeness = np.abs(np.corrcoef(degree.T, np.log1p(np.diff(GRAPH.indptr)))[-1, :-1])
    assert closeness.max() > 0.9
    own = present(fitted(GRAPH, **only | {"own_weight": 1.0}), GRAPH)
    assert own.shape[1] == 12  # the columns themselves, turned
    rows = np.asarray(GRAPH.features)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    assert likeness(own, rows) > 0.999
    around = present(fitted(GRAPH, **only | {"neighbour_weight": 1.0}), GRAPH)
    links = GRAPH.adjacency().to_scipy().toarray()
    roots = (links.sum(axis=1) + 1) ** -0.5
    rows = roots[:, None] * (links @ (roots[:, None] * rows))  # the node itself has no part in it
    rows -= rows.mean(axis=0)
    assert likeness(around, rows) > 0.999


def likeness(vectors: Any, rows: Any) -> float:
    """How far products of vectors are those of rows."""
    return float(np.corrcoef((vectors @ vectors.T).ravel(), (rows @ rows.T).ravel())[0, 1])


def test_leading_axes_of_words_count_a_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = present(fitted(DOCUMENTS), DOCUMENTS).std(axis=0)[:20]
    monkeypatch.setattr(learning, "_SHARPEN", 0.0)
    before = present(fitted(DOCUMENTS), DOCUMENTS).std(axis=0)[:20]
    np.testing.assert_allclose(now / now[0], (before / before[0]) ** 1.25, rtol=1e-2)


# columns


def test_columns_are_in_order_of_importance() -> None:
    for graph in (GRAPH, DOCUMENTS):
        vectors = present(fitted(graph), graph).astype(np.float64)
        np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-4)
        lengths = np.square(vectors).sum(axis=0)
        assert (np.diff(lengths) <= 1e-4 * lengths[0]).all()
        assert lengths[:8].sum() > 5 * lengths[8:16].sum() / 2


@pytest.mark.parametrize("graph", [GRAPH, DOCUMENTS], ids=["numbers", "text"])
def test_the_first_columns_of_a_large_vector_are_a_smaller_one(graph: Graph) -> None:
    natural, large, small = (fitted(graph, dim=dim) for dim in (0, 32, 16))
    assert (large.model.vector_dim, small.model.vector_dim) == (32, 16)
    assert natural.model.vector_dim > 32
    whole = present(natural, graph)
    np.testing.assert_allclose(present(large, graph), whole[:, :32], atol=1e-4)
    np.testing.assert_allclose(present(small, graph), whole[:, :16], atol=1e-4)
    np.testing.assert_allclose(embed(small, graph).vectors, whole[:, :16], atol=1e-4)


def test_a_size_that_the_graph_cannot_fill_is_refused() -> None:
    with pytest.raises(InputError, match=r"dim \(600\) is more than this graph can fill \(\d+ numbers\)"):
        fitted(GRAPH, dim=600)


# one node or all


def weighted(graph: Graph) -> Graph:
    """With weights of one to five, the same both ways."""
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    weights = 1 + (sources + graph.indices) % 5
    return replace(graph, weights=weights.astype(np.float32))


def one_way(graph: Graph) -> Graph:
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    once = sources < graph.indices
    return Graph.from_edges(
        sources[once], graph.indices[once], node_ids=graph.node_ids, features=graph.features, directed=True
    )


@pytest.mark.parametrize(
    ("graph", "settings"),
    [
        (GRAPH, {}),
        (DOCUMENTS, {}),
        (without(GRAPH), {}),
        (weighted(GRAPH), {}),
        (one_way(GRAPH), {"direction": "along"}),
        (one_way(GRAPH), {"direction": "against"}),
        (one_way(GRAPH), {"direction": "both"}),
        (WIDE, {}),
        (WIDE, {"link_dim": 0}),
        (WIDE, {"restarts": (1.0,), "link_restarts": (1.0,)}),
        (GRAPH, {"link_dim": 0}),
        (GRAPH, {"hidden_splits": 0}),
        (GRAPH, {"hidden_splits": 0, "link_dim": 0}),
        (GRAPH, {"restarts": (1.0, 0.3), "link_restarts": (0.3,)}),
        (GRAPH, {"restarts": (0.3, 1.0), "link_restarts": (1.0,)}),
        (GRAPH, {"restarts": (1.0,), "link_restarts": (1.0,)}),
    ],
    ids=str,
)
def test_one_node_alone_has_the_vector_that_it_has_among_all(
    graph: Graph, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = fitted(graph, **settings)
    expected = present(artifact, graph)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(embed(artifact, graph).vectors, expected, atol=1e-4 * scale)
    one_by_one(monkeypatch)
    alone = embed(artifact, graph)
    np.testing.assert_allclose(alone.vectors, expected, atol=1e-3 * scale)
    np.testing.assert_allclose(alone.uncertainty, embed_present(artifact, graph).uncertainty, atol=1e-3)
    np.testing.assert_allclose(
        embed(artifact, graph, graph.node_ids[[7]]).vectors, alone.vectors[[7]], atol=1e-5 * scale
    )


def test_walks_that_are_not_followed_to_the_end_change_little(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(3, 200, inside=0.03, outside=0.002)
    artifact = fitted(graph)
    expected = present(artifact, graph)[:50]
    monkeypatch.setattr(read_module, "_MANY", 0)
    found = embed(artifact, graph, graph.node_ids[:50]).vectors
    errors = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert errors.mean() < 0.05
    assert errors.max() < 0.2


def test_an_explanation_is_of_the_node_and_what_is_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = fitted(DOCUMENTS)
    one_by_one(monkeypatch)
    found = embed(artifact, DOCUMENTS, DOCUMENTS.node_ids[:20], explain=5).explanation
    assert found is not None
    for row, named in enumerate(found):
        shares = dict(named)
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        assert all(0 < share <= 1 for share in shares.values())
        neighbours = DOCUMENTS.indices[DOCUMENTS.indptr[row] : DOCUMENTS.indptr[row + 1]]
        assert DOCUMENTS.node_ids[row] in shares
        assert len(neighbours) == 0 or set(DOCUMENTS.node_ids[neighbours]) & shares.keys()
    everything = embed(artifact, DOCUMENTS, DOCUMENTS.node_ids[:3], explain=1000).explanation
    assert everything is not None
    assert [sum(share for _, share in named) for named in everything] == pytest.approx([1, 1, 1], abs=1e-4)


# newcomers


NEW = np.arange(0, 120, 6)
KNOWN = np.setdiff1d(np.arange(120), NEW)


@pytest.fixture(scope="module")
def reader() -> Artifact:
    return fitted(hide_nodes(DOCUMENTS, NEW))


def arrivals(artifact: Artifact, *, text: bool, links: bool) -> float:
    """How many of the new nodes, arriving one at a time with this much, are placed in their group."""
    labels = np.asarray(DOCUMENTS.labels)
    old = DOCUMENTS.subgraph(KNOWN)
    vectors = np.zeros((120, artifact.model.vector_dim), np.float32)
    vectors[KNOWN] = present(artifact, old)
    for node in NEW:
        arrived = DOCUMENTS.subgraph(np.append(KNOWN, node))
        texts = np.array(arrived.texts)
        if not text:
            texts[-1] = ""
        arrived = replace(arrived, texts=texts)
        if not links:
            arrived = hide_links(arrived, arrived.num_nodes - 1)
        vectors[node] = embed(artifact, arrived, [DOCUMENTS.node_ids[node]]).vectors[0]
    assert np.isfinite(vectors).all()
    return accuracy(vectors, labels, KNOWN, NEW)


def hide_links(graph: Graph, node: int) -> Graph:
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    kept = (sources != node) & (graph.indices != node)
    return Graph.from_edges(
        sources[kept], graph.indices[kept], node_ids=graph.node_ids, texts=graph.texts, features=graph.features
    )


@pytest.mark.parametrize(
    ("text", "links", "floor"), [(True, True, 0.9), (True, False, 0.8), (False, True, 0.7), (False, False, 0.0)]
)
def test_newcomers_are_placed_by_their_text_their_links_or_both(
    reader: Artifact, text: bool, links: bool, floor: float
) -> None:
    assert arrivals(reader, text=text, links=links) >= floor  # chance is a third


def test_newcomers_of_a_graph_without_attributes_are_placed_by_their_links() -> None:
    bare = without(GRAPH)
    artifact = fitted(hide_nodes(bare, NEW))
    vectors = embed(artifact, bare).vectors
    assert accuracy(vectors, np.asarray(bare.labels), KNOWN, NEW) > 0.8


def test_a_crowd_of_strangers_gets_finite_vectors(reader: Artifact) -> None:
    strangers = Graph.from_edges([0, 1], [1, 2], node_ids=list("abcd"), texts=np.array(["", "x y", "zz", "qq"], object))
    found = embed(reader, strangers)
    assert np.isfinite(found.vectors).all()
    assert ((found.uncertainty >= 0) & (found.uncertainty < 1)).all()


# graphs of every shape


SHAPES = {
    "one column": planted_graph(width=1),
    "seven columns": planted_graph(width=7),
    "eight columns": planted_graph(width=8),
    "two nodes": Graph.from_edges([0], [1], node_ids=["a", "b"]),
    "two nodes, one number": Graph.from_edges([0], [1], node_ids=["a", "b"], features=np.eye(2, 1, dtype=np.float32)),
    "two nodes, numbers": Graph.from_edges([0], [1], node_ids=["a", "b"], features=np.eye(2, 20, dtype=np.float32)),
    "two nodes, text": Graph.from_edges([0], [1], node_ids=["a", "b"], texts=np.array(["one two", "two"], object)),
    "two alike": Graph.from_edges([0], [1], node_ids=["a", "b"], features=np.ones((2, 20), np.float32)),
    "three in a row": Graph.from_edges([0, 1], [1, 2], node_ids=[3, 4, 5]),
    "isolated nodes": Graph.from_edges(
        [0, 1], [1, 2], node_ids=list("abcdefg"), features=np.random.default_rng(0).random((7, 10)).astype(np.float32)
    ),
    "isolated nodes without attributes": Graph.from_edges([0, 1], [1, 2], node_ids=list("abcdefg")),
    "equal numbers": without(GRAPH, features=np.full((120, 9), 4, np.float32)),
    "equal counts": without(GRAPH, features=sp.csr_matrix(np.ones((120, 9), np.float32))),
    "no counts": without(GRAPH, features=sp.csr_matrix((120, 9), dtype=np.float32)),
    "equal texts": without(GRAPH, texts=np.array(["the same words"] * 120, object)),
    "one word": without(GRAPH, texts=np.array(["word"] + [""] * 119, object)),
    "no columns": without(GRAPH, features=np.zeros((120, 0), np.float32)),
    "directed": one_way(GRAPH),
    "weighted": weighted(GRAPH),
    "huge weights": replace(GRAPH, weights=np.full(len(GRAPH.indices), 1e30, np.float32)),
    "tiny weights": replace(GRAPH, weights=np.full(len(GRAPH.indices), 1e-30, np.float32)),
    "huge numbers": without(GRAPH, features=1e30 * np.asarray(GRAPH.features)),
    "star": Graph.from_edges(np.zeros(50, int), np.arange(1, 51), node_ids=np.arange(51)),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_graph_has_vectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SHAPES[name]
    for splits, link_dim in ((1, 8), (0, 8), (2, 0)):
        artifact = fitted(graph, hidden_splits=splits, link_dim=link_dim)
        vectors = present(artifact, graph)
        scale = max(np.abs(vectors).max(), 1e-3)
        with monkeypatch.context() as patch:
            one_by_one(patch)
            alone = embed(artifact, graph, explain=3)
        np.testing.assert_allclose(alone.vectors, vectors, atol=2e-3 * scale)
        assert ((alone.uncertainty >= 0) & (alone.uncertainty < 1)).all()


def test_nodes_with_the_same_words_and_links_have_the_same_vector() -> None:
    """Leaves of a star, but for what the hub is called."""
    leaves = np.arange(1, 41)
    texts = np.array(["hub of all"] + ["leaf green", "leaf red"] * 20, object)
    graph = Graph.from_edges(np.zeros(40, int), leaves, node_ids=np.arange(41), texts=texts)
    vectors = present(fitted(graph), graph)
    np.testing.assert_allclose(vectors[1::2], np.tile(vectors[1], (20, 1)), atol=1e-3)
    np.testing.assert_allclose(vectors[2::2], np.tile(vectors[2], (20, 1)), atol=1e-3)
    assert np.linalg.norm(vectors[1] - vectors[2]) > 0.1


# large graphs, threads, files


@pytest.mark.parametrize("kept", [0, 2**30])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_large_graph_is_learnt_from_a_part_of_its_nodes(
    kind: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = KINDS[kind](3, 120)
    whole = fitted(graph)
    monkeypatch.setattr(learning, "FITTED", 150)
    monkeypatch.setattr(learning, "KEPT_BYTES", kept)  # whether tokens are kept, in half precision, or computed again
    part = fitted(graph)
    train = np.arange(graph.num_nodes) % 4 == 0
    for artifact in (whole, part):
        assert accuracy(present(artifact, graph), np.asarray(graph.labels), train, ~train) > 0.9
    again = embed(part, graph).vectors
    np.testing.assert_allclose(present(part, graph), again, atol=1e-2 if kept else 1e-5)
    assert np.min(np.sum(unit(present(part, graph)) * unit(again), axis=1)) > 0.9999


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_fit_within_little_memory_gives_the_same_vectors(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = KINDS[kind](3, 120)
    monkeypatch.setattr(learning, "FITTED", 150)
    free = fitted(graph)
    with memory_limit(50_000, tmp_path):  # so that all that is large goes to files, and their pages are given back
        limited = fitted(graph)
        vectors, again = present(limited, graph), embed(limited, graph).vectors
    assert isinstance(vectors, np.memmap)
    assert not list(tmp_path.iterdir())  # files without names
    expected = present(free, graph)
    for found in (vectors, again):
        np.testing.assert_allclose(
            found @ found.T, expected @ expected.T, atol=5e-3 * np.abs(expected @ expected.T).max()
        )


def test_numbers_far_from_all_others_are_kept_exactly() -> None:
    rows = np.random.default_rng(0).standard_normal((2000, 2, 3)).astype(np.float32)
    (part,) = compact(Part(0, slice(0, 3), [1, 2], rows))
    assert part.rows.dtype == np.float16
    np.testing.assert_allclose(part.rows.astype(np.float32) * part.scale, rows, rtol=1e-3, atol=1e-6)
    rows[7, 1, 2] = 1e9
    (part,) = compact(Part(0, slice(0, 3), [1, 2], rows))
    np.testing.assert_array_equal(part.rows * np.float32(part.scale), rows)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = document_graph(3, 250)  # large enough for two threads to share
    found = []
    for cores in (1, 2):
        monkeypatch.setattr(sparse, "available_cores", lambda cores=cores: cores)
        monkeypatch.setattr(learning, "available_cores", lambda cores=cores: cores)
        with threadpoolctl.threadpool_limits(cores):
            artifact = fitted(graph, hidden_splits=2)
            found.append((present(artifact, graph), embed(artifact, graph).vectors))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


def test_a_seed_gives_the_same_and_another_seed_other_vectors() -> None:
    first, again, other = (present(fitted(DOCUMENTS, seed), DOCUMENTS) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.allclose(first, other, atol=1e-3)


def test_learning_leaves_graph_and_features_as_they_were() -> None:
    features = np.array(GRAPH.features)
    fitted(GRAPH)
    np.testing.assert_array_equal(GRAPH.features, features)
    config = tiny_config(hidden_splits=0, link_dim=0)  # the only view is all of a row
    views, rows = HiddenModel.fit_features(GRAPH, GRAPH, config, 0)
    before = rows.copy()
    model = HiddenModel.empty(config, views, 120, 0, None)
    learn(model, GRAPH.adjacency(), rows)
    model.read_whole(Diffusion(GRAPH.adjacency()), rows)
    np.testing.assert_array_equal(rows, before)


def test_features_may_be_fitted_on_a_larger_graph() -> None:
    config = tiny_config()
    views, rows = HiddenModel.fit_features(DOCUMENTS.subgraph(KNOWN), DOCUMENTS, config, 0)
    np.testing.assert_allclose(rows, views.transform(DOCUMENTS.subgraph(KNOWN)), atol=1e-6)
    artifact = fit_model(DOCUMENTS.subgraph(KNOWN), config, 0, features_from=DOCUMENTS)
    assert len(present(artifact, DOCUMENTS.subgraph(KNOWN))) == len(KNOWN)


def test_a_model_is_made_for_its_features_and_its_file() -> None:
    config = tiny_config()
    views = Views.fit(GRAPH, config.features, 0)
    with pytest.raises(InputError, match="reads views"):
        HiddenModel.empty(config, views.base, 120, 0, None)
    with pytest.raises(InputError, match="at most 4096"):
        HiddenModel.empty(config, views, 120, 0, {"matrix": (100, 10**9)})
    with pytest.raises((LookupError, ValueError)):
        HiddenModel.empty(config, views, 120, 0, {})
    with pytest.raises((LookupError, ValueError)):
        HiddenModel.empty(config, views, 120, 0, {"matrix": (100,)})


# uncertainty


@pytest.mark.parametrize("graph", [GRAPH, DOCUMENTS, without(GRAPH)], ids=["numbers", "text", "nothing"])
def test_uncertainty_lies_between_zero_and_one(graph: Graph) -> None:
    artifact = fitted(graph)
    found = embed_present(artifact, graph)
    assert ((found.uncertainty >= 0) & (found.uncertainty < 1)).all()
    assert len(np.unique(found.uncertainty)) > 10
    longer, lengths = artifact.model.uncertainty(7 * found.vectors), np.linalg.norm(found.vectors, axis=1)
    usual = lengths > 0.6 * np.sqrt(np.mean(lengths**2))
    assert usual.any()
    np.testing.assert_allclose(longer[usual], found.uncertainty[usual], atol=1e-5)  # by direction
    assert (longer < found.uncertainty + 1e-5).all()  # and by length where a vector is short
    nowhere = np.zeros((1, artifact.model.vector_dim), np.float32)
    assert artifact.model.uncertainty(nowhere)[0] > found.uncertainty.max()


def test_in_small_graphs_too_uncertainty_is_spread_and_tells_which_nodes_are_mistaken() -> None:
    """With more clusters than groups of nodes, undecided nodes would be centres, and surer than others."""
    wrong, uncertain = [], []
    for seed in range(6):
        graph = planted_graph(4, 25, inside=0.2, outside=0.03, signal=0.5, seed=seed)
        artifact = fit_model(graph, tiny_config(half_dim=64), seed)
        found, labels = embed_present(artifact, graph), np.asarray(graph.labels)
        low, high = np.percentile(found.uncertainty, [5, 95])
        assert low < 0.2 < 0.3 < high
        train = np.arange(100) % 25 < 5
        means = np.stack([found.vectors[train & (labels == label)].mean(axis=0) for label in range(4)])
        wrong += ((unit(found.vectors) @ unit(means).T).argmax(axis=1) != labels)[~train].tolist()
        uncertain += found.uncertainty[~train].tolist()
    assert roc_auc_score(wrong, uncertain) > 0.6


@pytest.mark.parametrize(("nodes", "coarse"), [(2, 3), (1000, 12), (2560, 32), (10**6, 32)])
def test_clusters_follow_the_size_of_a_graph_up_to_32_and_64(nodes: int, coarse: int) -> None:
    views, config = Views.fit_transform(GRAPH, tiny_config().features, 0)[0], tiny_config()
    assert len(HiddenModel.empty(config, views, nodes, 0, None).centres) == 3 * coarse


def test_uncertainty_does_not_depend_on_which_nodes_are_asked_for() -> None:
    artifact = fitted(GRAPH)
    whole, some = embed(artifact, GRAPH), embed(artifact, GRAPH, GRAPH.node_ids[5:9])
    np.testing.assert_allclose(some.uncertainty, whole.uncertainty[5:9], atol=1e-4)


# settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"restarts": (0.5,)}, "restarts must include 1"),
        ({"restarts": (1.0, 0.5, 0.5)}, "different"),
        ({"restarts": (1.0, 0.0)}, "restarts"),
        ({"restarts": (1.0, 1.5)}, "restarts"),
        ({"restarts": ()}, "restarts"),
        ({"link_restarts": (0.3,)}, "link_restarts must be a subset of restarts"),
        ({"restarts": tuple(1 / i for i in range(1, 40))}, "32"),
        ({"restart_steps": 0}, "restart_steps"),
        ({"hidden_splits": -1}, "hidden_splits"),
        ({"half_dim": 0}, "half_dim"),
        ({"joint_weight": -1}, "joint_weight"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Config().replace(**settings)


@pytest.mark.parametrize("splits", [0, 1])
def test_no_links_among_the_tokens(splits: int) -> None:
    present(fitted(GRAPH, link_restarts=(), hidden_splits=splits), GRAPH)
