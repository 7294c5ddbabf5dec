"""The distil objective: what a walk is asked to predict, and the vector that comes of it."""

from typing import Any

import numpy as np
import pytest
import torch

from planted import planted_graph, tiny_config
from sanne.config import Config
from sanne.device import one_blas_thread, torch_threads
from sanne.graph.graph import FloatArray, Graph
from sanne.model.distil import ClusterDistillation, Teacher, restart_weights
from sanne.model.walk_model import WalkModel
from sanne.model.objective import visit_weights
from sanne.model.teacher import cluster_centres, smooth
from sanne.vectors.normalise import unit
from sanne.walks.batches import Batch, WalkStream
from sanne.walks.sample import WalkSampler

GRAPH = planted_graph()
FEATURES: FloatArray = GRAPH.features
DEGREES = np.diff(GRAPH.adjacency().indptr)
SETTINGS: dict[str, Any] = {
    "smoothing_alphas": (0.1, 0.5),
    "cluster_sizes": (3, 5),
    "cluster_seeds": 2,
    "append_features": "never",
}


def student(**changes: Any) -> tuple[WalkModel, ClusterDistillation, Config]:
    config = tiny_config(**(SETTINGS | changes))
    model = WalkModel(config, width=12, num_nodes=GRAPH.num_nodes, seed=0)
    assert isinstance(model.objective, ClusterDistillation)
    return model, model.objective, config


def batch(config: Config, step: int = 0) -> tuple[torch.Tensor, Batch]:
    drawn = WalkStream(GRAPH.adjacency(), config.walks, config.train, seed=0).batch(step)
    return torch.from_numpy(FEATURES)[torch.from_numpy(drawn.walks).long()], drawn


def what_is_read(config: Config) -> tuple[torch.Tensor, torch.Tensor]:
    features, drawn = batch(config)
    return features, torch.from_numpy(DEGREES[drawn.walks[:, 0]])


def softmax(scores: Any) -> Any:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def test_before_the_common_part_goes_every_clustering_has_the_same_share() -> None:
    model, objective, config = student()
    assert objective.group_sizes == [3, 3, 5, 5] * 2
    assert model.vector_dim == 32
    vectors = model.eval()(*what_is_read(config)) + objective.mean_assignment
    assert vectors.shape == (64, 32)
    assert (vectors >= 0).all()
    parts = torch.stack([part.square().sum(dim=1) for part in vectors.split(objective.group_sizes, 1)])
    assert torch.allclose(parts, torch.full_like(parts, 1 / 8), atol=1e-5)


def test_vectors_are_free_of_most_of_what_the_teachers_assignments_have_in_common() -> None:
    model, objective, config = student()
    objective.teacher = teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
    objective.init_from_teacher()
    scores = teacher.logits(torch.arange(GRAPH.num_nodes)).split(objective.group_sizes, 1)
    roots = np.sqrt(np.concatenate([softmax(part.numpy()) for part in scores], axis=1) / 8)
    assert np.allclose(objective.mean_assignment, 0.8 * roots.mean(axis=0), atol=1e-5)
    with torch.no_grad():
        vectors = model.eval()(*what_is_read(config))
    apart = torch.nn.functional.normalize(vectors, dim=1)
    together = torch.nn.functional.normalize(vectors + objective.mean_assignment, dim=1)
    assert (apart @ apart.T).mean() < 0.2 < 0.6 < (together @ together.T).mean()


def test_the_axes_of_appended_features_do_not_depend_on_the_number_of_threads() -> None:
    features = np.random.default_rng(0).normal(size=(GRAPH.num_nodes, 256)).astype(np.float32)
    found = []
    for threads in (1, 2):
        with torch_threads(threads), one_blas_thread():
            objective: Any = WalkModel(Config(), width=256, num_nodes=GRAPH.num_nodes, seed=0).objective
            objective.teacher = Teacher(GRAPH.adjacency(), features, Config().objective, seed=0)
            objective.init_from_teacher()
            found.append(objective.appended_axes)
    assert found[0].shape == (256, 128)
    assert torch.equal(*found)


