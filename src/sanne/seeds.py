"""Counter-based seeds: every random choice has its own stream, keyed by its purpose.

A walk's stream depends only on (seed, epoch, node, walk), so that walks are the same
whatever the batch size, the order of work or the number of threads.
"""

import secrets
from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a loop over arrays for the CPU; it is kept on disk between runs and runs without the interpreter lock."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


@kernel
def mix(state: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: turns a counter into 64 well-mixed bits."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@kernel
def walk_stream(seed: np.uint64, epoch: np.uint64, node: np.uint64, walk: np.uint64) -> np.uint64:
    """The start state of one walk's stream."""
    state = mix(seed + np.uint64(0x9E3779B97F4A7C15))
    state = mix(state ^ (epoch + np.uint64(0xD1B54A32D192ED03)))
    state = mix(state ^ (node + np.uint64(0x8CB92BA72F3D8DD7)))
    return mix(state ^ (walk + np.uint64(0xABC98388FB8FAC03)))


@kernel
def step(state: np.uint64) -> np.uint64:
    """The next state of a stream; `mix` of it gives the random bits."""
    return state + np.uint64(0x9E3779B97F4A7C15)


@kernel
def mixed(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """The first well-mixed numbers of a stream; saved models rely on them, so they are the same in every version."""
    result = np.empty(count, np.uint64)
    state = mix(np.uint64(seed))
    for i in range(count):
        state = step(state)
        result[i] = mix(state)
    return result


# What a stream outside the walk kernels is for. The numbers are part of every result: never reuse one.
PURPOSES = {
    "shuffle": 1,
    "targets": 2,
    "negatives": 3,
    "initialise": 5,
    "cluster": 6,
    "features": 7,
    "inference": 8,
    "split": 9,
    "dropout": 10,
    "plot": 11,
    "axes": 13,
    "links": 14,
    "halves": 15,
    "left_out": 16,
    "fitted": 17,
    "fine": 18,
    "checked": 19,
    "folds": 20,
    "newcomers": 23,
    "kinds": 24,
}


def fresh_seed() -> int:
    """A seed that nobody chose, short enough to be copied by hand."""
    return secrets.randbits(32)


def derived_seed(seed: int, purpose: str, *counters: int) -> int:
    """A 63-bit seed of its own for one purpose and position."""
    sequence = np.random.SeedSequence([seed, PURPOSES[purpose], *counters])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def numpy_stream(seed: int, purpose: str, *counters: int) -> np.random.Generator:
    """A numpy generator for one purpose and position."""
    return np.random.Generator(np.random.Philox(derived_seed(seed, purpose, *counters)))
