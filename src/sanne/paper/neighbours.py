"""The paper's objective: every walk position predicts sampled neighbours, by a sampled softmax over a node table."""

import math
from collections.abc import Callable

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

_SMALLEST_SHARE = 1e-6  # share of a sum of powers that remains without one of them


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
        target_rows, negative_rows = (F.embedding(nodes, self.table, sparse=True) for nodes in (targets, negatives))
        chosen = (target_rows * walk_vectors.unsqueeze(1)).sum(dim=2) - self._log_expected(targets, tries)  # (R, M)
        scores = walk_vectors @ negative_rows.T - self._log_expected(negatives, tries)  # (R, S)
        top = scores.detach().amax(dim=1, keepdim=True)
        powers = (scores - top).exp()
        total = powers.sum(dim=1, keepdim=True)
        column = torch.searchsorted(negatives, targets).clamp_(max=len(negatives) - 1)
        own = powers.gather(1, column) * (negatives[column] == targets)  # for a target that is among the negatives
        rest = torch.maximum(total - own, total * _SMALLEST_SHARE)
        return F.softplus(rest.log() + top - chosen).mean()

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
        """How much each position contributed to the first one, by the encoder's attention, (B, N)."""
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
        rank = classes.double()
        missed = torch.log1p(-torch.log((rank + 2) / (rank + 1)) / math.log(num_nodes + 1))  # by one log-uniform draw
        return torch.log(-torch.expm1(tries * missed)).float()


def _distinct(draw: Callable[[int], IntArray], count: int) -> tuple[IntArray, int]:
    """The first `count` distinct values of a stream of draws, sorted, and how many draws that took."""
    values = draw(2 * count)
    while True:
        _, first = np.unique(values, return_index=True)
        if len(first) >= count:
            last = int(np.sort(first)[count - 1])
            return np.unique(values[: last + 1]), last + 1
        values = np.concatenate([values, draw(2 * count)])
