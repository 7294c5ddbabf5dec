"""Predict what is hidden: half of a node's words from the other half as its walks see it, and from its links.

Tokens of a node are its views (`features/views.py`) as walks with several restarts see them. Each half of its words is
predicted from tokens of the other half and of its links (`model/learn.py`). Predictions, its own words, its neighbours'
words, smoothed words and its degree are the parts of its vector, on their principal axes. All parts are linear in the
tokens, so that one matrix leads from tokens to the vector. There are no labels and there is no training loop; a node
that arrives later goes through the same matrix.
"""

import itertools
import mmap
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import sgemm

from sanne.config import Config
from sanne.errors import InputError
from sanne.features.base import FeatureMap
from sanne.features.views import Views
from sanne.files.scratch import memory_limited, room_for
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.sparse import each_block
from sanne.model.clusters import doubt
from sanne.model.model import Asked, Model, Pull, Reading, largest_shares
from sanne.model.ridge import Doubles
from sanne.model.safe_files import Shapes
from sanne.progress import steps
from sanne.vectors.normalise import unit
from sanne.walks.diffusion import Diffusion, Work, columns_at_once, step_weights

LARGEST_DIM = 4096
_FEW = 1024  # nodes
_FARTHEST = 10_000.0  # times the typical number, up to where tokens may be kept in half precision
# Uncertainty is told by two clusterings, the finer with twice as many clusters as the coarser. With fewer nodes for a
# cluster of the coarser one, undecided nodes would be clusters of their own, and as sure as others.
_NODES_A_CLUSTER = 80
_CLUSTERS = (3, 32)  # of the coarser, at least and at most


class Token(NamedTuple):
    """A view at a restart."""

    view: int
    restart: int
    place: slice  # among all tokens of a node


class Part(NamedTuple):
    """Some columns of a view as walks with some restarts see them."""

    view: int
    columns: slice
    restarts: list[int]
    rows: npt.NDArray[np.floating[Any]]  # (nodes, restarts, columns)
    scale: float = 1.0  # of the rows
    nodes: slice = slice(None)  # that they are of


class Layout:
    """Where each token of a node is: its words, smoothed words, halves and links at restarts, neighbours, degrees.

    Halves of plain numbers are sums of the node's columns: there the columns at all restarts are the tokens, and own
    ones and halves are what `learn` makes of them; so are smoothed ones, unless they are of length one.
    """

    def __init__(self, config: Config, views: Views) -> None:
        restarts = config.objective.restarts
        ends = np.cumsum([0, *views.widths]).tolist()
        self.columns = [slice(first, last) for first, last in itertools.pairwise(ends)]  # of each view
        self.directional, self.linear, self.numbers = views.directional, views.linear, views.numbers
        self.itself = restarts.index(1.0)
        first = len(views.widths) if self.linear else 1  # halves that are no columns have numbers beyond the others
        self.halves = range(first, first + 2 * views.num_splits)
        rest = range(1 if self.linear else self.halves.stop, len(views.widths))
        self.fine = rest[:1] if views.fine is not None else rest[:0]  # one view, or none
        self.links = rest[len(self.fine) :]  # one view, or none
        every = list(range(len(restarts)))
        self.restarts = dict.fromkeys(self.halves, every)  # that each view is seen at
        self.restarts |= {view: [self.itself] for view in self.fine}
        self.restarts |= {view: [restarts.index(r) for r in config.objective.link_restarts] for view in self.links}
        far = [view for view, at in self.restarts.items() if view < len(views.widths) and at != [self.itself]]
        self.far = self.columns[max(far, default=0)].stop  # the first columns, which are seen from elsewhere
        words = views.widths[0]
        self.width = words * (self.directional if self.linear else 2)
        self.seen: list[Token] = []
        kinds = {0: every} if self.linear else {}
        for view, at in (kinds | self.restarts).items():
            for restart in at if view < len(views.widths) else []:
                place = slice(self.width, self.width + views.widths[view])
                self.seen.append(Token(view, restart, place))
                self.width = place.stop
        self.own = self.place(0, self.itself) if self.linear else slice(words, 2 * words)
        self.smoothed = slice(0, words) if self.directional or not self.linear else None
        self.neighbours = slice(self.width, self.width + words)
        self.degrees = slice(self.neighbours.stop, self.neighbours.stop + len(restarts))
        self.width = self.degrees.stop

    def place(self, view: int, restart: int) -> slice:
        return next(token.place for token in self.seen if (token.view, token.restart) == (view, restart))

    def spread(self) -> dict[int, list[int]]:
        """The views that are tokens, and the restarts of each."""
        found: dict[int, list[int]] = {}
        for token in self.seen:
            found.setdefault(token.view, []).append(token.restart)
        return found