def test_the_mean_of_a_large_graph_is_that_of_a_sample() -> None:
    _, _, config = student()
    teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
    assert teacher.some_nodes(1000, seed=0).tolist() == list(range(GRAPH.num_nodes))
    some = teacher.some_nodes(30, seed=0)
    assert len(set(some.tolist())) == 30
    assert some.max() < GRAPH.num_nodes
    assert torch.equal(some, teacher.some_nodes(30, seed=0))
    assert not torch.equal(some, teacher.some_nodes(30, seed=1))


def test_there_is_no_table_so_the_model_does_not_grow_with_the_graph() -> None:
    config = tiny_config()
    sizes = [
        sum(p.numel() for p in WalkModel(config, width=12, num_nodes=n, seed=0).parameters()) for n in (10, 10_000)
    ]
    assert sizes[0] == sizes[1]


def test_the_teacher_and_the_heads_agree_on_the_order_of_clusterings() -> None:
    _, objective, config = student()
    teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
    nodes = torch.tensor([3, 50, 119])
    expected = []
    for number, alpha in enumerate((0.1, 0.5)):
        smoothed = smooth(GRAPH.adjacency(), FEATURES, alpha, config.objective.smoothing_steps)
        for centres in cluster_centres(smoothed, config.objective, 0, number):
            expected.append(config.objective.sharpness * unit(smoothed[nodes]) @ centres.T)
    assert [group.shape[1] for group in expected] == objective.group_sizes
    assert np.allclose(teacher.logits(nodes), np.concatenate(expected, axis=1), atol=1e-4)


def test_the_loss_is_the_cross_entropy_with_the_teacher_by_hand() -> None:
    model, objective, config = student(mask_rate=0.0)
    objective.teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
    torch.nn.init.normal_(objective.centres)
    torch.nn.init.normal_(objective.correction.weight)
    features, drawn = batch(config)
    with torch.no_grad():
        found = model.loss(features, drawn).item()
        read = features * torch.from_numpy(visit_weights(DEGREES, 0.5))[torch.from_numpy(drawn.walks).long()].unsqueeze(
            -1
        )
        counts = restart_weights(5, 0.2)[:, None]
        mean = torch.nn.functional.normalize((counts * read).sum(dim=1), dim=1)
        corrected = objective.correction((counts * model.encoder(read)).sum(dim=1))
        guesses = (mean @ objective.centres.T + corrected).split(objective.group_sizes, 1)
    wanted = objective.teacher.logits(torch.from_numpy(drawn.walks[:, 0]).long()).split(objective.group_sizes, 1)
    by_hand = [
        -(softmax(want.numpy()) * np.log(softmax(guess.numpy()))).sum(axis=1).mean()
        for want, guess in zip(wanted, guesses, strict=True)
    ]
    assert np.isclose(found, np.mean(by_hand), atol=1e-5)


def test_about_mask_rate_of_the_positions_is_hidden_anew_each_step() -> None:
    _, objective, config = student(mask_rate=0.3)
    stream = WalkStream(GRAPH.adjacency(), config.walks, config.replace(batch_size=400).train, seed=0)
    ones = torch.ones(400, 5, 12)
    hidden = objective._hide(ones, stream.batch(4))
    whole_rows = hidden.sum(dim=2)
    assert set(whole_rows.unique().tolist()) == {0.0, 12.0}  # a position is hidden as a whole
    assert abs((whole_rows == 0).float().mean().item() - 0.3) < 0.05
    assert torch.equal(hidden, objective._hide(ones, stream.batch(4)))
    assert not torch.equal(hidden, objective._hide(ones, stream.batch(5)))
    _, unmasked, _ = student(mask_rate=0.0)
    assert unmasked._hide(ones, stream.batch(4)) is ones


def test_nothing_is_hidden_when_vectors_are_read() -> None:
    model, _, config = student(mask_rate=0.9)
    read = what_is_read(config)
    model.eval()
    assert torch.equal(model(*read), model(*read))


