"""Planetoid (Yang et al., 2016): vectors that predict contexts and classes at once, trained on classes.

Present nodes are classified by Planetoid-T, which learns a vector for every node; new nodes by Planetoid-I, whose
vectors are computed from features alone. Both are trained, one after the other.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from sanne.graph.graph import Graph, IntArray
from sanne.seeds import derived_seed, numpy_stream
from sanne.walks.sample import WalkSampler
from sanne_lab.baselines.interface import Fitted, Labelled
from sanne_lab.baselines.neural import FirstLayer, Inputs, Reader, Words, seeded
from sanne_lab.baselines.supervised import Watch


@dataclass(frozen=True)
class Planetoid:
    """The authors' walks and vectors; Adam over large batches of contexts."""

    name = "planetoid"

    dim: int = 50
    hidden: int = 16  # units between features, or vectors, and classes
    walk_length: int = 10
    window: int = 3
    walk_share: float = 5 / 6  # of a train node's contexts in Planetoid-I; the others are nodes of the same class
    table_walk_share: float = 1.0  # in Planetoid-T, where class contexts teach the train nodes' own rows and no others
    negatives: int = 5  # for each context
    pairs: int = 4096  # from walks, a step
    pretraining: int = 300  # steps on contexts alone
    dropout: float = 0.5
    weight_decay: float = 5e-4  # of the weights that give classes
    learning_rate: float = 0.01
    vector_learning_rate: float = 1e-4  # of vectors and contexts, once classes are trained as well
    epochs: int = 150
    patience: int = 50

    @classmethod
    def grid(cls) -> list[Self]:
        """Candidates, the most promising first."""
        return [cls(), cls(dim=128), cls(walk_share=1.0), cls(hidden=64), cls(table_walk_share=5 / 6)]

    def settings(self) -> dict[str, Any]:
        """All of them."""
        return asdict(self)

    def fit_classes(
        self, graph: Graph, train: Labelled, val: Labelled, seed: int, features_from: Graph | None
    ) -> tuple[Fitted, float]:
        """Train both variants on the graph, classes of the train nodes only."""
        started = time.perf_counter()
        reader = Reader.fit(graph, features_from, seed)
        inputs = reader.read(graph)
        classes = int(max(train.classes.max(), val.classes.max())) + 1
        contexts = _Contexts(self, graph, train, seed)
        networks, epochs = [], []
        for number, has_table in enumerate((True, False)):  # T, then I
            with seeded(seed, number):
                network = _Network(reader.width, graph.num_nodes, classes, has_table, self)
                epochs.append(_fit(network, self, contexts, inputs, train, val))
                networks.append(network)
        seconds = time.perf_counter() - started

        def present(nodes: IntArray) -> IntArray:
            return _classes(networks[0], inputs, nodes)

        def new(larger: Graph, nodes: IntArray) -> IntArray:
            return _classes(networks[1], reader.read(larger), nodes)

        return Fitted(epochs[0], present, new), seconds


