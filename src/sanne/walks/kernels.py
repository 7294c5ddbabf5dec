"""Compiled loops over plain arrays: walks and neighbour samples.

Walks advance in blocks, all of a block's walks one step at a time: their memory reads overlap, which hides
most of the latency of a large graph.
"""

from typing import Any

import numpy as np

from sanne.seeds import kernel, mix, step, walk_stream

BLOCK = 64  # walks that advance together


@kernel
def _pick_uniform(indptr: Any, node: int, bits: np.uint64) -> int:
    """The position of a neighbour, each equally likely; -1 for none."""
    first = indptr[node]
    degree = np.uint64(indptr[node + 1] - first)
    if degree == 0:
        return -1
    # High 32 bits scaled to the degree: no division, and a bias below 2**-32 x degree.
    return first + np.int64(((bits >> np.uint64(32)) * degree) >> np.uint64(32))


@kernel
def _pick_weighted(indptr: Any, cumulative: Any, node: int, bits: np.uint64) -> int:
    """The position of a neighbour with probability in proportion to its weight; -1 for none."""
    low, high = indptr[node], indptr[node + 1]
    if low == high:
        return -1
    # `cumulative` restarts in every row, so that precision does not depend on the graph's size.
    point = (bits >> np.uint64(11)) * (1.0 / 9007199254740992.0) * cumulative[high - 1]
    last = high - 1
    while low < last:
        middle = (low + last) >> 1
        if cumulative[middle] > point:
            last = middle
        else:
            low = middle + 1
    return low


@kernel
def row_cumulative(indptr: Any, weights: Any) -> Any:
    """Running sums of the weights within each row."""
    sums = np.empty(len(weights), np.float64)
    for node in range(len(indptr) - 1):
        total = 0.0
        for position in range(indptr[node], indptr[node + 1]):
            total += weights[position]
            sums[position] = total
    return sums


@kernel
def walk_block(
    indptr: Any, indices: Any, cumulative: Any, starts: Any, epochs: Any, numbers: Any, seed: Any, walks: Any
) -> None:
    """Fill `walks` (count, walk_length): walk i starts at starts[i], stream (seed, epochs[i], starts[i], numbers[i]).

    `cumulative` is empty for uniform steps. A walk that reaches a node without neighbours stays there.
    """
    weighted = len(cumulative) > 0
    state = np.empty(BLOCK, np.uint64)
    for base in range(0, len(starts), BLOCK):
        size = min(BLOCK, len(starts) - base)
        for i in range(size):
            start = starts[base + i]
            walks[base + i, 0] = start
            state[i] = walk_stream(
                np.uint64(seed), np.uint64(epochs[base + i]), np.uint64(start), np.uint64(numbers[base + i])
            )
        for position in range(1, walks.shape[1]):
            for i in range(size):
                node = walks[base + i, position - 1]
                state[i] = step(state[i])
                bits = mix(state[i])
                if weighted:
                    found = _pick_weighted(indptr, cumulative, node, bits)
                else:
                    found = _pick_uniform(indptr, node, bits)
                walks[base + i, position] = node if found < 0 else indices[found]


@kernel
def neighbour_block(
    indptr: Any, indices: Any, cumulative: Any, nodes: Any, seed: Any, position: Any, first: Any, targets: Any
) -> None:
    """Fill `targets` (count, num_targets) with neighbours of `nodes`, drawn with replacement.

    Row i uses the stream (seed, position, first + i, nodes[i]); a node without neighbours gives -1.
    """
    weighted = len(cumulative) > 0
    for i in range(len(nodes)):
        node = nodes[i]
        state = walk_stream(np.uint64(seed), np.uint64(position), np.uint64(first + i), np.uint64(node))
        for j in range(targets.shape[1]):
            state = step(state)
            bits = mix(state)
            if weighted:
                found = _pick_weighted(indptr, cumulative, node, bits)
            else:
                found = _pick_uniform(indptr, node, bits)
            targets[i, j] = -1 if found < 0 else indices[found]