def test_shares_of_positions_sum_to_one_and_follow_their_weights() -> None:
    model, _, config = student()
    features = batch(config)[0]
    features[:, 2] = 0
    features[7] = 0  # a walk without any feature
    shares = model.eval().position_shares(features)
    assert torch.allclose(shares.sum(dim=1), torch.ones(64), atol=1e-5)
    assert (shares >= 0).all()
    others = [number for number in range(64) if number != 7]
    weighed = shares[others] - 0.5 * torch.einsum(
        "t,bts->bs", restart_weights(5, 0.2), model.encoder.attention_flow(features[others])
    )
    assert torch.allclose(weighed[:, 2], torch.zeros(63), atol=1e-6)  # where nothing stands, nothing is drawn from


def test_a_node_without_features_or_neighbours_has_an_even_target() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], node_ids=[0, 1, 2, 3])
    features = np.eye(4, 3, dtype=np.float32)  # node 3: zeros
    config = tiny_config(cluster_sizes=(2,), cluster_seeds=1)
    teacher = Teacher(graph.adjacency(), features, config.objective, seed=0)
    assert not teacher.logits(torch.tensor([3])).any()


@pytest.mark.parametrize("dim", [12, 16])  # 12: the width of the features; 16: a learned projection comes first
def test_the_start_reads_a_walk_as_the_teacher_would_read_its_weighted_mean(dim: int) -> None:
    model, objective, config = student(encoder_dim=dim)
    objective.teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
    features, drawn = batch(config)
    cold = objective.loss(model.encoder, features, drawn).item()
    objective.init_from_teacher()
    assert objective.loss(model.encoder, features, drawn).item() < cold - 0.05
    means = torch.nn.functional.normalize((restart_weights(5, 0.2)[:, None] * features).sum(dim=1), dim=1)
    scores = config.objective.sharpness * means @ objective.teacher.centres.T
    expected = torch.cat([part.softmax(1) for part in scores.split(objective.group_sizes, 1)], dim=1) / 8
    assert torch.allclose(
        (model.eval()(*what_is_read(config)) + objective.mean_assignment).square(), expected, atol=1e-5
    )


def test_many_untrained_walks_come_to_the_teachers_smoothing() -> None:
    """The claim behind both kinds of weights: the mean over walks tends to personalised PageRank."""
    adjacency = GRAPH.adjacency()
    length, restart = 40, 0.2
    walks = WalkSampler(adjacency, walk_length=length, seed=0).walks_of_each(np.arange(20), 4000)
    rows = FEATURES * visit_weights(DEGREES, 0.5)[:, None]
    found = np.einsum("t,ntw->nw", restart_weights(length, restart).numpy(), rows[walks]).reshape(20, 4000, -1).mean(1)
    matrix = adjacency.to_scipy().toarray()
    balanced = matrix / np.sqrt(DEGREES[:, None] * DEGREES[None, :])
    smoothed = restart * np.linalg.inv(np.eye(len(matrix)) - (1 - restart) * balanced) @ FEATURES
    assert DEGREES.min() > 0
    assert np.allclose(unit(found.astype(np.float32)), unit(smoothed[:20].astype(np.float32)), atol=0.05)


def test_restart_weights_fall_and_sum_to_one() -> None:
    weights = restart_weights(6, 0.25)
    assert weights[:2].tolist() == [0.25, 0.1875]
    assert torch.isclose(weights.sum(), torch.tensor(1.0))
    assert restart_weights(4, 0.0).tolist() == [0.25] * 4
    assert restart_weights(1, 0.3).tolist() == [1.0]


def test_a_hub_counts_less_and_a_lonely_node_counts_as_one_neighbour() -> None:
    assert visit_weights(np.array([0, 1, 4, 100]), 0.5).tolist() == pytest.approx([1, 1, 0.5, 0.1])
    assert visit_weights(np.array([3, 9]), 0.0).tolist() == [1, 1]


