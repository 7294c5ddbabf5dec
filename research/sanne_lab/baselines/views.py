"""What BGRL and GRACE share: a graph convolutional encoder, and views of a graph without some features and edges."""

from collections.abc import Callable

import torch
from torch import nn

from sanne_lab.baselines.neural import FirstLayer, Inputs, Nothing, geometric_layers, without_some_edges


class Convolutions(nn.Module):
    """Two graph convolutions, each followed by `after(outputs)`."""

    def __init__(self, width: int, hidden: int, dim: int, after: Callable[[int], nn.Module]) -> None:
        super().__init__()
        layers = geometric_layers()
        self.words = FirstLayer(width, hidden)
        # The edges come normalised.
        self.first = layers.GCNConv(hidden, hidden, normalize=False)
        self.first.lin = Nothing()  # its weights are those of `words`
        self.second = layers.GCNConv(hidden, dim, normalize=False)
        self.after = nn.ModuleList([after(hidden), after(dim)])

    def forward(self, inputs: Inputs) -> torch.Tensor:
        return self._through(self.words(inputs.words), inputs.spread)

    def view(self, inputs: Inputs, kept: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        """Vectors by some of the features (0 or 1 for each) and edges."""
        return self._through(inputs.words.product(self.words.weight * kept[:, None]), spread)

    def damaged(self, inputs: Inputs, features: float, edges: float) -> tuple[torch.Tensor, torch.Tensor]:
        """What is left for a view when shares of the features and of the edges are dropped."""
        return (torch.rand(len(self.words.weight)) >= features).float(), without_some_edges(inputs, edges)

    def _through(self, hidden: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
        hidden = self.after[0](self.first(hidden, spread))
        vectors: torch.Tensor = self.after[1](self.second(hidden, spread))
        return vectors
