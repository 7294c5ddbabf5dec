"""Does a transformer predict hidden words better than a ridge regression, and are its vectors better?

A node's tokens (one half of its words at each restart, and its links) are read as a sequence. What the encoder says is
added to what the joint ridge predicts; training stops where nodes that are left out are predicted best. The predictions
then stand in the place of the joint ones in the product's vectors. Run on nodes of the pool:

    python -m sanne_lab.suite.encoder texas chameleon cora
"""

import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

from sanne.model import learn
from sanne.model.ridge import FOLDS
from sanne.seeds import numpy_stream
from sanne_lab.suite import graphs, product, score, splits
from sanne_lab.suite.run import SPLITS
from sanne_lab.suite.view import view

EPOCHS, PATIENCE, BATCH = 60, 8, 256
READERS = ("ridge", "attention", "no attention")


class Encoder(nn.Module):
    """Two layers over the tokens of a node, then one linear map from all positions to the hidden columns."""

    def __init__(self, widths: list[int], columns: int, attention: bool, dim: int = 128) -> None:
        super().__init__()
        self.inputs = nn.ModuleList(nn.Linear(width, dim) for width in widths)
        self.positions = nn.Parameter(0.02 * torch.randn(len(widths), dim))
        if attention:
            layer = nn.TransformerEncoderLayer(dim, 8, 2 * dim, dropout=0.2, batch_first=True, norm_first=True)
            self.layers: nn.Module = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        else:
            each = (nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * dim, dim))
            self.layers = nn.Sequential(*each)
        self.output = nn.Linear(len(widths) * dim, columns)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, tokens: list[Tensor]) -> Tensor:
        rows = torch.stack([read(token) for read, token in zip(self.inputs, tokens, strict=True)], dim=1)
        found: Tensor = self.output(self.layers(rows + self.positions).flatten(1))
        return found


@dataclass
class Trained:
    """Predictions of all nodes, and R2 on those left out: of the ridge alone, and with the encoder."""

    rows: Any
    before: float
    after: float


def train(tokens: list[Any], target: Any, linear: Any, left_out: Any, attention: bool, seed: int = 0) -> Trained:
    """Learn what the ridge's predictions `linear` lack of the target."""
    torch.manual_seed(seed)
    inputs = [torch.from_numpy(np.ascontiguousarray(token)) for token in tokens]
    rest = torch.from_numpy(target - target[~left_out].mean(axis=0) - linear)
    encoder = Encoder([token.shape[1] for token in tokens], target.shape[1], attention)
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-4, weight_decay=0.05)
    seen, test = np.flatnonzero(~left_out), np.flatnonzero(left_out)
    total = float(np.square(target[test] - target[~left_out].mean(axis=0)).sum())
    best = before = 1 - float(rest[test].square().sum()) / total
    rows, waited = linear, 0
    for epoch in range(EPOCHS):
        encoder.train()
        order = np.random.default_rng([seed, epoch]).permutation(seen)
        for part in np.array_split(order, max(1, len(order) // BATCH)):
            loss = (encoder([token[part] for token in inputs]) - rest[part]).square().sum(dim=1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        encoder.eval()
        with torch.no_grad():
            found = encoder(inputs)
        r2 = 1 - float((found[test] - rest[test]).square().sum()) / total
        waited = 0 if r2 > best else waited + 1
        if r2 > best:
            best, rows = r2, linear + found.numpy()
        if waited == PATIENCE:
            break
    return Trained(rows, before, best)


def vectors_by(reader: str, seen: Any) -> tuple[Any, list[Trained]]:
    """The product's vectors with the joint predictions of a reader; what was trained for it."""
    trained: list[Trained] = []

    class Reading(learn.Learner):
        def predicted(self, guesses: Any, name: str, weight: float) -> learn.Block:
            block = super().predicted(guesses, name, weight)
            if name != "joint" or reader == "ridge":
                return block
            first = 0
            for pair, guess in zip(self.pairs, guesses, strict=True):
                columns = slice(first, first + guess.joint.shape[1])
                first = columns.stop
                stream = numpy_stream(self.model.seed, "left_out", self._number(pair[0]))
                left_out = (FOLDS * stream.random(len(self.words))).astype(np.int64) == 0
                tokens = [self.rows[key] for key in self.predictors(pair[0])]
                target = self.rows[pair[1], self.layout.itself]
                linear = block.values[:, columns] - block.values[~left_out, columns].mean(axis=0)
                trained.append(train(tokens, target, linear, left_out, reader == "attention"))
                block.values[:, columns] = trained[-1].rows
            return block

    with mock.patch.object(learn, "Learner", Reading):
        _, vectors, _ = product._fitted(seen, "best", None)
    return vectors, trained


def main() -> None:
    for name in sys.argv[1:]:
        graph = graphs.load(name)
        for reader in READERS:
            vectors, trained = vectors_by(reader, view(graph))
            found = []
            for regime in splits.regimes(graph):
                parts = [splits.choice(graph, regime, i) for i in range(SPLITS.get(graph.kind, 2))]
                if regime != "public":
                    found.append(np.mean([score.accuracy(vectors, graph.labels, part)[0] for part in parts]))
            r2 = [f"{np.mean([getattr(one, when) for one in trained]):.4f}" for when in ("before", "after") if trained]
            print(name, reader, " / ".join(f"{value:.2f}" for value in found), "R2", *r2, flush=True)


if __name__ == "__main__":
    main()