class _Contexts:
    """Draws nodes with nodes of their context: near on a walk, or of the same class."""

    def __init__(self, settings: Planetoid, graph: Graph, train: Labelled, seed: int) -> None:
        adjacency = graph.adjacency("both")
        self._settings, self._train, self._seed = settings, train, seed
        self._nodes = graph.num_nodes
        self._sampler = WalkSampler(adjacency, walk_length=settings.walk_length, seed=derived_seed(seed, "shuffle"))
        linked = np.flatnonzero(np.diff(adjacency.indptr))
        self._starts = linked if len(linked) else np.arange(graph.num_nodes)

    def draw(self, step: int, share: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Nodes (pairs,), their context and negatives (pairs, 1 + negatives), and which of those count.

        `share` of a train node's contexts come from walks.
        """
        stream = numpy_stream(self._seed, "targets", step)
        pairs = self._settings.pairs
        by_class = round(pairs * len(self._train.nodes) / self._nodes * (1 - share) / share)
        parts = zip(self._near(pairs, step, stream), self._alike(by_class, stream), strict=True)
        nodes, contexts, counted = (torch.from_numpy(np.concatenate(part)) for part in parts)
        return nodes, contexts, counted

    def _near(self, count: int, step: int, stream: np.random.Generator) -> tuple[Any, Any, Any]:
        length, window = self._settings.walk_length, self._settings.window
        walks = self._sampler.walks(stream.choice(self._starts, count), step, np.arange(count)).astype(np.int64)
        place = stream.integers(0, length, count)
        away = stream.integers(1, window + 1, count) * stream.choice([-1, 1], count)
        away = np.where((place + away < 0) | (place + away >= length), -away, away)
        other = np.clip(place + away, 0, length - 1)
        nodes, near = (walks[np.arange(count), where] for where in (place, other))
        drawn = stream.integers(0, self._nodes, (count, self._settings.negatives))
        contexts = np.column_stack([near, drawn])
        return nodes, contexts, np.ones(contexts.shape, bool)

    def _alike(self, count: int, stream: np.random.Generator) -> tuple[Any, Any, Any]:
        nodes, classes = self._train.nodes, self._train.classes
        order = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes)
        first = np.cumsum(sizes) - sizes
        picked = stream.integers(0, len(nodes), count)
        group = classes[picked]
        mate = order[first[group] + (stream.random(count) * sizes[group]).astype(np.int64)]
        drawn = stream.integers(0, len(nodes), (count, self._settings.negatives))
        others = classes[drawn] != group[:, None]  # a node of the same class is no negative
        contexts = np.column_stack([nodes[mate], nodes[drawn]])
        return nodes[picked], contexts, np.column_stack([np.ones(count, bool), others])


class _Network(nn.Module):
    """Scores of classes from features and vectors; vectors from a table (T) or from features (I)."""

    def __init__(self, width: int, nodes: int, classes: int, has_table: bool, settings: Planetoid) -> None:
        super().__init__()
        dim, hidden = settings.dim, settings.hidden
        self.walk_share = settings.table_walk_share if has_table else settings.walk_share
        self.table = nn.Parameter(torch.randn(nodes, dim) / dim) if has_table else None
        self.inward = None if has_table else FirstLayer(width, dim)
        self.contexts = nn.Parameter(torch.zeros(nodes, dim))
        self.features = FirstLayer(width, hidden, settings.dropout)
        self.vectors = nn.Linear(dim, hidden)
        self.scores = nn.Linear(2 * hidden, classes)
        self.dropout = nn.Dropout(settings.dropout)

    def embed(self, words: Words) -> torch.Tensor:
        """A vector for every node."""
        if self.table is not None:
            return self.table
        assert self.inward is not None
        return nn.functional.softsign(10 * self.inward(words))

    def forward(self, words: Words, nodes: torch.Tensor) -> torch.Tensor:
        features = torch.relu(self.features(words)[nodes])
        vectors = torch.relu(self.vectors(self.dropout(self.embed(words)[nodes])))
        found: torch.Tensor = self.scores(self.dropout(torch.cat([features, vectors], dim=1)))
        return found

    def context_loss(self, words: Words, drawn: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
        nodes, contexts, counted = drawn
        agreement = torch.einsum("nd,nkd->nk", self.embed(words)[nodes], self.contexts[contexts])
        signs = torch.ones(contexts.shape[1]).index_fill(0, torch.arange(1, contexts.shape[1]), -1.0)
        return -(nn.functional.logsigmoid(signs * agreement) * counted).sum() / len(nodes)


def _fit(
    network: _Network, settings: Planetoid, contexts: _Contexts, inputs: Inputs, train: Labelled, val: Labelled
) -> int:
    """Contexts alone, then contexts and classes in turn; the best epoch stays."""
    decayed = [*network.features.parameters(), *network.vectors.parameters(), *network.scores.parameters()]
    others = [weight for weight in network.parameters() if all(weight is not one for one in decayed)]
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": others}]
    optimiser = torch.optim.Adam(groups, lr=settings.learning_rate)

    def step(loss: torch.Tensor) -> None:
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def context_loss(number: int) -> torch.Tensor:
        return network.context_loss(words, contexts.draw(number, network.walk_share))

    words = inputs.words
    nodes, targets = torch.from_numpy(train.nodes), torch.from_numpy(train.classes)
    for number in range(settings.pretraining):
        step(context_loss(number))
    optimiser.param_groups[1]["lr"] = settings.vector_learning_rate
    watch = Watch()
    for epoch in range(1, settings.epochs + 1):
        network.train()
        step(context_loss(settings.pretraining + epoch))
        step(nn.functional.cross_entropy(network(words, nodes), targets))
        network.eval()
        with torch.no_grad():
            scores = network(words, torch.from_numpy(val.nodes))
        if watch.judge(epoch, scores, val, network) >= settings.patience:
            break
    return watch.restore(network)


def _classes(network: _Network, inputs: Inputs, nodes: IntArray) -> IntArray:
    with seeded(0), torch.no_grad():
        found = network(inputs.words, torch.from_numpy(np.asarray(nodes, np.int64))).argmax(dim=1).numpy()
    return np.asarray(found, np.int64)
