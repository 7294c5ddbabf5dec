"""The paper's objective: every walk position predicts sampled neighbours, by a sampled softmax over a node table."""

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import Config
from sanne.errors import InputError
from sanne.graph.graph import Adjacency, FloatArray, IntArray
from sanne.model.encoder import WalkEncoder
from sanne.model.objective import Objective, register_objective
from sanne.model.safe_files import Shapes
from sanne.seeds import numpy_stream, torch_stream
from sanne.walks.batches import Batch


@register_objective
class NeighbourSoftmax(Objective):
    """Holds the output vectors o_v of all nodes (V, d) and scores them against walk vectors."""

    name = "neighbours"
    reducible = False  # the table is what is trained

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__(config, width=width, num_nodes=num_nodes, seed=seed)
        self.vector_dim = dim = config.model.encoder_dim
        bound = math.sqrt(6.0 / (num_nodes + dim))  # Xavier over (V, d), as the authors start it
        start = torch.empty(num_nodes, dim)
        start.uniform_(-bound, bound, generator=torch_stream(seed, "initialise", 1))
        self.table = nn.Parameter(start)

    @classmethod
    def check(cls, config: Config) -> None:
        """A vector has the width of the encoder."""
        dim, width = config.model.dim, config.model.encoder_dim
        if dim not in (0, width):
            raise InputError(
                f"with objective='neighbours' vectors have the encoder's width, so dim ({dim}) must equal encoder_dim "
                f"({width}): set both, or leave dim at 0"
            )

    @classmethod
    def expected_shapes(cls, config: Config, width: int, num_nodes: int) -> Shapes:
        """The table."""
        return {"table": (num_nodes, config.model.encoder_dim)}

    def sparse_table(self) -> nn.Parameter:
        """The table: a step touches few of its rows."""
        return self.table

    def probe(self, adjacency: Adjacency, features: FloatArray) -> dict[str, float]:
        """There is nothing to prepare."""
        return {}

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """Mean loss over all (position, target) pairs of a batch of walks; `features` is (B, N, width)."""
        nodes = batch.walks.ravel()
        before = batch.first_row * batch.walks.shape[1]
        targets = torch.from_numpy(
            batch.sampler.neighbours(nodes, self.config.num_targets, batch.position, before)
        ).long()
        present = targets[:, 0] >= 0  # a node without neighbours has nothing to predict
        walk_vectors = encoder(features).flatten(0, 1)  # (B * N, dim)
        if not bool(present.any()):
            return walk_vectors.sum() * 0.0
        device = self.table.device
        negatives, tries = self.sample_negatives(batch.position)
        return self.sampled_loss(
            walk_vectors[present.to(device)], targets[present].to(device), negatives.to(device), tries
        )

    def num_terms(self, batch: Batch) -> int:
        """How many (position, target) pairs the loss of a batch is the mean of."""
        return int(batch.sampler.have_neighbours(batch.walks).sum()) * self.config.num_targets

    def sampled_loss(self, walk_vectors: Tensor, targets: Tensor, negatives: Tensor, tries: int) -> Tensor:
        """Sampled softmax with one set of negatives for all rows, so that it is one matrix product.

        `walk_vectors` (R, d), `targets` (R, M), `negatives` (S,) distinct and sorted. Logits are corrected by the
        log of how often a class is expected in the sample; a negative that equals the row's target is left out.
        """
        classes = torch.cat([targets.flatten(), negatives])
        rows = F.embedding(classes, self.table, sparse=True)  # only touched rows get a gradient
        target_rows, negative_rows = rows.split([targets.numel(), len(negatives)])
        scores = walk_vectors @ negative_rows.T - self._log_expected(negatives, tries)  # (R, S)
        chosen = (walk_vectors.unsqueeze(1) * target_rows.view(*targets.shape, -1)).sum(-1)  # (R, M)
        chosen = chosen - self._log_expected(targets, tries)
        column = torch.searchsorted(negatives, targets).clamp(max=len(negatives) - 1)
        hit = negatives[column] == targets  # (R, M): the target stands among the negatives
        total = _without(torch.logsumexp(scores, dim=1, keepdim=True), scores.gather(1, column), hit)
        return F.softplus(total - chosen).mean()  # -log(e^chosen / (e^chosen + e^total))

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

    def read(self, encoder: WalkEncoder, features: Tensor, degrees: Tensor) -> Tensor:
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
        rank = classes.double()
        probability = torch.log((rank + 2) / (rank + 1)) / math.log(num_nodes + 1)
        return torch.log(-torch.expm1(tries * torch.log1p(-probability))).float()


def _distinct(draw: Callable[[int], IntArray], count: int) -> tuple[IntArray, int]:
    """The first `count` distinct values of a stream of draws, sorted, and how many draws that took."""
    values = draw(2 * count)
    while True:
        _, first = np.unique(values, return_index=True)
        if len(first) >= count:
            last = int(np.sort(first)[count - 1])
            return np.unique(values[: last + 1]), last + 1
        values = np.concatenate([values, draw(2 * count)])


def _without(total: Tensor, hit_score: Tensor, hit: Tensor) -> Tensor:
    """log(e^total - e^hit_score) where there is a hit: the sum over negatives without the target itself."""
    # The clamp guards a row whose whole sum is its own target.
    less = total + torch.log(-torch.expm1((hit_score - total).clamp(max=-1e-6)))
    return torch.where(hit, less, total)
