"""The `distil` objective: a walk predicts the soft cluster assignments of its start node's smoothed features.

The teacher needs the whole graph and no training; the student needs a few walks, so it also serves nodes that
arrive later. There is no table, so memory does not grow with the number of nodes.
"""

import hashlib

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import ObjectiveConfig
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.teacher import cluster_centres, smooth
from sanne.seeds import numpy_stream, torch_stream
from sanne.walks.batches import Batch

_NODES_OF_THE_MEAN = 10_000  # enough to know what assignments have in common
_COMMON_TAKEN_OFF = 0.8  # of the mean of all assignments
_LARGEST_DEGREE = 1000  # more neighbours make a vector no longer


class Teacher:
    """Smoothed features of the training nodes and the centres of their clusterings."""

    def __init__(self, adjacency: Adjacency, features: FloatArray, config: ObjectiveConfig, seed: int) -> None:
        self.sharpness = config.sharpness
        self.visit_weights = torch.from_numpy(visit_weights(np.diff(adjacency.indptr), config.degree_power))
        self._scales: list[tuple[Tensor, Tensor]] = []  # (V, width) and (clusterings * k, width), a pair per alpha
        for number, alpha in enumerate(config.smoothing_alphas):
            smoothed = smooth(adjacency, features, alpha, config.smoothing_steps)
            centres = np.concatenate(cluster_centres(smoothed, config, seed, number))
            self._scales.append((torch.from_numpy(smoothed), torch.from_numpy(centres)))

    @property
    def digest(self) -> str:
        """Stands for the centres; machines of different kinds may find different ones."""
        return hashlib.sha256(b"".join(centres.numpy().tobytes() for _, centres in self._scales)).hexdigest()

    @property
    def centres(self) -> Tensor:
        """The centres of all clusterings, (sum of cluster sizes, width), rows of length one."""
        return torch.cat([centres for _, centres in self._scales])

    def some_nodes(self, count: int, seed: int) -> Tensor:
        """All nodes, or so many of them drawn by chance."""
        total = len(self.visit_weights)
        if total <= count:
            return torch.arange(total)
        return torch.from_numpy(numpy_stream(seed, "common").choice(total, count, replace=False))

    def smoothed(self, nodes: Tensor) -> Tensor:
        """Smoothed features by the first restart probability, (B, width)."""
        return self._scales[0][0][nodes]

    def logits(self, nodes: Tensor) -> Tensor:
        """Sharpened cosines to all centres, (B, sum of cluster sizes)."""
        return torch.cat(
            [self.sharpness * (F.normalize(smoothed[nodes], dim=1) @ centres.T) for smoothed, centres in self._scales],
            dim=1,
        )


