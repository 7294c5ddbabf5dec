"""Training a network on classes: every epoch is judged on the validation nodes, the best one is kept."""

import copy
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from sanne.graph.graph import Graph, IntArray
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.neural import Inputs, Reader, seeded

_LAYERS = 2  # of every network here


@dataclass(frozen=True)
class NetworkSystem(ABC):
    """A network that scores `Inputs`, trained on classes over the whole graph.

    Training ends after `epochs`, or when neither validation figure got better for `patience` epochs.
    A new node is read over the larger graph that it came with.
    """

    judge_every: ClassVar[int] = 1  # epochs from one judgement to the next

    dropout: float = 0.6
    weight_decay: float = 5e-4
    learning_rate: float = 0.01
    epochs: int = 300
    patience: int = 50

    @abstractmethod
    def make_network(self, width: int, classes: int) -> nn.Module:
        """The network for features of some width."""

    def optimiser(self, network: Any) -> torch.optim.Optimizer:
        """Adam over all weights."""
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train on the whole graph, classes of the train nodes only."""
        started = time.perf_counter()
        with seeded(seed):
            reader = Reader.fit(graph, features_from, seed)
            inputs = reader.read(graph)
            classes = int(max(train.classes.max(), val.classes.max())) + 1
            network = self.make_network(reader.width, classes)
            epoch = self._train(network, inputs, train, val)
        seconds = time.perf_counter() - started

        def predict(inputs: Inputs, nodes: IntArray) -> IntArray:
            with seeded(seed), torch.no_grad():
                found = network(inputs).argmax(dim=1).numpy()[np.asarray(nodes)]
            return np.asarray(found, np.int64)

        def new(larger: Graph, nodes: IntArray) -> IntArray:
            return predict(reader.read(larger), nodes)

        return Fitted(epoch, present=lambda nodes: predict(inputs, nodes), new=new), seconds

    def _train(self, network: nn.Module, inputs: Inputs, train: Labelled, val: Labelled) -> int:
        """Leave the network as it was in its best epoch, in evaluation mode; return that epoch."""
        optimiser = self.optimiser(network)
        seen, rows = inputs.around(train.nodes, _LAYERS)
        judged, val_rows = inputs.around(val.nodes, _LAYERS)
        targets = torch.from_numpy(train.classes)
        watch = Watch()
        for epoch in range(1, self.epochs + 1):
            network.train()
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(seen)[rows], targets).backward()
            optimiser.step()
            if epoch % self.judge_every:
                continue
            network.eval()
            with torch.no_grad():
                scores = network(judged)[val_rows]
            if watch.judge(epoch, scores, val, network) >= self.patience:
                break
        return watch.restore(network)


class Watch:
    """Keeps the epoch with the best validation accuracy, the smaller loss of equals."""

    def __init__(self) -> None:
        self._best = (-1.0, 0.0)  # accuracy, minus the loss
        self._highest, self._lowest = -1.0, float("inf")
        self._epoch = self._improved = 0
        self._state: dict[str, torch.Tensor] = {}

    def judge(self, epoch: int, scores: torch.Tensor, val: Labelled, network: nn.Module) -> int:
        """Note an epoch's scores of the validation nodes; return how many epochs ago one of the figures got better."""
        classes = torch.from_numpy(val.classes)
        accuracy = float((scores.argmax(dim=1) == classes).float().mean())
        loss = float(nn.functional.cross_entropy(scores, classes))
        if (accuracy, -loss) > self._best:
            self._best, self._epoch = (accuracy, -loss), epoch
            self._state = copy.deepcopy(network.state_dict())
        if accuracy > self._highest or loss < self._lowest:
            self._improved = epoch
        self._highest, self._lowest = max(accuracy, self._highest), min(loss, self._lowest)
        return epoch - self._improved

    def restore(self, network: nn.Module) -> int:
        """Put the best epoch's weights back."""
        network.load_state_dict(self._state)
        network.eval()
        return self._epoch
