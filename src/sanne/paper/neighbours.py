"""The paper's objective: every walk position predicts sampled neighbours, by a sampled softmax over a node table."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import Config
from sanne.graph.graph import FloatArray, IntArray
from sanne.paper.batches import Batch
from sanne.paper.device import torch_stream
from sanne.paper.encoder import WalkEncoder
from sanne.paper.objective import Objective, register_objective
from sanne.seeds import numpy_stream

_SMALLEST_SHARE = 1e-6  # of a sum of powers, that is left of it without one of them


@register_objective
class NeighbourSoftmax(Objective):
    """Holds the output vectors o_v of all nodes (V, d) and scores them against walk vectors."""

    name = "neighbours"

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__(config, width=width, num_nodes=num_nodes, seed=seed)
        self.vector_dim = dim = config.model.encoder_dim
        bound = math.sqrt(6.0 / (num_nodes + dim))  # Xavier over (V, d), as the authors start it
        start = torch.empty(num_nodes, dim)
        start.uniform_(-bound, bound, generator=torch_stream(seed, "initialise", 1))
        self.table = nn.Parameter(start)
        self._missed: Tensor | None = None

    def sparse_table(self) -> nn.Parameter:
        """The table: a step touches few of its rows."""
        return self.table

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """Mean loss over all (position, target) pairs of a batch of walks; `features` is (B, N, width)."""
        nodes = batch.walks.ravel()
        targets = torch.from_numpy(batch.sampler.neighbours(nodes, self.config.num_targets, batch.position)).long()
        present = targets[:, 0] >= 0  # a node without neighbours has nothing to predict
        walk_vectors = encoder(features).flatten(0, 1)  # (B * N, dim)
        if not bool(present.any()):
            return walk_vectors.sum() * 0.0
        device = self.table.device
        if not bool(present.all()):
            walk_vectors, targets = walk_vectors[present.to(device)], targets[present]
        negatives, tries = self.sample_negatives(batch.position)
        return self.sampled_loss(walk_vectors, targets.to(device), negatives.to(device), tries)

    def sampled_loss(self, walk_vectors: Tensor, targets: Tensor, negatives: Tensor, tries: int) -> Tensor:
        """Sampled softmax with one set of negatives for all rows, so that it is one matrix product.

        `walk_vectors` (R, d), `targets` (R, M), `negatives` (S,) distinct and sorted. Logits are corrected by the
        log of how often a class is expected in the sample; a negative that equals the row's target is left out.
        """
        corrections = (self._log_expected(targets, tries), self._log_expected(negatives, tries))
        inputs = (walk_vectors, self.table, targets, negatives, *corrections)
        loss: Tensor = _SampledSoftmax.apply(*inputs)  # type: ignore[no-untyped-call]
        return loss

    def sample_negatives(self, position: int) -> tuple[Tensor, int]:
        """`num_negatives` distinct classes (or all, where there are no more), and the draws that took."""
        num_nodes, count = self.table.shape[0], self.config.num_negatives
        if count >= num_nodes:
            return torch.arange(num_nodes), 0
        stream = numpy_stream(self.seed, "negatives", position)
        if self.config.negative_sampler == "uniform":
            chosen, tries = _distinct(lambda size: stream.integers(num_nodes, size=size), count)
        else:
            span = math.log(num_nodes + 1)
            chosen, tries = _distinct(
                lambda size: np.minimum(np.exp(stream.random(size) * span) - 1, num_nodes - 1).astype(np.int64), count
            )
        return torch.from_numpy(chosen), tries

    def read(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """A vector per walk (B, dim): the output at the first position (Algorithm 2)."""
        first: Tensor = encoder(features)[:, 0]
        return first

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """What the first position drew on, by the encoder's attention, (B, N)."""
        return encoder.attention_flow(features)[:, 0]

    def present_vectors(self) -> FloatArray | None:
        """The output table (V, d): the paper's embeddings of the nodes seen in training; None if walks are wanted."""
        if self.config.present_vectors == "walks":
            return None
        table: FloatArray = self.table.detach().cpu().numpy().copy()
        return table

    def _log_expected(self, classes: Tensor, tries: int) -> Tensor:
        """log of the probability that a class is among the negatives."""
        num_nodes = self.table.shape[0]
        count = min(self.config.num_negatives, num_nodes)
        if count == num_nodes or self.config.negative_sampler == "uniform":
            return torch.full(classes.shape, math.log(count / num_nodes), device=classes.device)
        return torch.log(-torch.expm1(tries * self._log_missed().to(classes.device)[classes])).float()

    def _log_missed(self) -> Tensor:
        """log of the probability that one log-uniform draw is not a class, for all classes, (V,)."""
        if self._missed is None:
            num_nodes = self.table.shape[0]
            rank = torch.arange(num_nodes, dtype=torch.float64)
            self._missed = torch.log1p(-torch.log((rank + 2) / (rank + 1)) / math.log(num_nodes + 1))
        return self._missed


