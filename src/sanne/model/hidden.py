"""Predict what is hidden: half of a node's words from the other half as its walks see it, and from its links.

Tokens of a node are its views (`features/views.py`) at several restarts. Each half of its words is predicted from
tokens of the other half and of its links, twice: by one ridge regression from all tokens, and by one from each kind of
token, added up. Both predictions, its own words, smoothed words and its degree stand side by side; principal axes order
the columns. All of that is linear in the tokens, so that one matrix leads from tokens to the vector. No labels, no
training loop; a node that arrives later goes through the same matrix.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import eigh
from torch import Tensor

from sanne.config import Config
from sanne.device import available_cores
from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.features.svd import definite_signs
from sanne.features.views import Views
from sanne.graph.graph import Adjacency, FloatArray, Graph
from sanne.model.clusters import doubt, spherical_kmeans
from sanne.model.model import Asked, Model, Reading, largest_shares
from sanne.model.ridge import Doubles, Prediction, predict
from sanne.model.safe_files import Shapes
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion

DEFAULT_DIM, LARGEST_DIM = 512, 4096
FITTED = 100_000  # nodes that regressions and axes are fitted on, at most
_LEFT_OUT = 0.2  # share of them that strengths and weights are chosen on
_COARSE = 16  # leading columns of a hidden half, by which views and restarts are judged
_TRUST, _LINK_TRUST = 2.0, 0.25  # powers by which a token counts: links tell little alone, much beside words
_FARTHEST = 0.2  # smoothed words mix restarts up to this one ...
_SHARP, _GAIN_SHARP = 16.0, 4.0  # ... by their R2, and by what they add to a node's own words, to these powers
_GATE, _FAINT = 8.0, 0.05  # smoothed words count less where R2 is better without them, or is below this at all
_AXES = 20_000  # nodes that the principal axes are of, at most
_CLUSTERED, _CLUSTERS = 10_000, (32, 64)  # nodes and clusters by which uncertainty is told


class Scaled(NamedTuple):
    """A view of some nodes at each restart, and what it was multiplied by."""

    rows: list[FloatArray]
    factors: FloatArray


class Block(NamedTuple):
    """A part of the vectors: how much it counts, its values, and the maps from tokens whose sum it is."""

    weight: float
    values: FloatArray  # (nodes, columns)
    maps: list[tuple[slice, Any]]  # tokens, and a factor or weights (tokens, columns)


class Token(NamedTuple):
    """A view of a node at some restart, or at a mixture of them."""

    view: int
    restart: int  # -1: the mixture
    place: slice  # among all tokens of a node


class Layout:
    """Where each token of a node is."""

    def __init__(self, config: Config, views: Views) -> None:
        restarts = config.objective.restarts
        self.directional = [*[views.directional] * (1 + 2 * views.num_splits), *[True] * (views.links is not None)]
        self.columns = np.cumsum([0, *views.widths])  # of the views in a row of features
        self.own = restarts.index(1.0)
        self.tokens: list[Token] = []
        self.width = 0
        self._add(0, (self.own, -1), views.widths)
        self.halves = range(1, 1 + 2 * views.num_splits)
        self.links = range(self.halves.stop, len(views.widths))  # one view, or none
        for view in self.halves:
            self._add(view, range(len(restarts)), views.widths)
        for view in self.links:
            self._add(view, [restarts.index(r) for r in config.objective.link_restarts], views.widths)
        self.structure = slice(self.width, self.width + len(restarts))  # the degree, and ones at each restart below 1
        self.width += len(restarts)

    def _add(self, view: int, restarts: Any, widths: list[int]) -> None:
        for restart in restarts:
            self.tokens.append(Token(view, restart, slice(self.width, self.width + widths[view])))
            self.width += widths[view]

    def of(self, view: int) -> list[Token]:
        return [token for token in self.tokens if token.view == view]


class HiddenModel(Model):
    """One matrix from tokens to vectors."""

    name = "hidden"
    nodes_at_once = 64
    reads_whole = True

    matrix: Tensor  # (tokens, dim)
    offset: Tensor  # (dim,)
    mixture: Tensor  # (restarts,): how much of each the smoothed words hold
    background: Tensor  # (feature columns + 1,): what walks see that were not followed to the end
    centres: Tensor  # (clusters, dim), rows of length one

    def __init__(self, config: Config, views: Views, seed: int, dim: int = 1) -> None:
        super().__init__()
        self._config = config.objective
        self._wanted = config.model.dim
        self._seed = seed
        self._layout = Layout(config, views)
        self.vector_dim = dim
        shapes = {
            "matrix": (self._layout.width, dim),
            "offset": (dim,),
            "mixture": (len(config.objective.restarts),),
            "background": (views.width + 1,),
            "centres": (sum(_CLUSTERS), dim),
        }
        for name, shape in shapes.items():
            self.register_buffer(name, torch.zeros(shape))
        self._present: FloatArray | None = None

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

    # Reading

    def read(self, asked: Asked, explain: int = 0) -> Reading:
        restarts, steps = self._config.restarts, self._config.restart_steps
        found = [asked.around(i, restarts, steps) for i in range(asked.count)]
        background = self.background.numpy()
        seen = np.empty((len(restarts), asked.count, len(background)), np.float32)
        for i, (surroundings, rows) in enumerate(found):
            seen[:, i, :-1] = surroundings.mean(rows, background[:-1])
            seen[:, i, -1] = surroundings.mean(np.ones((len(rows), 1), np.float32), background[-1:])[:, 0]
        degrees = np.array([surroundings.degree for surroundings, _ in found])
        vectors = self._vectors(seen, degrees)
        contributions = []
        if explain:
            for i, (surroundings, _) in enumerate(found):
                shares = surroundings.shares.astype(np.float64) @ self._importance(seen[:, i])
                contributions.append(largest_shares(surroundings.nodes, shares / max(shares.sum(), 1e-12), explain))
        return Reading(vectors, self.uncertainty(vectors), contributions)

    def read_whole(self, adjacency: Adjacency, features: FloatArray) -> FloatArray:
        diffusion = Diffusion(adjacency)
        vectors = np.tile(self.offset.numpy(), (len(features), 1))
        matrix = self.matrix.numpy()
        for view in range(len(self._layout.directional)):
            seen = self._spread(diffusion, features, view)
            for token, rows in self._tokens(view, seen.__getitem__):
                vectors += rows @ matrix[token.place]
        ones = self._spread(diffusion, features, None)[:, :, 0]
        vectors += _structure(ones, diffusion.degrees, self._layout.own) @ matrix[self._layout.structure]
        return vectors

    def present_vectors(self) -> FloatArray | None:
        return self._present

    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings."""
        return doubt(vectors, np.split(self.centres.numpy(), np.cumsum(_CLUSTERS)[:-1]))

    def _vectors(self, seen: FloatArray, degrees: Doubles) -> FloatArray:
        """Vectors (nodes, dim) from what walks see, (restarts, nodes, columns and ones)."""
        tokens = np.empty((seen.shape[1], self._layout.width), np.float32)
        for view, first in enumerate(self._layout.columns[:-1]):
            part = seen[:, :, first : self._layout.columns[view + 1]]
            for token, rows in self._tokens(view, part.__getitem__):
                tokens[:, token.place] = rows
        tokens[:, self._layout.structure] = _structure(seen[:, :, -1], degrees, self._layout.own)
        vectors: FloatArray = tokens @ self.matrix.numpy() + self.offset.numpy()
        return vectors

    def _tokens(self, view: int, at: Callable[[int], FloatArray]) -> Iterator[tuple[Token, FloatArray]]:
        """The tokens of a view, each (nodes, width), given its rows at each restart."""
        scaled = unit if self._layout.directional[view] else np.asarray
        for token in self._layout.of(view):
            if token.restart >= 0:
                yield token, scaled(at(token.restart))
            else:
                shares = self.mixture.tolist()
                mixed = sum(np.float32(share) * scaled(at(r)) for r, share in enumerate(shares) if share > 0)
                yield token, scaled(np.asarray(mixed, np.float32))

    def _importance(self, seen: FloatArray) -> Doubles:
        """How much each restart adds to the vector of one node, (restarts,), for what walks see of one."""
        matrix, found = self.matrix.numpy(), np.zeros(len(seen))
        for view, first in enumerate(self._layout.columns[:-1]):
            part = seen[:, None, first : self._layout.columns[view + 1]]
            for token, rows in self._tokens(view, part.__getitem__):
                length = float(np.linalg.norm(rows[0] @ matrix[token.place]))
                if token.restart >= 0:
                    found[token.restart] += length
                else:
                    found += length * self.mixture.numpy()
        return found / np.maximum(seen[:, -1], 1e-12)

    def _spread(self, diffusion: Diffusion, features: FloatArray, view: int | None) -> npt.NDArray[np.float32]:
        """A view (None: a column of ones) of all nodes at each restart."""
        if view is None:
            rows = np.ones((diffusion.num_nodes, 1), np.float32)
        else:
            rows = features[:, self._layout.columns[view] : self._layout.columns[view + 1]]
        return diffusion.spread(rows, self._config.restarts, self._config.restart_steps)

    # Learning

    def learn(self, adjacency: Adjacency, features: FloatArray) -> dict[str, Any]:
        """Fit the matrix to a graph; returns what was chosen, for the record."""
        diffusion = Diffusion(adjacency)
        chosen: Any = slice(None)
        whole = diffusion.num_nodes <= FITTED
        if not whole:
            chosen = np.sort(numpy_stream(self._seed, "fitted").choice(diffusion.num_nodes, FITTED, replace=False))
        seen = [self._scaled(diffusion, features, view, chosen) for view in range(len(self._layout.directional))]
        with ThreadPoolExecutor(available_cores()) as pool:  # each with one thread of BLAS: sums keep their order
            guesses = list(pool.map(lambda pair: self._guess(seen, *pair), self._pairs()))
        shares, gate = self._mixture(guesses)
        self.mixture.copy_(torch.from_numpy(shares * seen[0].factors))
        blocks = self._blocks(seen, guesses, shares, gate)
        ones = self._spread(diffusion, features, None)[:, chosen, 0]
        degrees = _structure(ones, diffusion.degrees[chosen], self._layout.own)
        spread = 1 / np.maximum(degrees.std(axis=0), 1e-6)
        blocks.append(Block(self._config.degree_weight, degrees * spread, [(self._layout.structure, np.diag(spread))]))
        vectors = self._turn(blocks)
        background = np.append(
            diffusion.background(features), diffusion.background(np.ones((len(features), 1), np.float32))
        )
        self.background.copy_(torch.from_numpy(background))
        self.centres = torch.from_numpy(self._clusters(vectors))
        self._present = vectors if whole else None
        curve = np.mean([guess.scores for guess in guesses], axis=0).round(4).tolist() if guesses else []
        return {"hidden_r2": curve, "mixture": shares.round(3).tolist(), "smoothing": round(gate, 3)}

    def _scaled(self, diffusion: Diffusion, features: FloatArray, view: int, chosen: Any) -> Scaled:
        """A view of the chosen nodes at each restart, of length one, or one in the mean where lengths say something."""
        rows = [np.ascontiguousarray(part) for part in self._spread(diffusion, features, view)[:, chosen]]
        if self._layout.directional[view]:
            return Scaled([unit(part) for part in rows], np.ones(len(rows), np.float32))
        lengths = [np.sqrt(np.mean(np.einsum("ij,ij->i", part, part))) for part in rows]
        factors = (1 / np.maximum(lengths, 1e-12)).astype(np.float32)
        return Scaled([factor * part for factor, part in zip(factors, rows, strict=True)], factors)

    def _pairs(self) -> list[tuple[int, int]]:
        """Which half is seen and which is hidden, as views."""
        splits = (len(self._layout.halves)) // 2
        return [(1 + 2 * i + side, 2 + 2 * i - side) for i in range(splits) for side in (0, 1)]

    def _seen_tokens(self, view: int) -> list[Token]:
        """What a hidden half is predicted from: the other half at all restarts, and the links."""
        return self._layout.of(view) + [token for link in self._layout.links for token in self._layout.of(link)]

    def _guess(self, seen: list[Scaled], view: int, hidden: int) -> Prediction:
        tokens = self._seen_tokens(view)
        rows = [seen[token.view].rows[token.restart] for token in tokens]
        left_out = numpy_stream(self._seed, "left_out", view).random(len(rows[0])) < _LEFT_OUT
        trust = np.array([_LINK_TRUST if token.view in self._layout.links else _TRUST for token in tokens])
        return predict(rows, seen[hidden].rows[self._layout.own], left_out, trust, _COARSE)

    def _mixture(self, guesses: list[Prediction]) -> tuple[FloatArray, float]:
        """How much of each restart the smoothed words hold, (restarts,), and how much these count.

        Without a hidden half nothing tells: all the far restarts alike.
        """
        restarts = np.array(self._config.restarts)
        far = restarts <= max(_FARTHEST, float(restarts.min()))
        if not guesses:
            return (far / far.sum()).astype(np.float32), 1.0
        curve = np.maximum(np.mean([guess.scores for guess in guesses], axis=0)[: len(restarts)], 1e-6)
        gain = np.maximum(np.mean([guess.gains for guess in guesses], axis=0)[: len(restarts)], 1e-6)
        by_score = np.where(far, (curve / curve[far].max()) ** _SHARP, 0)
        by_gain = np.where(far, (gain / gain[far].max()) ** _GAIN_SHARP, 0)
        gate = (curve[far].max() / curve.max()) ** _GATE * min(1.0, curve.max() / _FAINT)
        return ((by_score / by_score.sum() + by_gain / by_gain.sum()) / 2).astype(np.float32), float(gate)

    def _blocks(self, seen: list[Scaled], guesses: list[Prediction], shares: FloatArray, gate: float) -> list[Block]:
        """The parts of a vector, before they are turned to principal axes."""
        config, layout = self._config, self._layout
        own, mixed = layout.of(0)
        words = seen[0].rows[layout.own]
        smooth = np.zeros_like(words)
        for share, rows in zip(shares, seen[0].rows, strict=True):
            smooth += share * rows
        smooth = unit(smooth) if layout.directional[0] else smooth
        factor = seen[0].factors[layout.own]
        blocks = [
            Block(config.own_weight if guesses else 1.0, words, [(own.place, factor)]),
            Block(config.smoothed_weight * gate, smooth, [(mixed.place, 1.0)]),
        ]
        if not guesses:
            for link in layout.links:
                for token in layout.of(link)[-1:]:
                    blocks.append(Block(config.joint_weight, seen[link].rows[token.restart], [(token.place, 1.0)]))
        for weight, name in ((config.joint_weight, "joint"), (config.stacked_weight, "stacked")):
            parts: list[FloatArray] = []
            maps: list[tuple[slice, Any]] = []
            for (view, _), guess in zip(self._pairs(), guesses, strict=True):
                weights = getattr(guess, name)
                total = np.zeros((len(words), weights.shape[1]), np.float32)
                first = 0
                for token in self._seen_tokens(view):
                    rows = seen[token.view].rows[token.restart]
                    part = weights[first : first + rows.shape[1]]
                    first += rows.shape[1]
                    total += rows @ part
                    columns = np.zeros((rows.shape[1], weights.shape[1] * len(guesses)), np.float32)
                    columns[:, len(parts) * weights.shape[1] :][:, : weights.shape[1]] = part
                    maps.append((token.place, seen[token.view].factors[token.restart] * columns))
                parts.append(total)
            if parts:
                blocks.append(Block(weight, np.concatenate(parts, axis=1), maps))
        return [block for block in blocks if block.weight > 0]

    def _turn(self, blocks: list[Block]) -> FloatArray:
        """Set the matrix and the offset: blocks side by side, centred and scaled, on their principal axes."""
        means = [block.values.mean(axis=0, dtype=np.float64) for block in blocks]
        scales = []
        for block, mean in zip(blocks, means, strict=True):
            block.values[...] -= mean.astype(np.float32)
            length = np.sqrt(np.mean(np.einsum("ij,ij->i", block.values, block.values)))
            scales.append(block.weight / max(float(length), 1e-12) if length > 1e-9 else 0.0)
        rows = np.concatenate([np.float32(s) * b.values for s, b in zip(scales, blocks, strict=True)], axis=1)
        sample = rows[numpy_stream(self._seed, "axes").permutation(len(rows))[:_AXES]]
        values, axes = eigh((sample.T @ sample).astype(np.float64))
        rank = min(int(np.sum(values > 1e-9 * max(values[-1], 1e-30))), max(len(sample) - 1, 1))
        if self._wanted > rank:
            raise InputError(
                f"dim ({self._wanted}) is larger than what this graph can fill ({rank} numbers): choose a smaller one, "
                "or 0 for the default"
            )
        self.vector_dim = max(1, min(self._wanted or DEFAULT_DIM, rank))
        turned = definite_signs(axes[:, ::-1][:, : self.vector_dim].astype(np.float32))
        matrix = np.zeros((self._layout.width, self.vector_dim), np.float32)
        offset = np.zeros(self.vector_dim)
        first = 0
        for block, mean, scale in zip(blocks, means, scales, strict=True):
            part = scale * turned[first : first + len(mean)]
            first += len(mean)
            offset -= mean @ part
            for place, weights in block.maps:
                matrix[place] += weights @ part if isinstance(weights, np.ndarray) else weights * part
        self.matrix, self.offset = torch.from_numpy(matrix), torch.from_numpy(offset.astype(np.float32))
        return np.ascontiguousarray(rows @ turned)

    def _clusters(self, vectors: FloatArray) -> FloatArray:
        stream = numpy_stream(self._seed, "cluster")
        rows = unit(vectors[stream.permutation(len(vectors))[:_CLUSTERED]])
        return np.concatenate([spherical_kmeans(rows, size, stream) for size in _CLUSTERS])


def _structure(ones: FloatArray, degrees: Doubles, own: int) -> FloatArray:
    """Logarithms of the degree, and of what a column of ones becomes at each restart below 1, (nodes, restarts)."""
    columns = np.log(np.maximum(ones.T, 1e-6))
    columns[:, own] = np.log(degrees)
    return np.ascontiguousarray(columns, np.float32)
