"""A node's attributes seen several ways: all of them, halves of them that can predict each other, and its links.

What a node has (words, or columns of numbers) is split at random into two halves, each reduced on its own, so that one
half can be hidden and predicted from the other. This is done for several random splits.
"""

import functools
import itertools
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, register_features
from sanne.features.choose import choose_features, restore_features
from sanne.features.links import LinkMap
from sanne.features.svd import components, gram, leading_axes, narrow
from sanne.features.walk_profile import WalkProfile
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.sparse import multiply, row_blocks
from sanne.seeds import derived_seed, mixed, numpy_stream
from sanne.vectors.normalise import unit

_SIGNS = 4  # columns that a word is hashed to
_WIDEST = 512  # halves of more numbers are columns of their own
_DIRECTION = 32  # of so many numbers or more only the direction counts, as of words
FEWEST_COLUMNS = 8  # with fewer, no half can tell anything about the other


class Split(NamedTuple):
    """Two halves of the columns: which half each is in (0 or 1), and its row of that half's basis."""

    sides: FloatArray  # (columns,)
    basis: FloatArray  # (columns, width)


class FineWords(NamedTuple):
    """Words hashed to `width` columns, each to a few of them with a sign."""

    width: int
    seed: int

    def of(self, columns: Any) -> FloatArray:
        """Rows of length one, (nodes, width)."""
        return unit(np.asarray((columns @ _hash_table(self, columns.shape[1])).toarray(), np.float32))


@functools.lru_cache(maxsize=4)  # a server hashes the words of one node at a time, always by the same table
def _hash_table(fine: FineWords, count: int) -> Any:
    """Signs (words, width), a few for each of `count` words."""
    bits = mixed(fine.seed, count * _SIGNS)
    places, signs = (bits >> np.uint64(1)) % np.uint64(fine.width), np.where(bits & np.uint64(1), 1, -1)
    words = np.repeat(np.arange(count), _SIGNS)
    table = sp.csr_matrix((signs.astype(np.float32), (words, places.astype(np.int64))), (count, fine.width))
    for array in (table.data, table.indices, table.indptr):
        array.flags.writeable = False
    return table