class HiddenModel(Model):
    """One matrix from tokens to vectors."""

    name = "hidden"
    nodes_at_once = 64
    reads_whole = True

    def __init__(self, config: Config, views: Views, seed: int, clusters: int, dim: int = 1) -> None:
        self.config = config.objective
        self.wanted_dim = config.model.dim
        self.seed = seed
        self.views = views  # for `learn`; a model that was read from a file has views without numbers here
        self.layout = Layout(config, views)
        self.vector_dim = dim
        self.step_weights = step_weights(self.config.restarts, self.config.restart_steps)
        self.matrix = np.zeros((self.layout.width, dim), np.float32)
        self.offset = np.zeros(dim, np.float32)
        self.mixture = np.zeros(len(self.config.restarts), np.float32)  # how much of each the smoothed words hold
        # What walks see that were not followed to the end, by feature columns; the last is of ones.
        self.background = np.zeros(views.width + 1, np.float32)
        self.centres = np.zeros((3 * clusters, dim), np.float32)  # rows of length one; a third is of the coarser
        self.shortest = np.zeros(1, np.float32)  # length of a vector whose direction tells something
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
        clusters = num_nodes // _NODES_A_CLUSTER if shapes is None else shapes["centres"][0] // 3
        return cls(config, feature_map, seed, int(np.clip(clusters, *_CLUSTERS)), dim)

    def arrays(self) -> dict[str, FloatArray]:
        names = ("matrix", "offset", "mixture", "background", "centres", "shortest")
        return {name: getattr(self, name) for name in names}

    def fill(self, arrays: dict[str, FloatArray]) -> None:
        for name in self.arrays():
            setattr(self, name, arrays[name])

    def read(self, asked: Asked, explain: int = 0) -> Reading:
        restarts, steps = self.config.restarts, self.config.restart_steps
        background, far = self.background, self.layout.far
        seen = np.zeros((len(restarts) + 1, asked.count, len(background)), np.float32)
        found, near, seen[self.layout.itself, :, :-1] = asked.see(restarts, steps, far)
        degrees = np.array([around.degree for around in found])
        elsewhere = np.stack([around.elsewhere for around in found], axis=1) * np.sqrt(degrees).astype(np.float32)
        seen[:, :, :far] = near.transpose(1, 0, 2) + elsewhere[:, :, None] * background[:far]
        seen[:, :, -1] = np.stack([around.ones for around in found], axis=1) + elsewhere * background[-1]
        matrix = self.matrix
        vectors = np.tile(self.offset, (asked.count, 1))
        for place, rows, _ in self._tokens(seen, degrees):
            vectors += rows @ matrix[place]
        contributions = []
        if explain:
            importance = self._importance(seen, degrees)
            for surroundings, weights in zip(found, importance, strict=True):
                shares = surroundings.shares.astype(np.float64) @ weights
                contributions.append(largest_shares(surroundings.nodes, shares / max(shares.sum(), 1e-12), explain))
        return Reading(vectors, self.uncertainty(vectors), contributions)

    def read_whole(self, diffusion: Diffusion, features: FloatArray) -> FloatArray:
        after, parts = diffusion.after_step(features[:, self.layout.columns[0]]), self.spread(diffusion, features)
        if memory_limited() is not None:
            parts = itertools.chain.from_iterable(map(self.kept, parts))
        return self.vectors_of(diffusion, features, parts, self.degrees(diffusion), after)

    def kept(self, part: Part) -> list[Part]:
        """A part of all nodes for later: `spread` uses its memory again."""
        return [part] if part.restarts == [self.layout.itself] else compact(part)

    def vectors_of(
        self, diffusion: Diffusion, features: FloatArray, parts: Iterable[Part], degrees: FloatArray, after: FloatArray
    ) -> FloatArray:
        """Vectors of all nodes from their tokens; parts are let go one after the other."""
        layout, matrix = self.layout, self.matrix
        words = features[:, layout.columns[0]]
        vectors = room_for((len(features), self.vector_dim))  # which take memory as they are filled in
        waiting: dict[int, list[Part]] = {}  # parts with all columns of some nodes
        themselves: list[Part] = []
        mixes = layout.linear and layout.smoothed is not None
        mixed: FloatArray | None = None  # smoothed columns, as far as parts with all nodes make them

        def add_part(part: Part) -> None:
            places = [layout.place(part.view, restart) for restart in part.restarts]
            weights = np.float32(part.scale) * np.concatenate([matrix[place][part.columns] for place in places])
            rows, add = part.rows.reshape(len(part.rows), -1), _add_product if part.nodes.stop else _add_products
            add(vectors[part.nodes], rows, weights)

        for part in parts:
            if part.nodes.stop:
                waiting.setdefault(part.nodes.start, []).append(part)
            elif part.restarts == [layout.itself]:
                themselves.append(part)  # features, which stay
            else:
                add_part(part)
                if mixes and part.view == 0:
                    mixed = room_for(words.shape) if mixed is None else mixed
                    mixed[:, part.columns] = self._mixed(part)
            del part  # or it would stay in memory while the next one is computed

        def add(block: slice) -> None:
            own = [part._replace(rows=part.rows[block], nodes=block) for part in themselves]
            rows = np.zeros_like(words[block]) if mixed is None else mixed[block].copy()
            for part in waiting.pop(block.start, []) + own:
                add_part(part)
                if mixes and part.view == 0:
                    rows[:, part.columns] += self._mixed(part)
            if mixes:
                _add_product(vectors[block], unit(rows), matrix[layout.smoothed])
            neighbours = self.neighbours(after[block], words[block], diffusion.degrees[block])
            vectors[block] += self.offset
            _add_product(vectors[block], neighbours, matrix[layout.neighbours])
            _add_product(vectors[block], degrees[block], matrix[layout.degrees])

        each_block(add, len(vectors))
        if not layout.linear:
            _add_products(vectors, words, matrix[layout.own])
            _add_products(vectors, self.smoothed(diffusion, words, self.mixture), matrix[layout.smoothed])
        return vectors

    def _mixed(self, part: Part) -> FloatArray:
        """Some of the nodes' columns at the mixture of restarts."""
        mixed: FloatArray = np.einsum("nrc,r->nc", part.rows, np.float32(part.scale) * self.mixture[part.restarts])
        return mixed

    def pull(self, asked: Asked) -> Pull:
        background, layout, matrix = self.background, self.layout, self.matrix
        around = asked.around(self.config.restarts, self.config.restart_steps)[0]
        rows = asked.rows(around.nodes)
        seen = around.mean(np.column_stack([rows, np.ones(len(rows), np.float32)]), background)[:, None]
        tokens = list(self._tokens(seen, np.array([around.degree])))
        vector = self.offset + sum(row[0] @ matrix[place] for place, row, _ in tokens)
        toward = vector / max(float(vector @ vector), 1e-12)
        columns = np.zeros((len(seen), len(background) - 1), np.float32)
        views = {token.place.start: token.view for token in layout.seen}
        for place, row, restarts in tokens[:-1]:
            view = layout.columns[views.get(place.start, 0)]
            columns[:, view] += self._linear(place, row, restarts, seen, around.degree)[:, None] * (
                matrix[place] @ toward
            )
        return Pull(around, rows, columns, float(tokens[-1][1][0] @ matrix[layout.degrees] @ toward))

    def _linear(self, place: slice, row: FloatArray, restarts: FloatArray, seen: FloatArray, degree: float) -> Any:
        """What a single node's token takes of each restart, and of the first step, of what is seen."""
        layout = self.layout
        if place == layout.neighbours:
            restarts = restarts - np.eye(len(seen), dtype=np.float32)[layout.itself] / np.float32(degree)
        if place not in (layout.neighbours, layout.smoothed) or not layout.directional:
            return restarts if row.any() else 0 * restarts
        length = float(np.linalg.norm(np.tensordot(restarts, seen[:, 0, layout.columns[0]], 1)))
        return restarts / max(length, 1e-12) if row.any() else 0 * restarts  # the token is made of length one

    def present_vectors(self) -> FloatArray | None:
        return self.present

    def uncertainty(self, vectors: FloatArray) -> FloatArray:
        """One minus the largest share that a clustering gives a node, mean over clusterings."""
        clusterings, shortest = np.split(self.centres, [len(self.centres) // 3]), float(self.shortest[0])
        if len(vectors) <= _FEW:  # starting threads would take longer
            return doubt(vectors, clusterings, shortest)
        parts = each_block(lambda rows: doubt(vectors[rows], clusterings, shortest), len(vectors))
        return np.concatenate(parts)

    def spread(self, diffusion: Diffusion, features: FloatArray, at: IntArray | None = None) -> Iterator[Part]:
        """Tokens of all nodes, or of those in `at`, some columns of a view at a time, in the memory of those before."""
        work: Work = {}
        spread = self.layout.spread()
        widths = {view: place.stop - place.start for view, place in enumerate(self.layout.columns)}
        total = sum(widths[view] for view, restarts in spread.items() if restarts != [self.layout.itself])
        bar = steps(of="walking", unit="column", total=total)
        for view, restarts in spread.items():
            place, width = self.layout.columns[view], widths[view]
            far = [restart for restart in restarts if restart != self.layout.itself]
            if self.layout.itself in restarts:
                rows = features[:, place] if at is None else features[at, place]
                yield Part(view, slice(0, width), [self.layout.itself], rows[:, None])
            count = len(far) * (diffusion.held if at is None else len(at)) + 2 * diffusion.held
            at_once = columns_at_once(count)
            for first in range(0, width if far else 0, at_once):
                columns = slice(first, min(first + at_once, width))
                part = features[:, place.start + columns.start : place.start + columns.stop]
                rows = diffusion.spread(part, self.step_weights[:, far], at, work)
                bar.update(columns.stop - columns.start)
                if columns.stop == width:
                    work.clear()  # while the last part is used, only that is in memory
                yield Part(view, columns, far, rows.transpose(1, 0, 2))
                del rows
        bar.close()

    def smoothed(
        self, diffusion: Diffusion, words: FloatArray, mixture: FloatArray, at: IntArray | None = None
    ) -> FloatArray:
        """The words of all nodes, or of those in `at`, at a mixture of restarts."""
        rows = diffusion.spread(words, self.step_weights @ mixture[:, None], at)[0]
        return unit(rows) if self.layout.directional else rows

    def neighbours(self, after: FloatArray, words: FloatArray, degrees: Doubles) -> FloatArray:
        """What walks see after one step, without those that stay."""
        rows: FloatArray = after - words * (1 / degrees).astype(np.float32)[:, None]
        sizes = np.einsum("ij,ij->i", rows, rows)
        rows[sizes <= 1e-8 * np.einsum("ij,ij->i", after, after)] = 0  # what is left of rounding has no direction
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
        """Tokens from what walks see, (restarts and the first step, nodes, feature columns and ones).

        Gives places, rows (nodes, width), and how much each restart, and the first step, is in them.
        """
        layout, each = self.layout, np.eye(len(seen), dtype=np.float32)
        words = seen[:, :, layout.columns[0]]
        yield layout.neighbours, self.neighbours(words[-1], words[layout.itself], degrees), each[-1]
        if not layout.linear:
            yield layout.own, words[layout.itself], each[layout.itself]
        if layout.smoothed is not None:
            mixture = np.append(self.mixture, np.float32(0))
            mixed = np.tensordot(mixture, words, 1)
            yield layout.smoothed, unit(mixed) if layout.directional else mixed, mixture
        for token in layout.seen:
            yield token.place, seen[token.restart][:, layout.columns[token.view]], each[token.restart]
        yield layout.degrees, self._degrees(seen[:-1, :, -1], degrees), np.zeros(len(seen), np.float32)

    def _importance(self, seen: FloatArray, degrees: Doubles) -> Doubles:
        """How much a visit counts at each restart and in the first step, by the length of what its tokens add."""
        matrix, found = self.matrix, np.zeros((seen.shape[1], len(seen)))
        for place, rows, restarts in self._tokens(seen, degrees):
            found += np.linalg.norm(rows @ matrix[place], axis=1)[:, None] * restarts
        return found / np.maximum(seen[:, :, -1].T, 1e-12)


def compact(part: Part) -> list[Part]:
    """A part in half the memory, some nodes at a time: in half precision, unless numbers are too far apart for that."""
    rows = part.rows
    sizes = each_block(
        lambda block: (np.sqrt(np.abs(rows[block])).sum(dtype=np.float64), np.abs(rows[block]).max()), len(rows)
    )
    roots, largest = zip(*sizes, strict=True)
    typical = float(sum(roots) / rows.size) ** 2  # by roots: a single far number does not change it
    if max(largest) >= _FARTHEST * typical:
        kept = room_for(rows.shape)
        kept[...] = rows
        return [part._replace(rows=kept)]
    whole = None if memory_limited() is None else room_for(rows.shape, np.float16)

    def halved(block: slice) -> Part:
        # Mapped, as the heap would keep the memory of what is let go.
        given = rows[block]
        kept = np.frombuffer(mmap.mmap(-1, 2 * given.size), np.float16) if whole is None else whole[block]
        kept = kept.reshape(given.shape)
        np.multiply(given, np.float32(1 / typical), out=kept, casting="same_kind")
        return Part(*part[:3], kept, typical, block)

    return each_block(halved, len(rows))


def _add_products(vectors: FloatArray, rows: npt.NDArray[np.floating[Any]], weights: FloatArray) -> None:
    """Add rows times weights to vectors, by all cores, each some nodes at a time."""
    each_block(lambda block: _add_product(vectors[block], rows[block], weights), len(vectors))


def _add_product(vectors: FloatArray, rows: npt.NDArray[np.floating[Any]], weights: FloatArray) -> None:
    for first in range(0, len(vectors), _FEW):  # few enough to stay in the processor's cache
        some = slice(first, first + _FEW)
        # In place; transposed, as BLAS has arrays column by column.
        sgemm(1.0, weights.T, np.asarray(rows[some], np.float32).T, 1.0, vectors[some].T, overwrite_c=True)
