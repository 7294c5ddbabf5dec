"""The walk encoder with its objective: SANNE as in the paper."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import sanne.paper.neighbours  # noqa: F401 (registers its objective)
from sanne.config import Config
from sanne.features.base import FeatureMap
from sanne.features.choose import choose_features, fit_features
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.model.model import Asked, Contribution, Model, Reading, largest_shares
from sanne.model.safe_files import Shapes, check_shapes
from sanne.paper.batches import Batch
from sanne.paper.device import torch_threads
from sanne.paper.encoder import WalkEncoder
from sanne.paper.objective import Objective, objective_kind
from sanne.seeds import derived_seed

WALKS_AT_ONCE = 4096  # read by the encoder together


class WalkModel(nn.Module, Model):
    """Walks of features in; a loss for training, or a vector per walk, out."""

    encoder: WalkEncoder
    objective: Objective
    untrained_if_isolated = True

    def __init__(self, config: Config, *, width: int, num_nodes: int, seed: int) -> None:
        super().__init__()
        kind = objective_kind(config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "initialise"))
            self.encoder = WalkEncoder(config.model, width, config.walks.walk_length)
            self.objective = kind(config, width=width, num_nodes=num_nodes, seed=seed)
        self.vector_dim = self.objective.vector_dim
        self._num_walks = config.infer.num_inference_walks
        self._threads = config.train.threads
        self.nodes_at_once = max(1, WALKS_AT_ONCE // self._num_walks)

    @classmethod
    def fit_features(
        cls, graph: Graph, features_from: Graph, config: Config, seed: int
    ) -> tuple[FeatureMap, FloatArray]:
        if features_from is graph:
            return choose_features(graph, config.features).fit_transform(graph, config.features, seed)
        feature_map = fit_features(features_from, config.features, seed)
        return feature_map, feature_map.transform(graph)

    @classmethod
    def empty(cls, config: Config, feature_map: FeatureMap, num_nodes: int, seed: int, shapes: Shapes | None) -> Self:
        parts = {"width": feature_map.width, "num_nodes": num_nodes, "seed": seed}
        if shapes is not None:
            with torch.device("meta"):  # takes no memory for its tensors
                expected = {name: tuple(tensor.shape) for name, tensor in cls(config, **parts).state_dict().items()}
            check_shapes(shapes, expected)
        return cls(config, **parts)

    def arrays(self) -> dict[str, FloatArray]:
        return {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}

    def fill(self, arrays: dict[str, FloatArray]) -> None:
        self.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})

    def loss(self, features: Tensor, batch: Batch) -> Tensor:
        """The loss of a batch of walks, `features` (B, N, width)."""
        return self.objective.loss(self.encoder, features, batch)

    def forward(self, features: Tensor) -> Tensor:
        """A vector per walk, (B, vector_dim), from features (B, N, width)."""
        return self.objective.read(self.encoder, features)

    def read(self, asked: Asked, explain: int = 0) -> Reading:
        """The mean over `num_inference_walks` walks from each node (Algorithm 2)."""
        device = next(self.eval().parameters()).device
        walks = asked.walks(self._num_walks)
        # Set torch's modes anew for each batch: between batches, other code uses torch.
        with torch_threads(self._threads, walks.size), torch.inference_mode():
            features = torch.from_numpy(np.require(asked.along(walks), requirements="W")).to(device)
            per_walk = self(features).cpu().view(asked.count, self._num_walks, -1)
            vectors: FloatArray = per_walk.mean(dim=1).numpy()
            contributions: list[Contribution] = []
            if explain:
                shares = self.objective.position_shares(self.encoder, features).cpu().numpy()
                contributions = list(_visited(walks, shares, self._num_walks, explain))
        return Reading(vectors, self.uncertainty(vectors), contributions)

    def present_vectors(self) -> FloatArray | None:
        return self.objective.present_vectors()

    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        return np.full(len(vectors), np.nan, np.float32)


def _visited(
    walks: npt.NDArray[np.integer[Any]], shares: FloatArray, num_walks: int, count: int
) -> Iterator[Contribution]:
    """For each start, the nodes that contributed most to its vector, including itself."""
    for first in range(0, len(walks), num_walks):
        part = slice(first, first + num_walks)
        visited, where = np.unique(walks[part].ravel(), return_inverse=True)
        total = np.bincount(where, shares[part].ravel()) / num_walks
        nodes: IntArray = visited.astype(np.int64)
        yield largest_shares(nodes, total, count)