def test_features_follow_the_assignments_where_asked_for() -> None:
    config = tiny_config(walk_length=3)
    model = WalkModel(config, width=12, num_nodes=9, seed=0).eval()
    plain = WalkModel(tiny_config(walk_length=3, append_features="never"), width=12, num_nodes=9, seed=0).eval()
    features = torch.randn(4, 3, 12, generator=torch.Generator().manual_seed(0))
    degrees = torch.tensor([0, 1, 4, 5000])
    with torch.no_grad():
        vectors, assigned = model(features, degrees), plain(features, degrees)
    assert vectors.shape == (4, model.vector_dim) == (4, plain.vector_dim + 12)
    assert torch.allclose(vectors[:, :-12], assigned)
    expected = (0.2 * features[:, 0] + 0.16 * features[:, 1]) + 0.64 * features[:, 2]
    longer = torch.tensor([1, 1, 2, 1000**0.5])[:, None]  # by the square root of the degree, a lonely node's is one
    assert torch.allclose(vectors[:, -12:], expected * longer, atol=1e-4)


def test_many_features_are_appended_along_the_main_axes_of_the_centres() -> None:
    config = tiny_config(appended_dim=5, cluster_sizes=(8,))
    model = WalkModel(config, width=12, num_nodes=GRAPH.num_nodes, seed=0).eval()
    whole = WalkModel(config.replace(appended_dim=12), width=12, num_nodes=GRAPH.num_nodes, seed=0).eval()
    for one in (model, whole):
        assert isinstance(one.objective, ClusterDistillation)
        one.objective.teacher = Teacher(GRAPH.adjacency(), FEATURES, config.objective, seed=0)
        one.objective.init_from_teacher()
    with torch.no_grad():
        some, all_of_them = model(*what_is_read(config))[:, 16:], whole(*what_is_read(config))[:, 16:]
    assert some.shape[1] == 5
    assert all_of_them.shape[1] == 12
    assert isinstance(model.objective, ClusterDistillation)
    axes = model.objective.appended_axes
    assert axes is not None
    assert torch.allclose(axes.T @ axes, torch.eye(5), atol=1e-5)
    assert torch.allclose(some, all_of_them @ axes, atol=1e-5)
    assert 0.5 < some.norm() / all_of_them.norm() < 1  # most of the length, in less than half of the columns


@pytest.mark.parametrize("times", [1, 50])
def test_appended_features_are_as_long_as_asked_for_whatever_their_unit(times: int) -> None:
    _, objective, config = student(append_features="always", appended_scale=0.5)
    features = (times * FEATURES).astype(np.float32)
    objective.teacher = teacher = Teacher(GRAPH.adjacency(), features, config.objective, seed=0)
    objective.init_from_teacher()
    scores = teacher.logits(torch.arange(GRAPH.num_nodes)).split(objective.group_sizes, 1)
    roots = np.sqrt(np.concatenate([softmax(part.numpy()) for part in scores], axis=1) / 8)
    smoothed = smooth(GRAPH.adjacency(), features, 0.1, config.objective.smoothing_steps)
    beside = float(objective.appended_unit) * np.linalg.norm(smoothed)
    assert beside == pytest.approx(0.5 * np.linalg.norm(roots - roots.mean(axis=0)), rel=1e-4)


def test_uncertainty_is_what_the_largest_shares_leave() -> None:
    config = tiny_config(cluster_sizes=(4,), cluster_seeds=2)
    model = WalkModel(config, width=12, num_nodes=9, seed=0)
    sure = np.sqrt(np.array([[1, 0, 0, 0, 0, 0, 1, 0]]) / 2).astype(np.float32)
    torn = np.sqrt(np.array([[0.5, 0.5, 0, 0, 0.25, 0.25, 0.25, 0.25]]) / 2).astype(np.float32)
    wanted = pytest.approx([0.0, 1 - (0.5 + 0.25) / 2])
    assert model.uncertainty(np.concatenate([sure, torn])) == wanted
    assert isinstance(model.objective, ClusterDistillation)
    model.objective.mean_assignment.fill_(0.2)
    assert model.uncertainty(np.concatenate([sure, torn]) - np.float32(0.2)) == wanted
    table = WalkModel(tiny_config(objective="neighbours"), width=12, num_nodes=9, seed=0)
    assert table.uncertainty(sure) is None