class ClusterDistillation(nn.Module):
    """Soft assignments of a walk's weighted mean, corrected by the encoder; vectors are made of their square roots.

    A position weighs less the later it comes and the more neighbours its node has, so that the mean over walks is
    the teacher's own smoothing. Before the first step a walk is assigned by its mean's cosines to the teacher's
    centres, and what is left to learn is a correction.

    The assignments of all nodes have much in common. Most of their mean is taken off, so that cosines tell nodes
    apart; not all, or the directions of undecided nodes would be by chance.

    With `features_beside`, the weighted mean of the walk's features follows, as long as smoothing makes it: longer
    the more neighbours the start has. That tells which nodes are likely to be linked, which topics alone do not.
    """

    position_weights: Tensor
    common: Tensor
    beside_unit: Tensor
    beside_axes: Tensor | None

    def __init__(self, width: int, dim: int, walk_length: int, config: ObjectiveConfig, seed: int) -> None:
        super().__init__()
        self.config = config
        self.seed = seed
        self.degree_power = config.degree_power
        runs = [size for size in config.cluster_sizes for _ in range(config.cluster_seeds)]
        self.group_sizes = runs * len(config.smoothing_alphas)
        self.num_assigned = sum(self.group_sizes)
        self.features_beside = config.features_beside != "never"
        all_of_them = width <= config.beside_dim
        columns = width if all_of_them else min(config.beside_dim, self.num_assigned)
        self.vector_dim = self.num_assigned + (columns if self.features_beside else 0)
        self.centres = nn.Parameter(torch.zeros(self.num_assigned, width))
        self.correction = nn.Linear(dim, self.num_assigned)
        nn.init.zeros_(self.correction.weight)
        nn.init.zeros_(self.correction.bias)
        self.register_buffer("position_weights", restart_weights(walk_length, config.restart), persistent=False)
        self.register_buffer("common", torch.zeros(self.num_assigned))
        self.register_buffer("beside_unit", torch.ones(()))
        some_of_them = self.features_beside and not all_of_them
        self.register_buffer("beside_axes", torch.eye(width, columns) if some_of_them else None)
        self.teacher: Teacher | None = None  # set for training only

    @torch.no_grad()
    def start_from_teacher(self) -> None:
        """Take over the teacher's centres, what its assignments have in common, and the length of its features."""
        assert self.teacher is not None, "the teacher is set before training"
        self.centres.copy_(self.config.sharpness * self.teacher.centres)
        nodes = self.teacher.some_nodes(_NODES_OF_THE_MEAN, self.seed)
        assigned = self._roots(self.teacher.logits(nodes))
        mean = assigned.mean(dim=0)
        self.common.copy_(_COMMON_TAKEN_OFF * mean)
        lengths = self.teacher.smoothed(nodes).norm(), (assigned - mean).norm()
        if min(lengths) > 0:
            self.beside_unit.copy_(self.config.beside_scale * lengths[1] / lengths[0])
        if self.beside_axes is not None:
            axes: FloatArray = np.linalg.svd(self.teacher.centres.numpy(), full_matrices=False)[2]
            self.beside_axes.copy_(torch.from_numpy(axes[: self.beside_axes.shape[1]].T))

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """Cross-entropy with the teacher's assignments, mean over clusterings and walks; `features` (B, N, width)."""
        assert self.teacher is not None, "the teacher is set before training"
        walks = torch.from_numpy(batch.walks).long()
        wanted = self.teacher.logits(walks[:, 0]).to(features.device)
        visited = self.teacher.visit_weights[walks].unsqueeze(-1).to(features.device)
        read = self._hide(features * visited, batch)
        predicted = self._logits(encoder, read, self._mean(read))
        losses = [
            -(want.softmax(1) * guess.log_softmax(1)).sum(1).mean()
            for want, guess in zip(wanted.split(self.group_sizes, 1), predicted.split(self.group_sizes, 1), strict=True)
        ]
        return torch.stack(losses).mean()

    def num_terms(self, batch: Batch) -> int:
        """How many walks the loss of a batch is the mean of."""
        return len(batch.walks)

    def read(self, encoder: WalkEncoder, features: Tensor, degrees: Tensor) -> Tensor:
        """A vector per walk (B, vector_dim): square roots of the predicted assignments, less what all have in common.

        With `features_beside`, then the weighted mean of its features.
        """
        mean = self._mean(features)
        assigned = self._roots(self._logits(encoder, features, mean)) - self.common
        if not self.features_beside:
            return assigned
        length = self.beside_unit * degrees.clamp(1, _LARGEST_DEGREE) ** self.degree_power
        beside = mean if self.beside_axes is None else mean @ self.beside_axes
        return torch.cat([assigned, length[:, None] * beside], dim=1)

    def doubt(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings, (nodes,).

        Whether walks disagree or each of them is undecided, the shares spread out. The spread over walks sees only
        the first, and a node without neighbours has but one walk.
        """
        roots = vectors[:, : self.num_assigned] + self.common.cpu().numpy()
        groups = np.split(roots**2, np.cumsum(self.group_sizes)[:-1], axis=1)
        largest = [group.max(axis=1) / np.maximum(group.sum(axis=1), 1e-12) for group in groups]
        result: FloatArray = (1 - np.mean(largest, axis=0)).astype(np.float32)
        return result

    def position_shares(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """Shares of the positions, (B, N): half by their weight in the mean, half by the encoder's attention."""
        weighed = self.position_weights * features.norm(dim=2)  # (B, N)
        total = weighed.sum(dim=1, keepdim=True)
        weighed = torch.where(total > 0, weighed / total.clamp_min(1e-12), self.position_weights)
        attended = torch.einsum("t,bts->bs", self.position_weights, encoder.attention_flow(features))
        return (weighed + attended) / 2

    def _mean(self, features: Tensor) -> Tensor:
        """The weighted mean of a walk's features, (B, width)."""
        return torch.einsum("t,btw->bw", self.position_weights, features)

    def _logits(self, encoder: WalkEncoder, features: Tensor, mean: Tensor) -> Tensor:
        read = torch.einsum("t,btd->bd", self.position_weights, encoder(features))
        logits: Tensor = F.linear(F.normalize(mean, dim=1), self.centres) + self.correction(read)
        return logits

    def _roots(self, logits: Tensor) -> Tensor:
        """Square roots of the assignments, (B, num_assigned), rows of length one."""
        groups = logits.split(self.group_sizes, 1)
        return torch.cat([group.softmax(1).sqrt() for group in groups], dim=1) / len(groups) ** 0.5

    def _hide(self, features: Tensor, batch: Batch) -> Tensor:
        """Zero the features of a random share of the walk positions."""
        if self.config.mask_rate == 0:
            return features
        stream = torch_stream(self.seed, "mask", batch.position)
        kept = torch.rand(batch.whole_size, features.shape[1], generator=stream) >= self.config.mask_rate
        return features * kept[batch.rows].unsqueeze(-1).to(features.device)


def restart_weights(walk_length: int, restart: float) -> Tensor:
    """How much each position of a walk counts, (N,), summing to one: as often as a walk with restarts ends there.

    The last position stands for all that would follow. Without restarts all positions count alike.
    """
    if restart == 0:
        return torch.full((walk_length,), 1 / walk_length)
    weights = restart * (1 - restart) ** torch.arange(walk_length)
    weights[-1] = (1 - restart) ** (walk_length - 1)
    return weights


def visit_weights(degrees: npt.ArrayLike, power: float) -> FloatArray:
    """What the features of visited nodes are multiplied by, given their numbers of neighbours.

    With power 1/2, walks see what symmetrically normalised smoothing sees: a hub says little about each visitor.
    """
    weights: FloatArray = np.maximum(np.asarray(degrees, np.float32), 1) ** np.float32(-power)
    return weights
