"""Fit a model of hidden words: regressions from what is seen to what is hidden, then principal axes of all parts."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.linalg import eigh

from sanne.device import available_cores
from sanne.errors import InputError
from sanne.features.svd import definite_signs
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.clusters import spherical_kmeans
from sanne.model.hidden import CLUSTERS, HiddenModel, Token
from sanne.model.ridge import Prediction, predict
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion

DEFAULT_DIM = 512
FITTED = 100_000  # nodes that regressions and axes are fitted on, at most
_LEFT_OUT = 0.2  # share of them that strengths and weights are chosen on
_COARSE = 16  # leading columns of a hidden half, by which tokens and restarts are judged
_FAR, _SMOOTHING = 0.1, 0.2  # smoothed words mix restarts up to the first; up to the second they tell whether to smooth
_SHARP, _GAIN_SHARP = 16.0, 4.0  # they count by their R2, and by what they add to a node's own words, to these powers
_GATE, _FAINT = 8.0, 0.05  # smoothed words count less where R2 is better without them, or is below this at all
_AXES = 20_000  # nodes that the principal axes are of, at most
_CLUSTERED = 10_000  # nodes that are clustered, at most


class Block(NamedTuple):
    """A part of the vectors: how much it counts, its values, and the maps from tokens whose sum it is."""

    weight: float
    values: FloatArray  # (nodes, columns)
    maps: list[tuple[slice, Any]]  # tokens, and a factor or weights (tokens, columns)


class Learner:
    """The tokens of the nodes that a model is fitted on."""

    def __init__(self, model: HiddenModel, diffusion: Diffusion, features: FloatArray) -> None:
        self.model, self.layout = model, model.layout
        self.chosen: Any = slice(None)
        if diffusion.num_nodes > FITTED:
            stream = numpy_stream(model.seed, "fitted")
            self.chosen = np.sort(stream.choice(diffusion.num_nodes, FITTED, replace=False))
        self.words = features[self.chosen, self.layout.columns[0]]
        parts: dict[int, list[FloatArray]] = {}
        for token, _, rows in model.spread(diffusion, features):
            parts.setdefault(token.place.start, []).append(np.array(rows[self.chosen]))
        self.rows: dict[int, FloatArray] = {}  # by where a token begins; of length one in the mean
        self.factors: dict[int, np.float32] = {}  # what it was multiplied by for that
        for place in list(parts):
            rows = np.concatenate(parts.pop(place), axis=1)
            length = float(np.sqrt(np.mean(np.einsum("ij,ij->i", rows, rows))))
            self.factors[place] = np.float32(1 / max(length, 1e-12))
            self.rows[place] = self.factors[place] * rows

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Which half is seen and which is hidden, as views."""
        firsts = self.layout.halves[::2]
        return [pair for first in firsts for pair in ((first, first + 1), (first + 1, first))]

    def predictors(self, view: int) -> list[Token]:
        """What a hidden half is predicted from: the other half, and the links."""
        return self.layout.of(view) + [token for link in self.layout.links for token in self.layout.of(link)]

    def guess(self, seen: int, hidden: int) -> Prediction:
        tokens = self.predictors(seen)
        itself = next(token for token in self.layout.of(hidden) if token.restart == self.layout.itself)
        left_out = numpy_stream(self.model.seed, "left_out", seen).random(len(self.words)) < _LEFT_OUT
        rows = [self.rows[token.place.start] for token in tokens]
        return predict(rows, self.rows[itself.place.start], left_out, _COARSE)

    def predicted(self, guesses: list[Prediction], name: str, weight: float) -> Block:
        """The predictions of all halves side by side."""
        width = sum(getattr(guess, name).shape[1] for guess in guesses)
        values = np.zeros((len(self.words), width), np.float32)
        maps: list[tuple[slice, Any]] = []
        first = 0
        for (seen, _), guess in zip(self.pairs, guesses, strict=True):
            weights = getattr(guess, name)
            columns = slice(first, first + weights.shape[1])
            first, row = columns.stop, 0
            for token in self.predictors(seen):
                rows = self.rows[token.place.start]
                part = weights[row : row + rows.shape[1]]
                row += rows.shape[1]
                values[:, columns] += rows @ part
                spread = np.zeros((rows.shape[1], width), np.float32)
                spread[:, columns] = self.factors[token.place.start] * part
                maps.append((token.place, spread))
        return Block(weight, values, maps)

    def seen(self, token: Token, weight: float) -> Block:
        """A token as it is."""
        return Block(weight, self.rows[token.place.start].copy(), [(token.place, self.factors[token.place.start])])


