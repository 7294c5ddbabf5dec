"""Predict what is hidden: half of a node's words from the other half as its walks see it, and from its links.

Tokens of a node are its views (`features/views.py`) as walks with several restarts see them. Each half of its words is
predicted from tokens of the other half and of its links (`model/learn.py`). Predictions, its own words, smoothed words
and its degree are the parts of its vector, on their principal axes. All parts are linear in the tokens, so that one
matrix leads from tokens to the vector. There are no labels and there is no training loop; a node that arrives later
goes through the same matrix.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sanne.config import Config
from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.features.views import Views
from sanne.graph.graph import Adjacency, FloatArray, Graph
from sanne.model.clusters import doubt
from sanne.model.model import Asked, Model, Reading, largest_shares
from sanne.model.ridge import Doubles
from sanne.model.safe_files import Shapes
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion, step_weights

LARGEST_DIM = 4096
CLUSTERS = (32, 64)  # sizes of the clusterings by which uncertainty is told
_SPREAD_BYTES = 2**29  # of one view at all restarts, columns of it at a time


class Token(NamedTuple):
    """A view at a restart."""

    view: int
    restart: int
    place: slice  # among all tokens of a node


class Layout:
    """Where each token of a node is: its words, smoothed words, halves and links at restarts, degrees."""

    def __init__(self, config: Config, views: Views) -> None:
        restarts = config.objective.restarts
        ends = np.cumsum([0, *views.widths]).tolist()
        self.columns = [slice(first, last) for first, last in itertools.pairwise(ends)]  # of each view
        self.halves = range(1, 1 + 2 * views.num_splits)
        rest = range(self.halves.stop, len(views.widths))
        self.fine = rest[:1] if views.fine is not None else rest[:0]  # one view, or none
        self.links = rest[len(self.fine) :]  # one view, or none
        self.directional = views.directional
        self.itself = restarts.index(1.0)
        words = views.widths[0]
        self.own, self.smoothed, self.width = slice(0, words), slice(words, 2 * words), 2 * words
        self.seen: list[Token] = []
        kinds = dict.fromkeys(self.halves, restarts)
        kinds |= dict.fromkeys(self.fine, (1.0,)) | dict.fromkeys(self.links, config.objective.link_restarts)
        for view, at in kinds.items():
            for restart in at:
                place = slice(self.width, self.width + views.widths[view])
                self.seen.append(Token(view, restarts.index(restart), place))
                self.width = place.stop
        self.degrees = slice(self.width, self.width + len(restarts))
        self.width = self.degrees.stop

    def of(self, view: int) -> list[Token]:
        return [token for token in self.seen if token.view == view]


class HiddenModel(Model):
    """One matrix from tokens to vectors."""

    name = "hidden"
    nodes_at_once = 64
    reads_whole = True

    matrix: Tensor  # (tokens, dim)
    offset: Tensor  # (dim,)
    mixture: Tensor  # (restarts,): how much of each the smoothed words hold
    background: Tensor  # (feature columns + 1,): what walks see that were not followed to the end; the last is of ones
    centres: Tensor  # (clusters, dim), rows of length one

    def __init__(self, config: Config, views: Views, seed: int, dim: int = 1) -> None:
        super().__init__()
        self.config = config.objective
        self.wanted_dim = config.model.dim
        self.seed = seed
        self.layout = Layout(config, views)
        self.vector_dim = dim
        self.step_weights = step_weights(self.config.restarts, self.config.restart_steps)
        shapes = {
            "matrix": (self.layout.width, dim),
            "offset": (dim,),
            "mixture": (len(self.config.restarts),),
            "background": (views.width + 1,),
            "centres": (sum(CLUSTERS), dim),
        }
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))
        self.present: FloatArray | None = None

    @classmethod
    def fit_features(
        cls, graph: Graph, features_from: Graph, config: Config, seed: int
    ) -> tuple[FeatureMap, FloatArray]:
        views, rows = Views.fit_transform(features_from, config.features, seed)
        return views, rows if features_from is graph else views.transform(graph)

    @classmethod
    def empty(cls, config: Config, feature_map: FeatureMap, num_nodes: int, seed: int, shapes: Shapes | None) -> Self:
        if not isinstance(feature_map, Views):
            raise InputError(f"features {feature_map.name!r}, where a model of hidden words reads views")
        dim = 1 if shapes is None else shapes["matrix"][1]
        if dim > LARGEST_DIM:
            raise InputError(f"vectors of {dim} numbers, where at most {LARGEST_DIM} are possible")
        if shapes is not None and config.model.dim not in (0, dim):
            raise InputError(f"vectors of {dim} numbers, where the setting dim is {config.model.dim}")
        return cls(config, feature_map, seed, dim)

    def read(self, asked: Asked, explain: int = 0) -> Reading:
        restarts, steps = self.config.restarts, self.config.restart_steps
        found = [asked.around(i, restarts, steps) for i in range(asked.count)]
        background = self.background.numpy()
        seen = np.empty((len(restarts), asked.count, len(background)), np.float32)
        for i, (surroundings, rows) in enumerate(found):
            seen[:, i, :-1] = surroundings.mean(rows, background[:-1])
            seen[:, i, -1] = surroundings.mean(np.ones((len(rows), 1), np.float32), background[-1:])[:, 0]
        degrees = np.array([surroundings.degree for surroundings, _ in found])
        matrix = self.matrix.numpy()
        vectors = np.tile(self.offset.numpy(), (asked.count, 1))
        for place, rows, _ in self._tokens(seen, degrees):
            vectors += rows @ matrix[place]
        contributions = []
        if explain:
            importance = self._importance(seen, degrees)
            for (surroundings, _), weights in zip(found, importance, strict=True):
                shares = surroundings.shares.astype(np.float64) @ weights
                contributions.append(largest_shares(surroundings.nodes, shares / max(shares.sum(), 1e-12), explain))
        return Reading(vectors, self.uncertainty(vectors), contributions)

    def read_whole(self, adjacency: Adjacency, features: FloatArray) -> FloatArray:
        diffusion, layout, matrix = Diffusion(adjacency), self.layout, self.matrix.numpy()
        words = features[:, layout.columns[0]]
        vectors = words @ matrix[layout.own] + self.offset.numpy()
        vectors += self.smoothed(diffusion, words, self.mixture.numpy()) @ matrix[layout.smoothed]
        for token, columns, rows in self.spread(diffusion, features):
            vectors += rows @ matrix[token.place][columns]
        vectors += self.degrees(diffusion) @ matrix[layout.degrees]
        return vectors

    def present_vectors(self) -> FloatArray | None:
        return self.present

    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings."""
        return doubt(vectors, np.split(self.centres.numpy(), np.cumsum(CLUSTERS)[:-1]))

    def spread(self, diffusion: Diffusion, features: FloatArray) -> Iterator[tuple[Token, slice, FloatArray]]:
        """Tokens of all nodes, some columns of a view at a time: the token, which of its columns, and the rows."""
        for view in (*self.layout.halves, *self.layout.fine, *self.layout.links):
            tokens, place = self.layout.of(view), self.layout.columns[view]
            if {token.restart for token in tokens} <= {self.layout.itself}:  # nothing to spread
                for token in tokens:
                    yield token, slice(0, place.stop - place.start), features[:, place]
                continue
            if not tokens:
                continue
            weights = self.step_weights[:, [token.restart for token in tokens]]
            at_once = max(1, _SPREAD_BYTES // (4 * len(tokens) * diffusion.num_nodes))
            for first in range(0, place.stop - place.start, at_once):
                columns = slice(first, min(first + at_once, place.stop - place.start))
                part = features[:, place.start + columns.start : place.start + columns.stop]
                for token, rows in zip(tokens, diffusion.spread(part, weights), strict=True):
                    yield token, columns, rows

    def smoothed(self, diffusion: Diffusion, words: FloatArray, mixture: FloatArray) -> FloatArray:
        """The words of all nodes at a mixture of restarts."""
        rows = diffusion.spread(words, self.step_weights @ mixture[:, None])[0]
        return unit(rows) if self.layout.directional else rows

    def degrees(self, diffusion: Diffusion) -> FloatArray:
        """What is said of the degree of all nodes, and of those around them."""
        ones = np.ones((diffusion.num_nodes, 1), np.float32)
        return self._degrees(diffusion.spread(ones, self.step_weights)[:, :, 0], diffusion.degrees)

    def _degrees(self, ones: FloatArray, degrees: Doubles) -> FloatArray:
        """Logarithms of the degree, and of what a column of ones becomes at each restart below 1, (nodes, restarts)."""
        columns = np.log(np.maximum(ones.T, 1e-6))
        columns[:, self.layout.itself] = np.log(degrees)
        return np.ascontiguousarray(columns, np.float32)

    def _tokens(self, seen: FloatArray, degrees: Doubles) -> Iterator[tuple[slice, FloatArray, npt.NDArray[Any]]]:
        """Tokens from what walks see, (restarts, nodes, feature columns and ones).

        Gives places, rows (nodes, width), and how much each restart is in them, (restarts,).
        """
        layout, each = self.layout, np.eye(len(seen), dtype=np.float32)
        words = seen[:, :, layout.columns[0]]
        yield layout.own, words[layout.itself], each[layout.itself]
        mixture = self.mixture.numpy()
        mixed = np.tensordot(mixture, words, 1)
        yield layout.smoothed, unit(mixed) if layout.directional else mixed, mixture
        for token in layout.seen:
            yield token.place, seen[token.restart][:, layout.columns[token.view]], each[token.restart]
        yield layout.degrees, self._degrees(seen[:, :, -1], degrees), np.zeros(len(seen), np.float32)

    def _importance(self, seen: FloatArray, degrees: Doubles) -> Doubles:
        """How much a visit counts at each restart, (nodes, restarts): by the length of what its tokens add."""
        matrix, found = self.matrix.numpy(), np.zeros((seen.shape[1], len(seen)))
        for place, rows, restarts in self._tokens(seen, degrees):
            found += np.linalg.norm(rows @ matrix[place], axis=1)[:, None] * restarts
        return found / np.maximum(seen[:, :, -1].T, 1e-12)
