"""Training an encoder without classes: one loop for all, which hands over its state after some epochs."""

import copy
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from sanne.graph.csr import FloatArray, Graph, IntArray
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


def fit_encoder(
    make: Callable[[int], Encoder],
    optimiser: Callable[[nn.Module], torch.optim.Optimizer],
    judged: Sequence[int],
    graph: Graph,
    seed: int,
    features_from: Graph | None,
    consider: Callable[[Snapshot], None],
) -> float:
    """Train over the whole graph until the last of the `judged` epochs; return the seconds, judging left out.

    A new node is read over the larger graph that it came with.
    """
    started, waited = time.perf_counter(), 0.0
    with seeded(seed):
        reader = Reader.fit(graph, features_from, seed)
        inputs = reader.read(graph)
        encoder = make(reader.width)
        step = optimiser(encoder)
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


def adam(learning_rate: float, weight_decay: float = 0.0) -> Callable[[nn.Module], torch.optim.Optimizer]:
    """Adam over all weights of a network."""
    return lambda network: torch.optim.Adam(network.parameters(), lr=learning_rate, weight_decay=weight_decay)


def evenly(epochs: int, count: int) -> list[int]:
    """`count` epochs to judge, evenly spaced, the last included."""
    return sorted({round(epochs * (number + 1) / count) for number in range(count)} - {0})
