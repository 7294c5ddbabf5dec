"""From a graph to a fitted model."""

import json
import time

import numpy as np
import pytest

from planted import planted_graph, tiny_config, trained_config
from sanne.errors import InputError
from sanne.graph.graph import Graph
from sanne.infer.embed import embed
from sanne.model.artifact import Artifact
from sanne.model.fit import fit_model
from sanne.paper.walk_model import WalkModel


def test_a_graph_without_edges_is_refused_with_its_size() -> None:
    graph = Graph.from_edges([1], [1], node_ids=[1, 2, 3])
    with pytest.raises(InputError, match="3 nodes but no edges"):
        fit_model(graph, tiny_config(), 0)


def test_an_unknown_objective_is_refused_before_any_work() -> None:
    config = tiny_config(objective="distil")
    with pytest.raises(InputError, match=r"unknown objective 'distil': choose one of hidden, neighbours"):
        fit_model(planted_graph(), config, 0)
    with pytest.raises(InputError, match="unknown objective"):
        WalkModel(config, width=4, num_nodes=5, seed=0)


def test_the_feature_map_is_fitted_on_the_training_graph_or_on_the_one_given() -> None:
    whole = planted_graph()
    part = whole.subgraph(np.arange(100))
    config = trained_config(epochs=1, steps_per_epoch=1)
    strict = fit_model(part, config, 0).feature_map
    loose = fit_model(part, config, 0, features_from=whole).feature_map
    assert np.abs(strict.transform(part).mean(axis=0)).max() < 1e-5  # centred on the part
    assert np.abs(loose.transform(whole).mean(axis=0)).max() < 1e-5  # centred on the whole
    assert not np.allclose(strict.transform(part), loose.transform(part))


def test_the_walk_direction_reaches_the_training() -> None:
    config = trained_config(epochs=1, walk_length=2, num_negatives=1, features="structure")
    graph = Graph.from_edges([0, 1], [1, 2], node_ids=[0, 1, 2], directed=True)
    directions = ("along", "against", "both")
    losses = [fit_model(graph, config.replace(direction=way), 0).record["losses"][0] for way in directions]
    assert len(set(losses)) == 3


def test_the_record_says_what_was_fitted_on_how_long_it_took_and_how_the_loss_went() -> None:
    graph = planted_graph()
    artifact = fit_model(
        graph, trained_config(epochs=2), 7, on_epoch=lambda _, epoch: epoch / 10, record={"recipe": "mine"}
    )
    record = artifact.record
    assert record["recipe"] == "mine"
    assert record["data"] == {"nodes": 120, "edges": graph.num_edges, "directed": False, "weighted": False}
    assert len(record["losses"]) == 2
    assert record["validation"] == [0.1, 0.2]
    assert record["seconds"] >= 0
    assert {"python", "sanne", "torch", "numpy"} <= record["versions"].keys()
    assert (artifact.seed, artifact.num_nodes) == (7, 120)
    assert not artifact.model.training
    json.dumps(record)


def test_the_hook_sees_a_model_that_can_embed_and_its_time_is_not_counted() -> None:
    graph = planted_graph()
    seen = []

    def hook(artifact: Artifact, epoch: int) -> None:
        seen.append((epoch, embed(artifact, graph, ["p3"]).vectors))
        time.sleep(0.1)

    started = time.perf_counter()
    artifact = fit_model(graph, trained_config(epochs=3, steps_per_epoch=1), 0, on_epoch=hook)
    assert artifact.record["seconds"] < time.perf_counter() - started - 0.25
    assert [epoch for epoch, _ in seen] == [1, 2, 3]
    assert not np.array_equal(seen[0][1], seen[1][1])
    assert np.array_equal(seen[2][1], embed(artifact, graph, ["p3"]).vectors)
