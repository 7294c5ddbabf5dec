"""The stream of training walks: any step's batch can be drawn from its number alone."""

import numpy as np
import pytest

from planted import planted_graph, tiny_config
from sanne.paper.batches import WalkStream
from sanne.walks.sample import WalkSampler

GRAPH = planted_graph(size=17)  # 51 nodes: no batch size below divides it


def stream(seed: int = 0, **changes: object) -> WalkStream:
    config = tiny_config(**changes)
    return WalkStream(GRAPH.adjacency(), config.walks, config.train, seed=seed)


def all_walks(count: int, **changes: object) -> np.ndarray:
    """The first `count` walks of the stream."""
    walks = stream(**changes)
    size = tiny_config(**changes).train.batch_size
    return np.concatenate([walks.batch(step).walks for step in range(-(-count // size))])[:count]


@pytest.mark.parametrize("batch_size", [1, 7, 51, 64, 200])
def test_the_walks_do_not_depend_on_the_batch_size(batch_size: int) -> None:
    assert np.array_equal(all_walks(204, batch_size=batch_size), all_walks(204, batch_size=13))


def test_every_pass_starts_once_from_every_node_in_a_new_order() -> None:
    starts = all_walks(4 * 51)[:, 0].reshape(4, 51)
    assert all(np.array_equal(np.sort(row), np.arange(51)) for row in starts)
    assert len(np.unique(starts, axis=0)) == 4


def test_walks_are_keyed_by_number_and_come_back_every_epoch() -> None:
    walks = all_walks(6 * 51, num_walks=2).reshape(6, 51, -1)
    sampler = WalkSampler(GRAPH.adjacency(), walk_length=5, seed=0)
    for number_of_pass, rows in enumerate(walks):
        assert np.array_equal(rows, sampler.walks(rows[:, 0].astype(np.int64), 0, number_of_pass % 2))


def test_batches_may_be_drawn_in_any_order() -> None:
    forward, backward = stream(), stream()
    expected = [forward.batch(step).walks for step in range(6)]
    for step in (5, 0, 3, 3, 1):
        batch = backward.batch(step)
        assert batch.position == step
        assert np.array_equal(batch.walks, expected[step])


def test_an_epoch_has_as_many_steps_as_its_walks_need() -> None:
    assert stream(num_walks=2, batch_size=51).steps_per_epoch == 2
    assert stream(num_walks=2, batch_size=50).steps_per_epoch == 3
    assert stream(num_walks=2, batch_size=500).steps_per_epoch == 1
    assert stream(steps_per_epoch=9).steps_per_epoch == 9


def test_another_seed_gives_another_order_and_other_walks() -> None:
    assert not np.array_equal(stream(seed=1).batch(0).walks[:, 0], stream(seed=0).batch(0).walks[:, 0])
