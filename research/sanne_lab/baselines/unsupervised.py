"""Training an encoder without classes: one loop for all, which hands over its state after some epochs."""

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne_lab.baselines.interface import Snapshot
from sanne_lab.baselines.neural import Inputs, Reader, seeded


class Encoder(nn.Module):
    """A network with an objective of its own."""

    @abstractmethod
    def loss(self, inputs: Inputs, epoch: int) -> torch.Tensor:
        """What training makes smaller."""

    @abstractmethod
    def encode(self, inputs: Inputs) -> torch.Tensor:
        """Vectors of all nodes, (nodes, dim)."""


@dataclass(frozen=True)
class EncoderSystem(ABC):
    """A system that trains an encoder over the whole graph; a new node is read over the larger graph it came with."""

    learning_rate: float = 1e-3
    epochs: int = 120
    snapshots: int = 4  # states to judge, evenly spaced, the last included

    @abstractmethod
    def make_encoder(self, width: int, graph: Graph, seed: int) -> Encoder:
        """The encoder for features of some width."""

    def optimiser(self, encoder: Encoder) -> torch.optim.Optimizer:
        """Adam over all weights."""
        return torch.optim.Adam(encoder.parameters(), lr=self.learning_rate)

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)

    def fit(self, graph: Graph, seed: int, features_from: Graph | None, consider: Callable[[Snapshot], None]) -> float:
        """Train, hand over some states; return the seconds, judging left out."""
        started, waited = time.perf_counter(), 0.0
        judged = {round(self.epochs * (number + 1) / self.snapshots) for number in range(self.snapshots)} - {0}
        with seeded(seed):
            reader = Reader.fit(graph, features_from, seed)
            inputs = reader.read(graph)
            encoder = self.make_encoder(reader.width, graph, seed)
            step = self.optimiser(encoder)
            for epoch in range(1, max(judged) + 1):
                encoder.train()
                step.zero_grad()
                encoder.loss(inputs, epoch).backward()
                step.step()
                if epoch in judged:
                    paused = time.perf_counter()
                    with torch.random.fork_rng(devices=[]):
                        consider(_snapshot(copy.deepcopy(encoder).eval(), epoch, reader, inputs))
                    waited += time.perf_counter() - paused
        return time.perf_counter() - started - waited


def _snapshot(encoder: Encoder, epoch: int, reader: Reader, inputs: Inputs) -> Snapshot:
    def vectors(inputs: Inputs) -> FloatArray:
        with torch.no_grad():
            return np.asarray(encoder.encode(inputs).numpy(), np.float32)

    def new(larger: Graph, nodes: IntArray) -> FloatArray:
        return vectors(reader.read(larger))[np.asarray(nodes)]

    return Snapshot(epoch, present=lambda: vectors(inputs), new=new)