@register_features
class Views(FeatureMap):
    """Rows side by side: the base map's, for each split those of its two halves, fine words, and those of the links.

    Fine words are all words hashed to few columns: they keep rare ones, which the base map's main axes leave out.
    Halves of not too many numbers are no columns of their own: they are the base map's columns times `bases`.
    """

    name = "views"

    def __init__(
        self, base: FeatureMap, splits: list[Split], fine: FineWords | None, links: LinkMap | WalkProfile | None
    ) -> None:
        for sides, basis in splits:
            if sides.shape != (base.num_columns,) or basis.ndim != 2 or len(basis) != len(sides):
                raise InputError(
                    f"halves of {sides.shape} columns and a basis of shape {basis.shape} for {base.num_columns} columns"
                )
            if not np.isin(sides, (0, 1)).all():
                raise InputError("a column is in neither half")
        self.base = base
        self.links = links
        self.fine = fine
        self._splits = splits
        self.reads, self.numbers, self.costly = base.reads, not base.directional, base.costly
        self.directional = base.directional or base.width >= _DIRECTION
        self.linear = self.numbers and type(base).reduced is FeatureMap.reduced and base.width <= _WIDEST
        self.widths = [base.width]
        if not self.linear:
            self.widths += [split.basis.shape[1] for split in splits for _ in (0, 1)]
        self.widths += [part.width for part in (fine, links) if part is not None]
        self.width = sum(self.widths)

    @property
    def base_name(self) -> str:
        return self.base.base_name

    @property
    def link_columns(self) -> slice:
        return slice(0 if self.base.reads_links else self.width - (self.links.width if self.links else 0), self.width)

    def transform_links(self, graph: Graph, nodes: IntArray) -> FloatArray:
        if self.base.reads_links or self.links is None:
            return self.transform(graph, nodes)
        return self.links.transform(graph, nodes)

    @property
    def num_splits(self) -> int:
        return len(self._splits)

    @classmethod
    def check(cls, graph: Graph) -> None:
        """Refuse to be the base of itself: the base map is what the setting `features` names."""
        raise InputError("features='views' is what the objective 'hidden' makes of other features: name those")

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        return cls.fit_transform(graph, config, seed)[0]

    @classmethod
    def fit_transform(cls, graph: Graph, config: FeatureConfig, seed: int) -> tuple[Self, FloatArray]:
        """Fit the base map, the halves and the links; every text is read once."""
        base, columns = choose_features(graph, config).fit_columns(graph, config, seed)
        count = columns.shape[1]
        number = config.hidden_splits if count >= FEWEST_COLUMNS else 0
        products = gram(columns) if number and narrow(columns) else None
        splits = [_split(columns, products, config.half_dim, numpy_stream(seed, "halves", i)) for i in range(number)]
        kind = WalkProfile if base.reads_links else LinkMap
        links = kind.fit(graph, config.link_dim, seed) if config.link_dim else None
        wide = sp.issparse(columns) and count > 4 * config.fine_dim > 0 and not base.reads_links
        fine = FineWords(config.fine_dim, derived_seed(seed, "fine")) if wide else None
        fitted = cls(base, splits, fine, links)
        return fitted, fitted._rows(columns, graph, None)

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        return self._rows(self.base.columns(graph, nodes), graph, nodes)

    def _rows(self, columns: Any, graph: Graph, nodes: IntArray | None) -> FloatArray:
        words = self.base.reduced(columns)
        if len(self.widths) == 1:
            rows = np.ascontiguousarray(words, np.float32)
            if not self.directional:
                return rows
            return _unit_in_place(rows if rows.flags.writeable else rows.copy())  # others may hold what is read-only
        rows = np.empty((columns.shape[0], self.width), np.float32)
        ends = np.cumsum([0, *self.widths])
        rows[:, : ends[1]] = words
        halves = 1 if self.linear else 1 + 2 * self.num_splits
        if halves > 1:
            rows[:, ends[1] : ends[halves]] = multiply(columns, self._halves)
        if self.fine is not None:
            rows[:, ends[halves] : ends[halves + 1]] = self.fine.of(columns)
        if self.directional:
            for first, last in itertools.pairwise(ends[: halves + 1]):
                _unit_in_place(rows[:, first:last])
        if self.links is not None:
            rows[:, ends[-2] :] = self.links.transform(graph, nodes)
        return rows

    @cached_property
    def _halves(self) -> npt.NDArray[np.float32]:
        return np.concatenate(self.bases, axis=1)

    @cached_property
    def bases(self) -> list[npt.NDArray[np.float32]]:
        """What leads from all columns to each half, (columns, width); zeros for the columns of the other half."""
        sides = [(split, side) for split in self._splits for side in (0, 1)]
        return [np.where((split.sides == side)[:, None], split.basis, 0).astype(np.float32) for split, side in sides]

    def matrices(self) -> list[tuple[slice, Any]]:
        """The place in a row of each view but the links, and what the base's columns are multiplied by for it."""
        found = [self.base.basis, *([] if self.linear else self.bases)]
        found += [] if self.fine is None else [_hash_table(self.fine, self.base.num_columns)]
        ends = np.cumsum([0, *self.widths])
        return [(slice(ends[view], ends[view + 1]), matrix) for view, matrix in enumerate(found)]

    def rows_stay_on_disk(self, graph: Graph) -> bool:
        return self.base.rows_stay_on_disk(graph)

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        described, arrays = self.base.state()
        description: dict[str, Any] = {"base": self.base.name, "state": described, "splits": self.num_splits}
        arrays = {f"base/{name}": array for name, array in arrays.items()}
        if self.fine is not None:
            description["fine"] = self.fine._asdict()
        for number, split in enumerate(self._splits):
            arrays |= {f"split{number}/{name}": array for name, array in split._asdict().items()}
        if self.links is not None:
            description["links"], parts = self.links.state()
            arrays |= {f"links/{name}": array for name, array in parts.items()}
        return description, arrays

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        def under(prefix: str) -> dict[str, FloatArray]:
            return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

        base = restore_features(description["base"], description["state"], under("base/"))
        splits = [Split(**under(f"split{number}/")) for number in range(int(description["splits"]))]
        kind = WalkProfile if base.reads_links else LinkMap
        links = kind.from_state(description["links"], under("links/")) if "links" in description else None
        fine = (
            FineWords(*(int(description["fine"][name]) for name in FineWords._fields))
            if "fine" in description
            else None
        )
        if fine is not None and not (1 <= fine.width <= 4096 and 0 <= fine.seed < 2**63):
            raise InputError(f"fine words of {fine.width} columns")
        return cls(base, splits, fine, links)


def _split(columns: Any, products: Any, width: int, stream: np.random.Generator) -> Split:
    """Two random halves of the columns, each on its leading singular vectors; `products` of columns, if there are."""
    sides = stream.permutation(columns.shape[1]) % 2
    width = min(width, columns.shape[1] // 2)
    basis = np.zeros((columns.shape[1], width), np.float32)
    for side in (0, 1):
        chosen = np.flatnonzero(sides == side)
        if products is None:
            found = components(_unit_rows(columns[:, chosen]), width, stream, passes=3)
        else:
            found = leading_axes(products[np.ix_(chosen, chosen)], width)
        basis[chosen, : found.shape[1]] = found
    return Split(sides.astype(np.float32), basis)


def _unit_in_place(rows: FloatArray) -> FloatArray:
    for block in row_blocks(len(rows)):
        rows[block] = unit(rows[block])
    return rows


def _unit_rows(matrix: Any) -> Any:
    """Sparse rows scaled to length one; dense ones as they are."""
    if not sp.issparse(matrix):
        return matrix
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return (sp.diags((1 / np.maximum(lengths, 1e-12)).astype(np.float32)) @ matrix).tocsr().astype(np.float32)
