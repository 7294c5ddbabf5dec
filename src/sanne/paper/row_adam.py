"""Adam for a large table of which a step touches few rows, at the cost of those rows only."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer


class RowAdam(Optimizer):
    """As torch's SparseAdam: moments of a row move only in the steps that touch it. In fewer passes over the rows."""

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update the rows that have a gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, table.grad.coalesce(), group)

    def _update(self, table: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state.update(step=0, exp_avg=torch.zeros_like(table), exp_avg_sq=torch.zeros_like(table))
        state["step"] += 1
        (first, second), rows, values = group["betas"], gradient.indices()[0], gradient.values()
        mean = state["exp_avg"].index_select(0, rows).lerp_(values, 1 - first)
        square = state["exp_avg_sq"].index_select(0, rows).mul_(second).addcmul_(values, values, value=1 - second)
        state["exp_avg"].index_copy_(0, rows, mean)
        state["exp_avg_sq"].index_copy_(0, rows, square)
        rate = group["lr"] * math.sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
        table.index_add_(0, rows, mean.div_(square.sqrt_().add_(group["eps"])), alpha=-rate)