def learn(model: HiddenModel, adjacency: Adjacency, features: FloatArray) -> dict[str, Any]:
    """Fit a model to a graph; returns what was chosen, for the record."""
    diffusion, config, layout = Diffusion(adjacency), model.config, model.layout
    learner = Learner(model, diffusion, features)
    with ThreadPoolExecutor(available_cores()) as pool:  # each with one thread of BLAS, so that sums keep their order
        guesses = list(pool.map(lambda pair: learner.guess(*pair), learner.pairs))
    mixture, gate = choose_smoothing(guesses, np.array(config.restarts))
    smoothed = model.smoothed(diffusion, features[:, layout.columns[0]], mixture)[learner.chosen]
    degrees = model.degrees(diffusion)[learner.chosen]
    narrow = 1 / np.maximum(degrees.std(axis=0), 1e-6)
    blocks = [
        Block(config.own_weight if guesses else 1.0, learner.words.copy(), [(layout.own, 1.0)]),
        Block(config.smoothed_weight * gate, np.array(smoothed), [(layout.smoothed, 1.0)]),
        Block(config.degree_weight, degrees * narrow, [(layout.degrees, np.diag(narrow))]),
    ]
    blocks += [learner.seen(token, config.fine_weight) for view in layout.fine for token in layout.of(view)]
    if guesses:
        blocks.append(learner.predicted(guesses, "joint", config.joint_weight))
        blocks.append(learner.predicted(guesses, "stacked", config.stacked_weight))
    else:
        blocks += [learner.seen(token, config.joint_weight) for view in layout.links for token in layout.of(view)]
    vectors = _turn(model, [block for block in blocks if block.weight > 0])
    model.mixture.copy_(torch.from_numpy(mixture))
    ones = np.ones((len(features), 1), np.float32)
    anywhere = np.append(diffusion.background(features), diffusion.background(ones))
    model.background.copy_(torch.from_numpy(anywhere))
    model.centres = torch.from_numpy(_centres(vectors, model.seed))
    model.present = vectors if len(vectors) == diffusion.num_nodes else None
    curve = np.mean([guess.scores for guess in guesses], axis=0).round(4).tolist() if guesses else []
    return {"hidden_r2": curve, "mixture": mixture.astype(float).round(3).tolist(), "smoothing": round(gate, 3)}


def choose_smoothing(guesses: list[Prediction], restarts: Any) -> tuple[FloatArray, float]:
    """How much of each restart the smoothed words hold, (restarts,), and how much these count.

    By how well each restart predicts hidden words. Without a hidden half nothing tells: all the far ones alike.
    """
    far, smooth = (restarts <= max(limit, float(restarts.min())) for limit in (_FAR, _SMOOTHING))
    if not guesses:
        return (far / far.sum()).astype(np.float32), 1.0
    curve = np.maximum(np.mean([guess.scores for guess in guesses], axis=0)[: len(restarts)], 1e-6)
    gain = np.maximum(np.mean([guess.gains for guess in guesses], axis=0)[: len(restarts)], 1e-6)
    by_score = np.where(far, (curve / curve[far].max()) ** _SHARP, 0)
    by_gain = np.where(far, (gain / gain[far].max()) ** _GAIN_SHARP, 0)
    gate = (curve[smooth].max() / curve.max()) ** _GATE * min(1.0, curve.max() / _FAINT)
    return ((by_score / by_score.sum() + by_gain / by_gain.sum()) / 2).astype(np.float32), float(gate)


def _turn(model: HiddenModel, blocks: list[Block]) -> FloatArray:
    """Set matrix and offset: blocks side by side, centred and scaled, on their principal axes; returns the vectors."""
    means, scales = [], []
    for block in blocks:
        means.append(block.values.mean(axis=0, dtype=np.float64))
        block.values[...] -= means[-1].astype(np.float32)
        length = np.sqrt(np.mean(np.einsum("ij,ij->i", block.values, block.values)))
        scales.append(block.weight / float(length) if length > 1e-9 else 0.0)
    rows = np.concatenate(
        [np.float32(scale) * block.values for scale, block in zip(scales, blocks, strict=True)], axis=1
    )
    axes = _principal_axes(rows, model.wanted_dim, model.seed)
    model.vector_dim = axes.shape[1]
    matrix = np.zeros((model.layout.width, model.vector_dim), np.float32)
    offset = np.zeros(model.vector_dim)
    first = 0
    for block, mean, scale in zip(blocks, means, scales, strict=True):
        part = scale * axes[first : first + len(mean)]
        first += len(mean)
        offset -= mean @ part
        for place, weights in block.maps:
            matrix[place] += weights @ part if isinstance(weights, np.ndarray) and weights.ndim == 2 else weights * part
    model.matrix, model.offset = torch.from_numpy(matrix), torch.from_numpy(offset.astype(np.float32))
    return np.ascontiguousarray(rows @ axes)


def _principal_axes(rows: FloatArray, wanted: int, seed: int) -> FloatArray:
    """The axes that vectors are made of, (columns, dim), the most important first."""
    sample = rows[numpy_stream(seed, "axes").permutation(len(rows))[:_AXES]]
    values, axes = eigh((sample.T @ sample).astype(np.float64))
    rank = min(int(np.sum(values > 1e-9 * max(values[-1], 1e-30))), max(len(sample) - 1, 1))
    if wanted > rank:
        raise InputError(
            f"dim ({wanted}) is more than this graph can fill ({rank} numbers): leave it out, or give a smaller one"
        )
    dim = max(1, min(wanted or DEFAULT_DIM, rank))
    return definite_signs(axes[:, ::-1][:, :dim].astype(np.float32))


def _centres(vectors: FloatArray, seed: int) -> FloatArray:
    """Cluster centres, of all clusterings one after the other."""
    stream = numpy_stream(seed, "cluster")
    rows = unit(vectors[stream.permutation(len(vectors))[:_CLUSTERED]])
    return np.concatenate([spherical_kmeans(rows, size, stream) for size in CLUSTERS])
