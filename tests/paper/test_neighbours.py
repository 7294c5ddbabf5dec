"""The sampled softmax: equal to the full one when all is sampled, and to a slow loop when not."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import torch.nn.functional as F

from planted import planted_graph, tiny_config
from sanne.config import Config
from sanne.graph.graph import Graph
from sanne.paper.batches import Batch
from sanne.paper.neighbours import NeighbourSoftmax
from sanne.paper.walk_model import WalkModel
from sanne.walks.sample import WalkSampler


def objective(num_nodes: int = 20, dim: int = 5, seed: int = 0, **settings: Any) -> NeighbourSoftmax:
    config = Config().replace(objective="neighbours", encoder_dim=dim, num_heads=1, **settings)
    made = NeighbourSoftmax(config, width=dim, num_nodes=num_nodes, seed=seed)
    with torch.no_grad():
        made.table.mul_(5)
    return made


def rows(count: int = 8, dim: int = 5) -> torch.Tensor:
    return torch.randn(count, dim, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("sampler", ["uniform", "log-uniform"])
def test_the_loss_is_the_full_cross_entropy_when_every_class_is_sampled(sampler: Any) -> None:
    made = objective(num_negatives=20, negative_sampler=sampler)
    targets = torch.arange(16).view(8, 2)
    negatives, tries = made.sample_negatives(0)
    assert negatives.tolist() == list(range(20))
    found = made.sampled_loss(rows(), targets, negatives, tries)
    logits = (rows() @ made.table.T).repeat_interleave(2, dim=0)
    assert found.item() == pytest.approx(F.cross_entropy(logits, targets.flatten()).item(), abs=1e-5)


@pytest.mark.parametrize("sampler", ["uniform", "log-uniform"])
@pytest.mark.parametrize("negatives_asked", [2, 6, 17])
def test_the_loss_is_that_of_a_slow_loop_with_accidental_hits_left_out(sampler: Any, negatives_asked: int) -> None:
    made = objective(num_negatives=negatives_asked, negative_sampler=sampler)
    negatives, tries = made.sample_negatives(3)
    # Half of the targets stand among the negatives, and a row may hold one of each kind.
    inside = negatives[:2].tolist()
    outside = [node for node in range(20) if node not in negatives.tolist()][:2]
    targets = torch.tensor([[a, b] for a in inside + outside for b in inside + outside])
    table, vectors = made.table.detach().numpy(), rows(16).numpy()

    def log_expected(node: int) -> float:
        if sampler == "uniform":
            return math.log(negatives_asked / 20)
        p = math.log((node + 2) / (node + 1)) / math.log(21)
        return math.log(1 - (1 - p) ** tries)

    losses = []
    for row, wanted in enumerate(targets.tolist()):
        for target in wanted:
            chosen = vectors[row] @ table[target] - log_expected(target)
            others = [vectors[row] @ table[j] - log_expected(j) for j in negatives.tolist() if j != target]
            losses.append(math.log(math.exp(chosen) + sum(map(math.exp, others))) - chosen)
    found = made.sampled_loss(rows(16), targets, negatives, tries)
    assert found.item() == pytest.approx(float(np.mean(losses)), abs=1e-5)


def test_a_negative_that_is_the_target_gets_no_push_away() -> None:
    made = objective(num_negatives=1)
    negatives = torch.tensor([4])
    loss = made.sampled_loss(rows(1), torch.tensor([[4]]), negatives, 1)
    assert loss.item() == pytest.approx(0.0, abs=1e-4)
    loss.backward()
    assert made.table.grad is not None
    assert torch.isfinite(made.table.grad.to_dense()).all()
    assert made.table.grad.to_dense().abs().max() < 1e-4


def test_the_gradient_touches_only_the_rows_used() -> None:
    made = objective(num_negatives=4)
    negatives, tries = made.sample_negatives(0)
    targets = torch.tensor([[1, 7], [7, 9]])
    made.sampled_loss(rows(2), targets, negatives, tries).backward()
    assert made.table.grad is not None
    assert made.table.grad.is_sparse
    touched = made.table.grad.coalesce().indices()[0].tolist()
    assert sorted(touched) == sorted({1, 7, 9, *negatives.tolist()})


@pytest.mark.parametrize("sampler", ["uniform", "log-uniform"])
def test_negatives_are_distinct_sorted_and_drawn_from_the_step_alone(sampler: Any) -> None:
    made, twin = (objective(num_nodes=300, num_negatives=100, negative_sampler=sampler) for _ in range(2))
    for position in range(5):
        negatives, tries = made.sample_negatives(position)
        values = negatives.tolist()
        assert values == sorted(set(values))
        assert len(values) == 100
        assert values[0] >= 0
        assert values[-1] < 300
        assert tries >= 100
        again, tries_again = twin.sample_negatives(position)
        assert torch.equal(negatives, again)
        assert tries == tries_again
    assert not torch.equal(made.sample_negatives(0)[0], made.sample_negatives(1)[0])
    other = objective(num_nodes=300, num_negatives=100, negative_sampler=sampler, seed=1)
    assert not torch.equal(made.sample_negatives(0)[0], other.sample_negatives(0)[0])


@pytest.mark.parametrize("sampler", ["uniform", "log-uniform"])
def test_single_draws_follow_the_formula_of_the_sampler(sampler: Any) -> None:
    made = objective(num_nodes=12, num_negatives=1, negative_sampler=sampler)
    drawn = [int(made.sample_negatives(position)[0][0]) for position in range(4000)]
    k = np.arange(12)
    share = np.full(12, 1 / 12) if sampler == "uniform" else np.log((k + 2) / (k + 1)) / np.log(13)
    assert share.sum() == pytest.approx(1.0)
    assert scipy.stats.chisquare(np.bincount(drawn, minlength=12), 4000 * share).pvalue > 1e-3


@pytest.mark.parametrize("sampler", ["uniform", "log-uniform"])
def test_the_correction_is_how_often_a_class_is_in_the_sample(sampler: Any) -> None:
    made = objective(num_nodes=30, num_negatives=8, negative_sampler=sampler)
    draws = [made.sample_negatives(position) for position in range(1500)]
    seen = np.bincount(torch.cat([negatives for negatives, _ in draws]).numpy(), minlength=30) / 1500
    expected = np.mean([made._log_expected(torch.arange(30), tries).exp().numpy() for _, tries in draws], axis=0)
    assert np.allclose(seen, expected, atol=0.06)


def test_the_table_starts_the_same_for_a_seed_and_within_its_bound() -> None:
    tables = [NeighbourSoftmax(Config(), width=6, num_nodes=50, seed=seed).table for seed in (0, 0, 1)]
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])
    assert tables[0].abs().max() <= math.sqrt(6 / 56)


def batch_of(graph: Graph, walks: Any, position: int = 0) -> Batch:
    sampler = WalkSampler(graph.adjacency(), walk_length=np.shape(walks)[1], seed=0)
    return Batch(position, np.asarray(walks, np.int32), sampler)


def test_nodes_without_neighbours_have_nothing_to_predict() -> None:
    graph = Graph.from_edges([0], [1], node_ids=["a", "b", "alone"])
    config = tiny_config(objective="neighbours", walk_length=2, dropout=0.0, num_negatives=3)
    model = WalkModel(config, width=16, num_nodes=3, seed=0)
    features = torch.randn(3, 16, generator=torch.Generator().manual_seed(0))
    linked, alone = [[0, 1], [1, 0]], [[2, 2]]
    loss = model.loss(features[torch.tensor(linked)], batch_of(graph, linked))
    both = model.loss(features[torch.tensor(linked + alone)], batch_of(graph, linked + alone))
    assert both.item() == pytest.approx(loss.item(), abs=1e-6)
    nothing = model.loss(features[torch.tensor(alone)], batch_of(graph, alone))
    assert nothing.item() == 0
    nothing.backward()


def test_every_step_draws_new_target_neighbours() -> None:
    graph = planted_graph()
    config = tiny_config(objective="neighbours")
    model = WalkModel(config, width=12, num_nodes=graph.num_nodes, seed=0).eval()
    walks = WalkSampler(graph.adjacency(), walk_length=5, seed=0).walks(np.arange(30), 0, 0)
    features = torch.from_numpy(graph.features)[torch.from_numpy(walks).long()]
    losses = [model.loss(features, batch_of(graph, walks, position)).item() for position in (0, 1, 0)]
    assert losses[0] == losses[2]
    assert losses[0] != losses[1]


def test_a_walk_is_read_at_its_first_position() -> None:
    model = WalkModel(tiny_config(objective="neighbours"), width=12, num_nodes=9, seed=0).eval()
    features = torch.randn(4, 5, 12)
    assert torch.equal(model(features), model.encoder(features)[:, 0])
    shares = model.objective.position_shares(model.encoder, features)
    assert torch.equal(shares, model.encoder.attention_flow(features)[:, 0])
