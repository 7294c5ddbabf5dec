"""Fit a model of hidden words: regressions from what is seen to what is hidden, then principal axes of all parts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from sanne.device import available_cores
from sanne.errors import InputError
from sanne.features.svd import definite_signs
from sanne.files.scratch import memory_limited
from sanne.graph.graph import Adjacency, FloatArray, IntArray
from sanne.model.clusters import spherical_kmeans
from sanne.model.hidden import HiddenModel, Part
from sanne.model.ridge import FOLDS, Doubles, Prediction, predict
from sanne.progress import steps
from sanne.seeds import numpy_stream
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion

DEFAULT_DIM = 512
_LARGER_DIM = 1024  # at most, for columns of numbers in graphs of up to FITTED nodes: as many dimensions as
_HELD = 0.99  # hold so much of the spread, in steps of
_DIM_STEP = 128
FITTED = 100_000  # nodes that regressions and axes are fitted on, at most
_COARSE = 16  # leading columns of a hidden half, by which tokens and restarts are judged
_FAR = 0.1  # smoothed words mix restarts up to this one,
_SHARP = 16.0  # by the R2 that each adds to that of a node's own words, to this power
# They count by how alike a node and its neighbours are (mean cosine), from the first figure on, from the second fully.
# Those of words also by what they add to the R2 of own words, in shares of that: not if they take from it; fully if it
# is much, however unlike nodes are. Linked nodes of different kinds may have some words in common, and numbers tell
# much of each other anyway.
_ALIKE_WORDS, _ALIKE_NUMBERS = (0.05, 0.1), (0.05, 0.15)
_ADDS, _ADDS_MUCH = (-0.04, 0.06), (0.06, 0.2)
_FAINT = 0.05  # and less where the best R2 is below this
_OWN_INSTEAD = 0.5  # where smoothing does not help, own words count so much of what smoothed ones do not
_TRUST_IN_NUMBERS = 0.5  # of predictions: columns of numbers tell much of each other, and little that is new
KEPT_BYTES = 2**30  # of the tokens of all nodes, which are kept for their vectors; more are computed again
_SHARPEN = 0.25  # how much more leading axes of words count: a power of how far rows spread along them,
_SHARPENED = 10_000  # in graphs of at most so many nodes; less in larger ones, which show finer things too
_AXES = 20_000  # nodes that the principal axes are of, at most
_SHORT = 0.5  # of the length of vectors in the mean square: shorter ones are undecided
_CLUSTERED = 10_000  # nodes that are clustered, at most


class Block(NamedTuple):
    """A part of the vectors: how much it counts, its values, and the maps from tokens whose sum it is."""

    weight: float
    values: FloatArray  # (nodes, columns)
    maps: list[tuple[slice, Any]]  # tokens, and a factor or weights (tokens, columns)
    fine: bool = False  # whether all its columns are alike


class Learner:
    """The tokens of the nodes that a model is fitted on, by view and restart; of length one in the mean."""

    def __init__(self, model: HiddenModel, diffusion: Diffusion, features: FloatArray) -> None:
        self.model, self.layout = model, model.layout
        self.chosen: IntArray | None = None
        if diffusion.num_nodes > FITTED:
            stream = numpy_stream(model.seed, "fitted")
            self.chosen = np.sort(stream.choice(diffusion.num_nodes, FITTED, replace=False))
        self.words = features[slice(None) if self.chosen is None else self.chosen, self.layout.columns[0]]
        far = [token.place for token in self.layout.seen if token.restart != self.layout.itself]
        spread = sum(place.stop - place.start for place in far)
        small = memory_limited() is not None or 2 * diffusion.num_nodes * spread <= KEPT_BYTES  # else on disk
        keeps = self.chosen is not None and small
        self.kept: list[Part] = []  # tokens of all nodes, if there are not too many
        self.rows: dict[tuple[int, int], FloatArray] = {}
        for part in model.spread(diffusion, features, None if keeps else self.chosen):
            self._add(Part(*part[:3], part.rows[self.chosen]) if keeps else part)
            if keeps:
                self.kept += model.kept(part)
            del part  # or it would stay in memory while the next one is computed
        own = [key for key in self.rows if key[0] == 0]
        self.smoothable = {restart: self.rows.pop((view, restart)) for view, restart in own}
        self.factors: dict[tuple[int, int], np.float32] = {}  # what a token was multiplied by
        for key, rows in self.rows.items():
            length = float(np.sqrt(np.mean(np.einsum("ij,ij->i", rows, rows))))
            self.factors[key] = np.float32(1 / max(length, 1e-12))
            rows *= self.factors[key]

    def _add(self, part: Part) -> None:
        """Take over the tokens of a part; halves that are sums of its columns too."""
        layout, (nodes, _, _) = self.layout, part.rows.shape
        bases = (
            dict(zip(layout.halves, self.model.views.bases, strict=True)) if layout.linear and part.view == 0 else {}
        )
        for restart, rows in zip(part.restarts, part.rows.transpose(1, 0, 2), strict=True):
            for half, basis in bases.items():
                total = self.rows.setdefault((half, restart), np.zeros((nodes, basis.shape[1]), np.float32))
                total += rows @ basis[part.columns]
            place = layout.columns[part.view]
            kept = self.rows.setdefault((part.view, restart), np.empty((nodes, place.stop - place.start), np.float32))
            kept[:, part.columns] = rows

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Which half is seen and which is hidden, as views."""
        firsts = self.layout.halves[::2]
        return [pair for first in firsts for pair in ((first, first + 1), (first + 1, first))]

    def predictors(self, view: int) -> list[tuple[int, int]]:
        """What a hidden half is predicted from: the other half, and the links."""
        views = [view, *self.layout.links]
        return [(view, restart) for view in views for restart in self.layout.restarts[view]]

    def guess(self, seen: int, hidden: int) -> Prediction:
        stream = numpy_stream(self.model.seed, "left_out", self._number(seen))
        folds = (FOLDS * stream.random(len(self.words))).astype(np.int64)
        rows = [self.rows[key] for key in self.predictors(seen)]
        restarts = np.array(self.model.config.restarts)
        beside = [] if self.layout.numbers else np.flatnonzero(_far(restarts)).tolist()
        return predict(rows, self.rows[hidden, self.layout.itself], folds, _COARSE, beside)

    def _number(self, half: int) -> int:
        return half - self.layout.halves.start + 1

    def _read(self, key: tuple[int, int], weights: Any) -> tuple[slice, Any]:
        """Weights, or a factor, of a token as they are for what the model reads."""
        view, restart = key
        weights = self.factors[key] * weights
        if self.layout.linear and view in self.layout.halves:
            basis = self.model.views.bases[self._number(view) - 1]
            return self.layout.place(0, restart), basis @ weights
        return self.layout.place(view, restart), weights

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
            for key in self.predictors(seen):
                rows = self.rows[key]
                part = weights[row : row + rows.shape[1]]
                row += rows.shape[1]
                values[:, columns] += rows @ part
                spread = np.zeros((rows.shape[1], width), np.float32)
                spread[:, columns] = part
                maps.append(self._read(key, spread))
        return Block(weight, values, maps)

    def seen(self, view: int, weight: float) -> list[Block]:
        """The tokens of a view as they are."""
        keys = [(view, restart) for restart in self.layout.restarts[view]]
        return [Block(weight, self.rows[key].copy(), [self._read(key, 1.0)]) for key in keys]

    def smoothed(self, diffusion: Diffusion, features: FloatArray, mixture: FloatArray, weight: float) -> Block:
        """The words at a mixture of restarts."""
        layout = self.layout
        if not layout.linear:
            assert layout.smoothed is not None
            values = self.model.smoothed(diffusion, features[:, layout.columns[0]], mixture, self.chosen)
            return Block(weight, np.array(values), [(layout.smoothed, 1.0)])
        shares = [(restart, share) for restart, share in enumerate(mixture) if share > 0]
        values = np.sum([share * self.smoothable[restart] for restart, share in shares], axis=0)
        if layout.smoothed is not None:
            return Block(weight, unit(values), [(layout.smoothed, 1.0)])
        return Block(weight, values, [(layout.place(0, restart), share) for restart, share in shares])

    def neighbours(self, diffusion: Diffusion, after: FloatArray, weight: float) -> Block:
        """The neighbours' words, by where all walks are after their first step."""
        nodes: Any = slice(None) if self.chosen is None else self.chosen
        values = self.model.neighbours(after[nodes], self.words, diffusion.degrees[nodes])
        return Block(weight, values, [(self.layout.neighbours, 1.0)])


