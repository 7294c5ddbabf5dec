"""The `distil` objective: a walk predicts the soft cluster assignments of its start node's smoothed features.

The teacher needs the whole graph and no training; the student needs a few walks, so it also serves nodes that
arrive later. There is no table, so memory does not grow with the number of nodes.
"""

import dataclasses
import hashlib
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import Config, ObjectiveConfig
from sanne.device import one_blas_thread
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.encoder import WalkEncoder
from sanne.model.objective import Objective, register_objective, visit_weights
from sanne.model.safe_files import Shapes
from sanne.model.teacher import cluster_centres, smooth
from sanne.seeds import numpy_stream, torch_stream
from sanne.walks.batches import Batch

_MEAN_SAMPLE = 10_000  # nodes that the mean assignment is taken over
_MEAN_REMOVED = 0.8  # share of the mean assignment that is subtracted
_LARGEST_DEGREE = 1000  # more neighbours do not make a vector longer
_PROBE_STEPS = 2  # of smoothing, to estimate how long all of them take


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
        return torch.from_numpy(numpy_stream(seed, "mean_assignment").choice(total, count, replace=False))

    def smoothed(self, nodes: Tensor) -> Tensor:
        """Smoothed features by the first restart probability, (B, width)."""
        return self._scales[0][0][nodes]

    def logits(self, nodes: Tensor) -> Tensor:
        """Sharpened cosines to all centres, (B, sum of cluster sizes)."""
        return torch.cat(
            [self.sharpness * (F.normalize(smoothed[nodes], dim=1) @ centres.T) for smoothed, centres in self._scales],
            dim=1,
        )


@register_objective
class ClusterDistillation(Objective):
    """Soft assignments of a walk's weighted mean, corrected by the encoder; vectors are made of their square roots.

    A position weighs less the later it comes and the more neighbours its node has, so that the mean over walks is
    the teacher's own smoothing. Before the first step a walk is assigned by its mean's cosines to the teacher's
    centres, and what is left to learn is a correction.

    Most of the mean assignment is subtracted, so that cosines tell nodes apart; not all of it, or the directions of
    undecided nodes would be random.

    With `append_features`, the weighted mean of the walk's features follows, as long as smoothing makes it: longer
    the more neighbours the start has. That tells which nodes are likely to be linked, which topics alone do not.
    """

    name = "distil"
    position_weights: Tensor
    mean_assignment: Tensor
    appended_unit: Tensor
    appended_axes: Tensor | None

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__(config, width=width, num_nodes=num_nodes, seed=seed)
        settings = config.objective
        self.degree_power = settings.degree_power
        runs = [size for size in settings.cluster_sizes for _ in range(settings.cluster_seeds)]
        self.group_sizes = runs * len(settings.smoothing_alphas)
        self.num_assigned = sum(self.group_sizes)
        self.append_features = settings.append_features != "never"
        all_columns = width <= settings.appended_dim
        columns = width if all_columns else min(settings.appended_dim, self.num_assigned)
        self.vector_dim = self.num_assigned + (columns if self.append_features else 0)
        self.centres = nn.Parameter(torch.zeros(self.num_assigned, width))
        self.correction = nn.Linear(config.model.encoder_dim, self.num_assigned)
        nn.init.zeros_(self.correction.weight)
        nn.init.zeros_(self.correction.bias)
        weights = restart_weights(config.walks.walk_length, settings.restart)
        self.register_buffer("position_weights", weights, persistent=False)
        self.register_buffer("mean_assignment", torch.zeros(self.num_assigned))
        self.register_buffer("appended_unit", torch.ones(()))
        projected = self.append_features and not all_columns
        self.register_buffer("appended_axes", torch.eye(width, columns) if projected else None)
        self.teacher: Teacher | None = None  # set for training only

    @classmethod
    def expected_shapes(cls, config: Config, width: int, num_nodes: int) -> Shapes:
        """The centres of all clusterings."""
        runs = config.objective.cluster_seeds * len(config.objective.smoothing_alphas)
        return {"centres": (runs * sum(config.objective.cluster_sizes), width)}

    def prepare(self, adjacency: Adjacency, features: FloatArray) -> None:
        """Make the teacher and start from it."""
        with one_blas_thread():
            self.teacher = Teacher(adjacency, features, self.config, self.seed)
            self.init_from_teacher()

    def probe(self, adjacency: Adjacency, features: FloatArray) -> dict[str, float]:
        """Make a teacher that smooths a few steps only; the seconds that the real one would take."""
        wanted = self.config.smoothing_steps
        few = min(_PROBE_STEPS, wanted)
        times = [time.perf_counter()]
        for steps in (0, few):
            self.teacher = Teacher(
                adjacency, features, dataclasses.replace(self.config, smoothing_steps=steps), self.seed
            )
            times.append(time.perf_counter())
        unsmoothed = times[1] - times[0]
        smoothing = max(0.0, times[2] - times[1] - unsmoothed)
        return {"teacher": unsmoothed + smoothing * wanted / max(few, 1)}

    def prepared_digest(self) -> str:
        """Stands for the teacher's centres; machines of different kinds may find different ones."""
        return self.teacher.digest if self.teacher else ""

    def finish(self) -> None:
        """Drop the teacher."""
        self.teacher = None

    def preparation_bytes(self, num_nodes: int, num_arcs: int, width: int) -> int:
        """Smoothed features and the matrix that smooths them: a value and an index for each arc."""
        return 4 * num_nodes * width * (4 + len(self.config.smoothing_alphas)) + 3 * 12 * num_arcs

    @torch.no_grad()
    def init_from_teacher(self) -> None:
        """Take over the teacher's centres, its mean assignment, and the length of its features."""
        assert self.teacher is not None, "the teacher is set before training"
        self.centres.copy_(self.config.sharpness * self.teacher.centres)
        nodes = self.teacher.some_nodes(_MEAN_SAMPLE, self.seed)
        assigned = self.sqrt_assignments(self.teacher.logits(nodes))
        mean = assigned.mean(dim=0)
        self.mean_assignment.copy_(_MEAN_REMOVED * mean)
        lengths = self.teacher.smoothed(nodes).norm(), (assigned - mean).norm()
        if min(lengths) > 0:
            self.appended_unit.copy_(self.config.appended_scale * lengths[1] / lengths[0])
        if self.appended_axes is not None:
            axes: FloatArray = np.linalg.svd(self.teacher.centres.numpy(), full_matrices=False)[2]
            self.appended_axes.copy_(torch.from_numpy(axes[: self.appended_axes.shape[1]].T))

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
        """A vector per walk (B, vector_dim): square roots of the predicted assignments, less most of their mean.

        With `append_features`, then the weighted mean of its features.
        """
        mean = self._mean(features)
        assigned = self.sqrt_assignments(self._logits(encoder, features, mean)) - self.mean_assignment
        if not self.append_features:
            return assigned
        length = self.appended_unit * degrees.clamp(1, _LARGEST_DEGREE) ** self.degree_power
        appended = mean if self.appended_axes is None else mean @ self.appended_axes
        return torch.cat([assigned, length[:, None] * appended], dim=1)

    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings, (nodes,).

        The shares are spread out both where walks disagree and where each of them is undecided; the spread over walks
        shows only the first, and a node without neighbours has just one walk.
        """
        roots = vectors[:, : self.num_assigned] + self.mean_assignment.cpu().numpy()
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

    def sqrt_assignments(self, logits: Tensor) -> Tensor:
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
