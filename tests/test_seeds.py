"""Seeds: a stream for every purpose and position, the same in every process."""

import itertools

import numpy as np
import torch

from sanne.paper.device import torch_stream
from sanne.seeds import PURPOSES, derived_seed, fresh_seed, mix, numpy_stream, step, walk_stream

MASK = 2**64 - 1


def test_purposes_have_numbers_of_their_own() -> None:
    assert len(set(PURPOSES.values())) == len(PURPOSES)


def test_derived_seeds_differ_by_seed_purpose_and_counter() -> None:
    seeds = {
        derived_seed(seed, purpose, *counters)
        for seed, purpose, counters in itertools.product((0, 1, 2**63 - 1), PURPOSES, ((), (1,), (2,), (1, 2), (2, 1)))
    }
    assert len(seeds) == 3 * len(PURPOSES) * 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_streams_repeat_and_do_not_touch_the_global_state() -> None:
    before = torch.random.get_rng_state()
    assert np.array_equal(numpy_stream(3, "shuffle", 7).random(5), numpy_stream(3, "shuffle", 7).random(5))
    first, second = (torch.rand(5, generator=torch_stream(3, "shuffle", 7)) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.random.get_rng_state())


def test_fresh_seeds_differ_whatever_state_numpy_is_in() -> None:
    np.random.seed(0)  # noqa: NPY002
    first = [fresh_seed() for _ in range(4)]
    np.random.seed(0)  # noqa: NPY002
    assert len({*first, *(fresh_seed() for _ in range(4))}) > 4  # among 32 bits
    assert all(0 <= seed < 2**32 for seed in first)


def test_mix_is_the_finaliser_of_splitmix64() -> None:
    # The first outputs of splitmix64 from state 0, as published with the algorithm.
    state, outputs = np.uint64(0), []
    for _ in range(3):
        state = np.uint64(step(state))
        outputs.append(int(mix(state)))
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_walk_streams_are_distinct() -> None:
    keys = itertools.product((0, 1), (0, 1, 2), range(20), range(20))
    streams = [int(walk_stream(*(np.uint64(k) for k in key))) for key in keys]
    assert len(set(streams)) == len(streams)
    assert all(0 <= stream <= MASK for stream in streams)