def _distinct(draw: Callable[[int], IntArray], count: int) -> tuple[IntArray, int]:
    """The first `count` distinct values of a stream of draws, sorted, and how many draws that took."""
    values = draw(2 * count)
    while True:
        _, first = np.unique(values, return_index=True)
        if len(first) >= count:
            last = int(np.sort(first)[count - 1])
            return np.unique(values[: last + 1]), last + 1
        values = np.concatenate([values, draw(2 * count)])


class _SampledSoftmax(torch.autograd.Function):
    """Mean of -log(e^chosen / (e^chosen + sum of e^score over the negatives but the target itself)), in few passes.

    The gradient of the table is sparse: only the rows used have one.
    """

    @staticmethod
    def forward(
        ctx: Any,
        walk_vectors: Tensor,
        table: Tensor,
        targets: Tensor,
        negatives: Tensor,
        target_correction: Tensor,
        negative_correction: Tensor,
    ) -> Tensor:
        target_rows = table.index_select(0, targets.flatten()).view(*targets.shape, -1)  # (R, M, d)
        negative_rows = table.index_select(0, negatives)  # (S, d)
        chosen = (target_rows * walk_vectors.unsqueeze(1)).sum(dim=2) - target_correction  # (R, M)
        scores = torch.addmm(-negative_correction.to(table.dtype), walk_vectors, negative_rows.T)  # (R, S)
        top = scores.amax(dim=1, keepdim=True)
        powers = scores.sub_(top).exp_()
        total = powers.sum(dim=1, keepdim=True)
        column = torch.searchsorted(negatives, targets).clamp_(max=len(negatives) - 1)
        hit = negatives[column] == targets  # (R, M): the target stands among the negatives
        own = powers.gather(1, column) * hit
        rest = torch.maximum(total - own, total * _SMALLEST_SHARE)  # of a row whose whole sum is its own target
        difference = rest.log() + top - chosen
        # d loss / d difference, and per unit of `rest`: each negative's power counts by it, but for the target's own
        slope = torch.sigmoid(difference) / targets.numel()
        weight = slope / rest
        ctx.save_for_backward(walk_vectors, target_rows, negative_rows, targets, negatives)
        ctx.factors = powers, slope, weight.sum(dim=1, keepdim=True), column, own * weight
        ctx.table_shape = table.shape
        return F.softplus(difference).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        walk_vectors, target_rows, negative_rows, targets, negatives = ctx.saved_tensors
        powers, slope, weight, column, own = ctx.factors
        errors = (powers * (weight * gradient)).scatter_add_(1, column, -own * gradient)  # (R, S)
        pull = -slope * gradient  # (R, M)
        towards = torch.addmm(torch.bmm(pull.unsqueeze(1), target_rows).squeeze(1), errors, negative_rows)
        target_part = (pull.unsqueeze(2) * walk_vectors.unsqueeze(1)).flatten(0, 1)  # (R M, d)
        rows = torch.cat([target_part, errors.T @ walk_vectors])
        classes = torch.cat([targets.flatten(), negatives]).unsqueeze(0)
        table = torch.sparse_coo_tensor(classes, rows, ctx.table_shape, check_invariants=False)
        return towards, table, None, None, None, None