def learn(model: HiddenModel, adjacency: Adjacency, features: FloatArray) -> dict[str, Any]:
    """Fit a model to a graph; returns what was chosen, for the record."""
    diffusion, config, layout = Diffusion(adjacency), model.config, model.layout
    learner = Learner(model, diffusion, features)
    with ThreadPoolExecutor(available_cores()) as pool:  # each with one thread of BLAS, so that sums keep their order
        found = pool.map(lambda pair: learner.guess(*pair), learner.pairs)
        guesses = list(steps(found, of="learning", unit="half", total=len(learner.pairs)))
    after = diffusion.after_step(features[:, layout.columns[0]])
    neighbours = learner.neighbours(diffusion, after, config.neighbour_weight)
    alike = likeness(learner.words, neighbours.values)
    mixture, helps, certain = choose_smoothing(guesses, np.array(config.restarts), alike, layout.numbers)
    own = config.own_weight + _OWN_INSTEAD * config.smoothed_weight * (1 - helps)
    linked = config.neighbour_weight * (1 - certain) if guesses else config.joint_weight  # where attributes tell little
    trust = _TRUST_IN_NUMBERS if layout.numbers else 1.0
    all_degrees = model.degrees(diffusion)
    degrees = all_degrees if learner.chosen is None else all_degrees[learner.chosen]
    narrow = 1 / np.maximum(degrees.std(axis=0), 1e-6)
    blocks = {
        "own": [Block(own if guesses else 1.0, learner.words.copy(), [(layout.own, 1.0)])],
        "smoothed": [learner.smoothed(diffusion, features, mixture, config.smoothed_weight * helps * certain)],
        "neighbours": [neighbours],
        "degrees": [Block(config.degree_weight, degrees * narrow, [(layout.degrees, np.diag(narrow))])],
        "fine": [block._replace(fine=True) for view in layout.fine for block in learner.seen(view, config.fine_weight)],
        "links": [block for view in layout.links if linked > 0 for block in learner.seen(view, linked)],
    }
    if guesses:
        blocks["joint"] = [learner.predicted(guesses, "joint", trust * config.joint_weight)]
        blocks["stacked"] = [learner.predicted(guesses, "stacked", trust * config.stacked_weight)]
    weights = {name: round(float(parts[0].weight), 3) for name, parts in blocks.items() if parts}
    vectors = _turn(model, [block for parts in blocks.values() for block in parts if block.weight > 0], len(features))
    model.mixture = mixture
    ones = np.ones((len(features), 1), np.float32)
    model.background = np.append(diffusion.background(features), diffusion.background(ones))
    model.centres = _centres(vectors, len(model.centres) // 3, model.seed)
    model.shortest = np.array([_SHORT * np.sqrt(np.mean(np.einsum("ij,ij->i", vectors, vectors)))], np.float32)
    if learner.chosen is not None:
        kept = learner.kept
        parts = (kept.pop() for _ in range(len(kept))) if kept else model.spread(diffusion, features)
        del learner, blocks, vectors  # the memory is for the vectors of all nodes
        vectors = model.vectors_of(diffusion, features, parts, all_degrees, after)
    model.present = vectors
    curve = np.mean([guess.scores for guess in guesses], axis=0).round(4).tolist() if guesses else []
    return {
        "hidden_r2": curve,
        "likeness": round(alike, 3),
        "mixture": mixture.astype(float).round(3).tolist(),
        "weights": weights,
        "strengths": [float(f"{guess.strength:.2g}") for guess in guesses],
    }


def likeness(words: FloatArray, neighbours: FloatArray) -> float:
    """How alike nodes and their neighbours are: the mean cosine, both centred; 0 where nobody has neighbours."""
    linked = neighbours.any(axis=1)
    if not linked.any():
        return 0.0
    own, others = (unit(rows[linked] - rows[linked].mean(axis=0)) for rows in (words, neighbours))
    return float(np.einsum("ij,ij->i", own, others).mean(dtype=np.float64))


def choose_smoothing(
    guesses: list[Prediction], restarts: Any, alike: float, numbers: bool
) -> tuple[FloatArray, float, float]:
    """How much of each restart the smoothed words hold, (restarts,), whether they help, and how sure that is.

    The far restarts, by what each adds to a node's own words when these predict hidden ones. Of `numbers`, which tell
    much of each other anyway, the nearest of these. Without a hidden half nothing tells: all alike.
    """
    far = _far(restarts)
    helps = _ramp(alike, *(_ALIKE_NUMBERS if numbers else _ALIKE_WORDS))
    if not guesses:
        return (far / far.sum()).astype(np.float32), helps, 1.0
    curve = np.maximum(np.mean([guess.scores for guess in guesses], axis=0)[: len(restarts)], 1e-6)
    gains = np.mean([guess.gains for guess in guesses], axis=0)[: len(restarts)]
    positive = np.maximum(gains, 1e-6)
    if numbers:
        shares = (restarts == restarts[far].max()).astype(float)
    else:
        shares = np.where(far, (positive / positive[far].max()) ** _SHARP, 0)
        added = gains[far].max() / curve[restarts == 1.0].max()
        helps = max(helps * _ramp(added, *_ADDS), _ramp(added, *_ADDS_MUCH))
    return (shares / shares.sum()).astype(np.float32), helps, min(1.0, float(curve.max()) / _FAINT)


def _far(restarts: Any) -> Any:
    """Which restarts smoothed words may mix."""
    return restarts <= max(_FAR, float(restarts.min()))


def _ramp(value: float, first: float, full: float) -> float:
    return float(np.clip((value - first) / (full - first), 0, 1))


def _turn(model: HiddenModel, blocks: list[Block], num_nodes: int) -> FloatArray:
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
    sample = rows[numpy_stream(model.seed, "axes").permutation(len(rows))[:_AXES]]
    ends = np.cumsum([len(mean) for mean in means]).tolist()
    fine = [slice(end - len(mean), end) for end, mean, block in zip(ends, means, blocks, strict=True) if block.fine]
    power = 0.0 if model.layout.numbers else _SHARPEN * min(1.0, _SHARPENED / num_nodes)
    larger = model.layout.numbers and num_nodes <= FITTED
    wanted = model.wanted_dim or (_LARGER_DIM if larger else DEFAULT_DIM)
    axes, held = _axes(sample, fine, power, wanted)
    if model.wanted_dim > (filled := axes.shape[1]):
        raise InputError(
            f"dim ({wanted}) is more than this graph can fill ({filled} numbers): leave it out, or give a smaller one"
        )
    if not model.wanted_dim and filled > DEFAULT_DIM:
        axes = axes[:, : _enough(held)]
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
    model.matrix, model.offset = matrix, offset.astype(np.float32)
    return np.ascontiguousarray(rows @ axes)


def _axes(rows: FloatArray, fine: list[slice], power: float, wanted: int) -> tuple[FloatArray, Doubles]:
    """What vectors are made of, (columns, dim), the most important first, and the share of the spread that each holds.

    Leading axes count a little more than their spread alone would have it, by that to a `power`: they tell what a node
    is about. Fine words, which have no leading ones, join after that.
    """
    nodes, columns = rows.shape
    most = max(wanted, DEFAULT_DIM)
    # The products of columns, or those of few nodes: they have the same spreads, and axes that lead to each other.
    gram = (rows.T @ rows).astype(np.float64) if nodes >= columns else None

    def leading(turned: Callable[[Doubles], Doubles]) -> tuple[Doubles, Doubles]:
        """The principal axes of the rows as they are when `turned`."""
        if gram is not None:
            return _principal_axes(turned(turned(gram).T), most, nodes - 1)
        some = turned(rows.astype(np.float64))
        spreads, axes = _principal_axes(some @ some.T, most, nodes - 1)
        return spreads, some.T @ axes / np.maximum(spreads, 1e-30)

    rest = np.delete(np.arange(columns), np.r_[*fine, :0])
    spreads, axes = leading(lambda rows: rows[:, rest])
    gains = spreads**power
    gains *= np.sqrt(np.sum(spreads**2) / max(np.sum((gains * spreads) ** 2), 1e-30))
    sharpened = np.zeros((columns, axes.shape[1]))
    sharpened[rest] = axes * gains
    if fine:
        joined = np.concatenate([sharpened, *(np.eye(columns)[:, place] for place in fine)], axis=1)
        spreads, axes = leading(lambda rows: rows @ joined)
        sharpened = joined @ axes
    held = spreads**2 / max(float(np.square(rows).sum(dtype=np.float64)), 1e-30)
    return definite_signs(sharpened[:, :wanted].astype(np.float32)), held


def _enough(held: Doubles) -> int:
    """How many of the axes, at least the default, hold nearly all of the spread."""
    sizes = range(DEFAULT_DIM, len(held), _DIM_STEP)
    return next((size for size in sizes if held[:size].sum() >= _HELD), len(held))


def _principal_axes(gram: Doubles, most: int, rank: int) -> tuple[Doubles, Doubles]:
    """The leading axes, (columns, axes), and how far rows spread along each."""
    values, axes = eigh(gram, driver="evd")  # all of them, which is faster than to look for the largest ones
    kept = min(int(np.sum(values > 1e-9 * max(values[-1], 1e-30))), max(rank, 1), most)
    chosen = slice(-1, -1 - max(kept, 1), -1)
    return np.sqrt(np.maximum(values[chosen], 0)), axes[:, chosen]


def _centres(vectors: FloatArray, count: int, seed: int) -> FloatArray:
    """Cluster centres, of a clustering with so many and of one with twice as many, one after the other."""
    stream = numpy_stream(seed, "cluster")
    rows = unit(vectors[stream.permutation(len(vectors))[:_CLUSTERED]])
    return np.concatenate([spherical_kmeans(rows, size, stream) for size in (count, 2 * count)])
