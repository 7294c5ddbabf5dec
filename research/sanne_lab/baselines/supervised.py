"""Training a network on classes: every epoch is judged on the validation nodes, the best one is kept."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from sanne.graph.csr import Graph, IntArray
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.neural import Inputs, Reader, seeded

_LAYERS = 2  # of every network here

Network = Callable[[int, int], nn.Module]  # (feature width, number of classes) -> a network that scores `Inputs`


@dataclass(frozen=True)
class Schedule:
    """When training ends: after `epochs`, or when neither validation figure got better for `patience` epochs."""

    epochs: int
    patience: int
    every: int = 1  # epochs from one judgement to the next


def fit_network(
    make: Network,
    optimiser: Callable[[Any], torch.optim.Optimizer],
    schedule: Schedule,
    graph: Graph,
    train: Labelled,
    val: Labelled,
    seed: int,
    features_from: Graph | None,
) -> tuple[Fitted, float]:
    """Train a network over the whole graph; a new node is read over the larger graph that it came with."""
    started = time.perf_counter()
    with seeded(seed):
        reader = Reader.fit(graph, features_from, seed)
        inputs = reader.read(graph)
        classes = int(max(train.classes.max(), val.classes.max())) + 1
        network = make(reader.width, classes)
        epoch = _train(network, optimiser(network), schedule, inputs, train, val)
    seconds = time.perf_counter() - started

    def predict(inputs: Inputs, nodes: IntArray) -> IntArray:
        with seeded(seed), torch.no_grad():
            found = network(inputs).argmax(dim=1).numpy()[np.asarray(nodes)]
        return np.asarray(found, np.int64)

    return (
        Fitted(
            epoch,
            present=lambda nodes: predict(inputs, nodes),
            new=lambda larger, nodes: predict(reader.read(larger), nodes),
        ),
        seconds,
    )


def _train(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: Schedule,
    inputs: Inputs,
    train: Labelled,
    val: Labelled,
) -> int:
    """Leave the network as it was in its best epoch, in evaluation mode; return that epoch."""
    seen, rows = inputs.around(train.nodes, _LAYERS)
    judged, val_rows = inputs.around(val.nodes, _LAYERS)
    targets = torch.from_numpy(train.classes)
    watch = Watch()
    for epoch in range(1, schedule.epochs + 1):
        network.train()
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(seen)[rows], targets).backward()
        optimiser.step()
        if epoch % schedule.every:
            continue
        network.eval()
        with torch.no_grad():
            scores = network(judged)[val_rows]
        if watch.judge(epoch, scores, val, network) >= schedule.patience:
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
