"""The `distil` objective: a walk predicts the soft cluster assignments of its start node's smoothed features.

The teacher needs the whole graph and no training; the student needs a few walks, so it also serves nodes that
arrive later. There is no table, so memory does not grow with the number of nodes.
"""

import hashlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import ObjectiveConfig
from sanne.graph.csr import Adjacency, FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.teacher import cluster_centres, smooth
from sanne.seeds import torch_stream
from sanne.walks.batches import Batch

_START_SHARPNESS = 15.0  # of the heads at the start; a mean over walk positions is shorter than the positions are


class Teacher:
    """Smoothed features of the training nodes and the centres of their clusterings."""

    def __init__(self, adjacency: Adjacency, features: FloatArray, config: ObjectiveConfig, seed: int) -> None:
        self.sharpness = config.sharpness
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

    def logits(self, nodes: Tensor) -> Tensor:
        """Sharpened cosines to all centres, (B, sum of cluster sizes)."""
        return torch.cat(
            [self.sharpness * (F.normalize(smoothed[nodes], dim=1) @ centres.T) for smoothed, centres in self._scales],
            dim=1,
        )


class ClusterDistillation(nn.Module):
    """One linear head per clustering on the mean walk vector; the square roots of their softmaxes are the vectors."""

    reads_first = False  # a walk's vector draws on all its positions alike

    def __init__(self, dim: int, config: ObjectiveConfig, seed: int, *, width: int) -> None:
        super().__init__()
        self.config = config
        self.seed = seed
        runs = [size for size in config.cluster_sizes for _ in range(config.cluster_seeds)]
        self.group_sizes = runs * len(config.smoothing_alphas)
        self.num_assigned = sum(self.group_sizes)
        self.features_beside = config.features_beside == "always"
        self.vector_dim = self.num_assigned + (width if self.features_beside else 0)
        self.heads = nn.Linear(dim, self.num_assigned)
        self.teacher: Teacher | None = None  # set for training only

    @torch.no_grad()
    def start_at_centres(self, encoder: WalkEncoder) -> None:
        """Set heads and encoder so that a walk is read as its mean, assigned by its cosines to the teacher's centres.

        This is good before the first step, and what is left to learn is a correction.
        """
        assert self.teacher is not None, "the teacher is set before training"
        encoder.start_as_identity()
        centres = encoder.project(self.teacher.centres.to(self.heads.weight.device))
        length = self.heads.in_features**0.5  # of what leaves the encoder's last normalisation
        self.heads.weight.copy_(_START_SHARPNESS / length * F.normalize(centres, dim=1))
        self.heads.bias.zero_()

    def loss(self, encoder: WalkEncoder, features: Tensor, batch: Batch) -> Tensor:
        """Cross-entropy with the teacher's assignments, mean over clusterings and walks; `features` (B, N, width)."""
        assert self.teacher is not None, "the teacher is set before training"
        starts = torch.from_numpy(batch.walks[:, 0]).long()
        wanted = self.teacher.logits(starts).to(features.device)
        predicted = self._logits(encoder, self._hide(features, batch))
        losses = [
            -(want.softmax(1) * guess.log_softmax(1)).sum(1).mean()
            for want, guess in zip(wanted.split(self.group_sizes, 1), predicted.split(self.group_sizes, 1), strict=True)
        ]
        return torch.stack(losses).mean()

    def num_terms(self, batch: Batch) -> int:
        """How many walks the loss of a batch is the mean of."""
        return len(batch.walks)

    def read(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        """A vector per walk (B, vector_dim): square roots of the predicted assignments, of length one altogether.

        With `features_beside`, then the mean of its features, positions weighted by half of the one before.
        """
        groups = self._logits(encoder, features).split(self.group_sizes, 1)
        assigned = torch.cat([group.softmax(1).sqrt() for group in groups], dim=1) / len(groups) ** 0.5
        if not self.features_beside:
            return assigned
        weights = 0.5 ** torch.arange(features.shape[1], device=features.device)
        return torch.cat([assigned, torch.einsum("bnw,n->bw", features, weights / weights.sum())], dim=1)

    def doubt(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings, (nodes,).

        Whether walks disagree or each of them is undecided, the shares spread out. The spread over walks sees only
        the first, and a node without neighbours has but one walk.
        """
        groups = np.split(vectors[:, : self.num_assigned] ** 2, np.cumsum(self.group_sizes)[:-1], axis=1)
        largest = [group.max(axis=1) / np.maximum(group.sum(axis=1), 1e-12) for group in groups]
        result: FloatArray = (1 - np.mean(largest, axis=0)).astype(np.float32)
        return result

    def _logits(self, encoder: WalkEncoder, features: Tensor) -> Tensor:
        logits: Tensor = self.heads(encoder(features).mean(dim=1))
        return logits

    def _hide(self, features: Tensor, batch: Batch) -> Tensor:
        """Zero the features of a random share of the walk positions."""
        if self.config.mask_rate == 0:
            return features
        stream = torch_stream(self.seed, "mask", batch.position)
        kept = torch.rand(batch.whole_size, features.shape[1], generator=stream) >= self.config.mask_rate
        return features * kept[batch.rows].unsqueeze(-1).to(features.device)
