"""Bare matrix products of the shapes that the walk transformer multiplies: the rate that this machine allows it."""

from collections.abc import Callable

import torch

from sanne.config import Config

Shape = tuple[int, int, int]  # rows, inner, columns


def forward_shapes(config: Config, walks: int) -> list[Shape]:
    """The large matrix products of reading `walks` walks and scoring them against the negatives."""
    rows = walks * config.walks.walk_length
    dim, hidden = config.model.encoder_dim, config.model.ff_dim
    layer: list[Shape] = []
    if config.model.attention:
        layer += [(rows, dim, 3 * dim), (rows, dim, dim)]
    if config.model.feed_forward:
        layer += [(rows, dim, hidden), (rows, hidden, dim)]
    shapes = layer * config.model.num_layers
    return [*shapes, (rows, dim, config.objective.num_negatives)]


def backward_shapes(forward: list[Shape]) -> list[Shape]:
    """Two products for each forward one: the gradients of its two factors."""
    return [shape for r, i, c in forward for shape in ((r, c, i), (i, r, c))]


def operations(shapes: list[Shape]) -> int:
    """Floating-point operations, a multiplication and an addition each counted."""
    return sum(2 * rows * inner * columns for rows, inner, columns in shapes)


def bare_products(shapes: list[Shape]) -> Callable[[], None]:
    """A function that does the products once and nothing else; nothing is allocated in it."""
    operands = {
        shape: (torch.randn(shape[0], shape[1]), torch.randn(shape[1], shape[2]), torch.empty(shape[0], shape[2]))
        for shape in set(shapes)
    }

    def run() -> None:
        for shape in shapes:
            left, right, out = operands[shape]
            torch.mm(left, right, out=out)

    run()
    return run
