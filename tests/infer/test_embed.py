"""Vectors for present and new nodes, read from walks over the graph as it is now."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from planted import planted_graph, tiny_config, trained_config
from sanne.errors import InputError, UnknownNodeError
from sanne.features.numeric import Standardised
from sanne.graph.folder.store import open_graph, save_graph
from sanne.graph.graph import Graph
from sanne.infer import read as read_module
from sanne.infer.embed import embed, embed_parts, embed_present
from sanne.model.artifact import Artifact
from sanne.model.fit import fit_model
from sanne.paper.walk_model import WalkModel
from sanne.vectors.formats import write_parts
from sanne.vectors.vectors import Embedding

GRAPH = planted_graph()


def grown(links: dict[str, list[str]], graph: Graph = GRAPH) -> Graph:
    """The graph with new nodes: linked as told, features of noise."""
    ids = [*graph.node_ids.tolist(), *links]
    row = {node_id: i for i, node_id in enumerate(ids)}
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)).tolist()
    targets = graph.indices.tolist()
    for new, ends in links.items():
        sources += [row[new]] * len(ends)
        targets += [row[end] for end in ends]
    noise = np.random.default_rng(9).normal(size=(len(links), 12)).astype(np.float32)
    features = np.concatenate([graph.features, noise])
    return Graph.from_edges(sources, targets, node_ids=np.array(ids, object), features=features)


BIGGER = grown({"new": ["p1", "p2", "p3"], "pair-1": ["pair-2"], "pair-2": [], "alone": []})


@pytest.fixture(scope="module", params=["hidden", "neighbours"])
def artifact(request: pytest.FixtureRequest) -> Artifact:
    return fit_model(GRAPH, tiny_config(objective=request.param, num_layers=2, epochs=4, learning_rate=5e-3), 0)


def test_nodes_asked_for_singly_match_those_asked_for_together(artifact: Artifact) -> None:
    together = embed(artifact, BIGGER)
    assert together.node_ids.tolist() == BIGGER.node_ids.tolist()
    assert together.vectors.dtype == np.float32
    for node_id in ("p0", "p77", "new", "pair-1", "alone"):
        single = embed(artifact, BIGGER, [node_id])
        row = int(BIGGER.nodes_of([node_id])[0])
        assert single.node_ids.tolist() == [node_id]
        np.testing.assert_allclose(single.vectors[0], together.vectors[row], atol=1e-2)
        np.testing.assert_allclose(
            single.uncertainty[0], together.uncertainty[row], atol=1e-3
        )  # not numbers, if from walks


def test_rows_follow_the_order_asked_for_repeats_included(artifact: Artifact) -> None:
    found = embed(artifact, BIGGER, ["new", "p5", "new"])
    assert found.node_ids.tolist() == ["new", "p5", "new"]
    assert np.allclose(found.vectors[0], found.vectors[2], atol=1e-6)
    assert not np.allclose(found.vectors[0], found.vectors[1], atol=1e-3)


def test_small_batches_give_the_same(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = embed(artifact, BIGGER, explain=3)
    monkeypatch.setattr(artifact.model, "nodes_at_once", 7)
    pieces = embed(artifact, BIGGER, explain=3)
    assert np.allclose(whole.vectors, pieces.vectors, atol=1e-5)
    assert whole.explanation is not None
    assert pieces.explanation is not None
    assert len(whole.explanation) == len(pieces.explanation) == BIGGER.num_nodes


def test_it_is_the_mean_over_walks_of_a_walk_models_output() -> None:
    artifact = fit_model(GRAPH, trained_config(epochs=1), 0)
    assert isinstance(artifact.model, WalkModel)
    walks = read_module.WalkSampler(
        GRAPH.adjacency(), walk_length=5, seed=read_module.derived_seed(0, "inference")
    ).walks_of_each(np.array([7]), 8)
    features = torch.from_numpy(artifact.feature_map.transform(GRAPH))[torch.from_numpy(walks).long()]
    with torch.no_grad():
        outputs = artifact.model.eval()(features).numpy()
    found = embed(artifact, GRAPH, ["p7"])
    assert np.allclose(found.vectors[0], outputs.mean(axis=0), atol=1e-5)
    assert np.isnan(found.uncertainty).all()  # a model of walks cannot tell


def test_embedding_changes_nothing(artifact: Artifact) -> None:
    before = {name: array.copy() for name, array in artifact.model.arrays().items()}
    random_state = torch.random.get_rng_state()
    features = np.array(BIGGER.features)
    first = embed(artifact, BIGGER, explain=2)
    assert all(np.array_equal(array, before[name]) for name, array in artifact.model.arrays().items())
    assert torch.equal(random_state, torch.random.get_rng_state())
    assert np.array_equal(features, BIGGER.features)
    assert np.array_equal(first.vectors, embed(artifact, BIGGER).vectors)


def test_new_edges_change_the_vectors_near_them_most_and_none_out_of_reach(artifact: Artifact) -> None:
    before, after = embed(artifact, GRAPH), embed(artifact, grown({"hub": ["p0", "p1"]}), GRAPH.node_ids)
    moved = np.abs(before.vectors - after.vectors).max(axis=1)
    far = embed(artifact, GRAPH, explain=200).explanation
    assert far is not None
    assert moved[0] > 1e-4
    untouched = [i for i, reached in enumerate(far) if not {"p0", "p1"} & {node_id for node_id, _ in reached}]
    assert moved[untouched].max(initial=0) < 1e-4
    assert np.median(moved) < 0.2 * moved[:2].min()


def test_new_nodes_that_know_no_old_one_still_get_a_vector_of_their_own(artifact: Artifact) -> None:
    vectors = embed(artifact, BIGGER, ["alone", "pair-1", "pair-2"]).vectors
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors.round(4), axis=0)) == 3


def test_an_explanation_names_the_node_and_its_neighbours_largest_first(artifact: Artifact) -> None:
    found = embed(artifact, BIGGER, ["new", "p10", "alone"], explain=200)
    assert found.explanation is not None
    for node_id, reasons in zip(["new", "p10", "alone"], found.explanation, strict=True):
        shares = [share for _, share in reasons]
        assert shares == sorted(shares, reverse=True)
        assert all(share > 0 for share in shares)
        assert sum(shares) == pytest.approx(1.0, abs=1e-4)  # all are named, so all of the vector is explained
        named = {name for name, _ in reasons}
        row = int(BIGGER.nodes_of([node_id])[0])
        neighbours = set(BIGGER.node_ids[BIGGER.indices[BIGGER.indptr[row] : BIGGER.indptr[row + 1]]])
        assert node_id in named
        assert not neighbours or named & neighbours
        assert len(named) == len(reasons)
    assert [name for name, _ in found.explanation[2]] == ["alone"]
    short = embed(artifact, BIGGER, ["new"], explain=2).explanation
    assert short is not None
    assert [name for name, _ in short[0]] == [name for name, _ in found.explanation[0][:2]]
    np.testing.assert_allclose([s for _, s in short[0]], [s for _, s in found.explanation[0][:2]], atol=1e-4)
    assert sum(share for _, share in short[0]) <= 1


def test_integer_ids_are_plain_numbers_in_an_explanation(artifact: Artifact) -> None:
    numbered = dataclasses.replace(GRAPH, node_ids=np.arange(GRAPH.num_nodes) * 10)
    found = embed(artifact, numbered, [70], explain=1).explanation
    assert found is not None
    assert type(found[0][0][0]) is int


def test_without_explain_there_is_no_explanation(artifact: Artifact) -> None:
    assert embed(artifact, GRAPH, ["p1"]).explanation is None
    with pytest.raises(InputError, match="explain"):
        embed(artifact, GRAPH, ["p1"], explain=-1)


def test_an_unknown_id_is_named(artifact: Artifact) -> None:
    with pytest.raises(UnknownNodeError, match="'nobody'"):
        embed(artifact, GRAPH, ["p1", "nobody"])


def test_asking_for_no_nodes_gives_no_vectors(artifact: Artifact) -> None:
    found = embed(artifact, GRAPH, [])
    assert found.vectors.shape == (0, artifact.model.vector_dim)
    assert len(found.uncertainty) == len(found.node_ids) == 0


def test_only_the_features_of_visited_nodes_are_read_for_a_few_nodes_of_a_large_graph(
    artifact: Artifact, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = np.arange(400)
    noise = np.random.default_rng(0).normal(size=(400, 12)).astype(np.float32)
    ring = Graph.from_edges(places, (places + 1) % 400, node_ids=places, features=noise)
    asked: list[Any] = []
    real = artifact.feature_map.transform
    monkeypatch.setattr(artifact.feature_map, "transform", lambda g, nodes=None: asked.append(nodes) or real(g, nodes))
    embed(artifact, ring)
    few = embed(artifact, ring, [3])
    assert asked[0] is None
    assert asked[1] is not None
    assert len(asked[1]) <= 1 + 2 * 8  # steps, both ways
    assert np.isfinite(few.vectors).all()


def test_present_vectors_are_the_table_of_the_papers_objective_but_for_isolated_nodes() -> None:
    graph = grown({"alone": []})
    config = trained_config(epochs=1, present_vectors="table")
    artifact = fit_model(graph, config, 0)
    walked = embed(artifact, graph)
    table = artifact.model.objective.table.detach().numpy()  # type: ignore[union-attr]
    present = embed_present(artifact, graph)
    degree = np.diff(graph.indptr)
    assert np.array_equal(present.vectors[degree > 0], table[degree > 0])
    assert np.allclose(present.vectors[degree == 0], walked.vectors[degree == 0], atol=1e-5)
    assert np.isnan(present.uncertainty).all()
    by_walks = dataclasses.replace(artifact, config=config.replace(present_vectors="walks"))
    by_walks.model.objective.config = by_walks.config.objective
    assert np.allclose(embed_present(by_walks, graph).vectors, walked.vectors, atol=1e-6)


def test_a_graph_that_lacks_what_the_model_reads_is_named(artifact: Artifact) -> None:
    with pytest.raises(InputError, match="has none"):
        embed(artifact, dataclasses.replace(GRAPH, features=None))
    with pytest.raises(InputError, match=r"7 feature columns .* fitted on 12"):
        embed(artifact, dataclasses.replace(GRAPH, features=np.ones((120, 7), np.float32)))


def test_parts_are_the_whole_bit_for_bit(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact.model, "nodes_at_once", 7)
    whole = embed(artifact, BIGGER, explain=2)
    parts = list(embed_parts(artifact, BIGGER, explain=2, nodes_a_part=28))
    assert len(parts) > 3
    assert np.concatenate([part.node_ids for part in parts]).tolist() == BIGGER.node_ids.tolist()
    assert np.array_equal(np.concatenate([part.vectors for part in parts]), whole.vectors)
    assert np.array_equal(np.concatenate([part.uncertainty for part in parts]), whole.uncertainty, equal_nan=True)
    assert [row for part in parts for row in part.explanation or []] == whole.explanation


def test_torch_is_as_it_was_between_parts(artifact: Artifact) -> None:
    threads = torch.get_num_threads()
    parts = embed_parts(dataclasses.replace(artifact, config=artifact.config.replace(threads=2)), GRAPH)
    next(parts)
    assert not torch.is_inference_mode_enabled()
    assert torch.get_num_threads() == threads
    with pytest.raises(UnknownNodeError):
        embed_parts(artifact, GRAPH, ["nobody"])  # at once, not when the first part is asked for


def test_mapped_features_are_gathered_and_never_computed_for_all(
    artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_graph(GRAPH, tmp_path / "g")
    mapped = open_graph(tmp_path / "g")
    expected = embed(artifact, GRAPH)
    asked: list[bool] = []
    original = Standardised.transform

    def watched(self: Standardised, graph: Graph, nodes: Any = None) -> Any:
        asked.append(nodes is None)
        return original(self, graph, nodes)

    monkeypatch.setattr(Standardised, "transform", watched)
    monkeypatch.setattr(artifact.model, "nodes_at_once", 5)
    ids = None if not artifact.model.reads_whole else mapped.node_ids[:3]  # more are read in one pass over the graph
    few = embed(artifact, mapped, ids)
    assert asked
    assert not any(asked)
    assert np.allclose(few.vectors, expected.vectors[: len(few)], atol=1e-2)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux how much memory is not a mapped file")
def test_embedding_a_mapped_graph_into_a_file_holds_neither_features_nor_vectors(
    tmp_path: Path,
) -> None:
    """120 MB of features and 60 MB of vectors pass through, and neither stays."""

    def held() -> float:
        status = Path("/proc/self/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024

    small = planted_graph(width=1000)
    config = trained_config(encoder_dim=512, ff_dim=8, num_inference_walks=1, walk_length=1)
    artifact = fit_model(small, config.replace(epochs=1, steps_per_epoch=1, num_targets=1), 0)
    artifact.model.nodes_at_once = 1000
    n = 30_000
    np.lib.format.open_memmap(tmp_path / "f.npy", "w+", np.float32, (n, 1000)).flush()
    features = np.load(tmp_path / "f.npy", mmap_mode="r")
    ring = np.arange(n)
    graph = Graph.from_edges(ring, (ring + 1) % n, node_ids=ring, features=features)
    next(embed_parts(artifact, graph))  # what one part needs, and what is compiled once
    before, most = held(), 0.0

    def watched() -> Iterator[Embedding]:
        nonlocal most
        for part in embed_parts(artifact, graph):
            yield part
            most = max(most, held())

    write_parts(tmp_path / "v.npy", watched(), n, artifact.model.vector_dim)
    assert (tmp_path / "v.npy").stat().st_size > 60_000_000
    assert most - before < 60
