"""Graph: compressed rows of neighbours, with the user's node ids kept apart from the indices 0..n-1."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from sanne.errors import InputError, UnknownNodeError
from sanne.graph.ids import as_given, did_you_mean, plain_ids, refuse_control_character, refuse_no_id, shown

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
Direction = Literal["both", "along", "against"]
CheckedIds = Literal["no", "unique", "counting"]  # counting: the ids are 0..n-1
Features = Any  # a dense float array or a scipy CSR matrix, one row per node


# Beyond these, sums of weights in single precision would be infinite or zero.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e30
ABOUT_WEIGHTS = (
    f"a weight is a positive number, from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: "
    "correct it, scale all weights, or remove the edge"
)


def usable_weights(weights: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which weights an edge may have: positive numbers whose sums are numbers."""
    held = np.asarray(weights, np.float64)
    usable: npt.NDArray[np.bool_] = (held >= 0.99 * SMALLEST_WEIGHT) & (held <= 1.01 * LARGEST_WEIGHT)
    return usable


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The arcs that walks follow: the neighbours of node i are indices[indptr[i]:indptr[i + 1]]."""

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    weights: FloatArray | None

    def __post_init__(self) -> None:
        _freeze(self.indptr, self.indices, self.weights)  # graphs keep theirs and hand it to many readers

    @classmethod
    def from_scipy(cls, matrix: Any, *, weighted: bool) -> Self:
        """The arcs of a square sparse matrix, neighbours in ascending order."""
        rows = matrix.tocsr()
        rows.sort_indices()
        weights = rows.data.astype(np.float32) if weighted else None
        return cls(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), weights)

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    def rows(self, nodes: IntArray) -> Any:
        """The rows of some nodes as a scipy CSR matrix (weights, or ones); other rows are not read."""
        counts = self.indptr[nodes + 1] - self.indptr[nodes]
        indptr = np.append(0, np.cumsum(counts))
        places = np.repeat(self.indptr[nodes] - indptr[:-1], counts) + np.arange(indptr[-1])
        data = np.ones(len(places), np.float32) if self.weights is None else self.weights[places]
        return sp.csr_matrix((data, self.indices[places], indptr), shape=(len(nodes), self.num_nodes))

    def to_scipy(self) -> Any:
        """The adjacency as a scipy CSR matrix (weights, or ones)."""
        data = np.ones(len(self.indices), np.float32) if self.weights is None else self.weights
        return sp.csr_matrix((data, self.indices, self.indptr), shape=(self.num_nodes, self.num_nodes))


@dataclass(frozen=True, eq=False)
class Graph:
    """An immutable graph with optional node text, features and labels. Build one with `load_graph`.

    An undirected graph lists every edge in both rows. Self-loops are dropped and repeated edges merged
    (weights added up) when a graph is built. The arrays may be memory-mapped; texts and text ids may then be
    a `MappedStrings` instead of an array.
    """

    indptr: IntArray
    indices: npt.NDArray[np.int32]
    weights: FloatArray | None
    node_ids: npt.NDArray[Any]  # int64, or str objects
    directed: bool = False
    features: Features | None = None
    texts: npt.NDArray[np.object_] | None = None
    labels: npt.NDArray[Any] | None = None
    checked_ids: CheckedIds = "no"  # what a reader vouches for, so that the ids are not read here
    chosen: dict[str, Any] = field(default_factory=dict)  # options of load_graph that the reader chose itself
    feature_names: tuple[str, ...] | None = None  # of the columns, where a table has names for them
    check_arcs: Callable[[], None] | None = None  # called before arcs are first used, where a reader left that open

    def __post_init__(self) -> None:
        n = len(self.node_ids)
        if n == 0:
            raise InputError("the graph is empty: it has no nodes")
        if len(self.indptr) != n + 1:
            raise InputError(f"{n} node ids but {len(self.indptr) - 1} rows of neighbours")
        for name in ("features", "texts", "labels"):
            value = getattr(self, name)
            rows = n if value is None else (value.shape[0] if hasattr(value, "shape") else len(value))
            if rows != n:
                raise InputError(f"{rows} rows of {name} for {n} nodes: give one row per node")
        width = 0 if self.features is None else self.features.shape[1]
        if self.feature_names is not None and len(self.feature_names) != width:
            raise InputError(f"{len(self.feature_names)} names for {width} feature columns: give one for each")
        _freeze(self.indptr, self.indices, self.weights, self.node_ids)
        if self.checked_ids == "no" and not self.ids_count_up:
            self._check_ids(n)

    def _check_ids(self, n: int) -> None:
        try:
            ids = pa.array(self.node_ids, from_pandas=True)  # NaN as no id
        except UnicodeEncodeError as error:
            raise InputError(f"node id {error.object!r} is not valid text: it cannot be saved; rename it") from None
        if ids.null_count:
            refuse_no_id(pc.index(ids.is_null(), True).as_py(), n)
        refuse_control_character(ids, lambda row: f"node {row + 1} of {n}")
        if (distinct := pc.count_distinct(ids).as_py()) != n:
            counts = pc.value_counts(ids)
            twice = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
            raise InputError(f"node ids must be unique, but {twice!r} occurs more than once ({n - distinct} repeats)")

    @classmethod
    def from_edges(
        cls,
        sources: npt.ArrayLike,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        node_ids: npt.ArrayLike,
        directed: bool = False,
        features: Features | None = None,
        texts: npt.NDArray[np.object_] | None = None,
        labels: npt.NDArray[Any] | None = None,
        chosen: dict[str, Any] | None = None,
        feature_names: tuple[str, ...] | None = None,
    ) -> Self:
        """Build a graph from index pairs in any order; `node_ids[i]` is the user's name of index i."""
        ids = as_given(node_ids)
        n = len(ids)
        source = np.asarray(sources, dtype=np.int64).ravel()
        target = np.asarray(targets, dtype=np.int64).ravel()
        if len(source) != len(target):
            raise InputError(f"{len(source)} edge sources but {len(target)} edge targets")
        if n > np.iinfo(np.int32).max:
            raise InputError(f"{n} nodes: at most {np.iinfo(np.int32).max} fit in one graph")
        if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= n):
            raise InputError(f"an edge names a node outside 0..{n - 1}")
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused below
            value = None if weights is None else np.asarray(weights, dtype=np.float32).ravel()
        if value is not None:
            if len(value) != len(source):
                raise InputError(f"{len(value)} weights for {len(source)} edges")
            bad = np.flatnonzero(~usable_weights(value))
            if len(bad):
                ends = f"from node {shown(ids, source[bad[0]])} to node {shown(ids, target[bad[0]])}"
                raise InputError(f"the edge {ends} has the weight {value[bad[0]]:g}; {ABOUT_WEIGHTS}")
        keep = source != target
        source, target = source[keep], target[keep]
        data = np.ones(len(source), np.float32) if value is None else value[keep]
        matrix = sp.coo_matrix((data, (source.astype(np.int32), target.astype(np.int32))), shape=(n, n)).tocsr()
        if not directed:
            # The same edge listed once in each direction is one edge, so take the larger, not the sum.
            matrix = matrix.maximum(matrix.T)
        arcs = Adjacency.from_scipy(matrix, weighted=value is not None)
        return cls(
            *(arcs.indptr, arcs.indices, arcs.weights),
            node_ids=plain_ids(ids),
            directed=directed,
            features=features,
            texts=texts,
            labels=labels,
            chosen=chosen or {},
            feature_names=feature_names,
        )

    @property
    def num_nodes(self) -> int:
        return len(self.node_ids)

    @property
    def num_edges(self) -> int:
        """Distinct edges, each counted once."""
        return len(self.indices) if self.directed else len(self.indices) // 2

    @property
    def has_integer_ids(self) -> bool:
        return bool(self.node_ids.dtype.kind == "i")

    @cached_property
    def ids_count_up(self) -> bool:
        """Whether the node ids are the indices 0..n-1 themselves."""
        if self.checked_ids != "no":
            return self.checked_ids == "counting"
        return self.has_integer_ids and np.array_equal(self.node_ids, np.arange(self.num_nodes))

    def adjacency(self, direction: Direction = "both") -> Adjacency:
        """The arcs to walk on: along the edges, against them, or in both directions."""
        if not self.directed or direction == "along":
            return self._along
        return self._against if direction == "against" else self._both_ways

    @cached_property
    def _along(self) -> Adjacency:
        if self.check_arcs is not None:
            self.check_arcs()
        return Adjacency(self.indptr, self.indices, self.weights)

    @cached_property
    def _against(self) -> Adjacency:
        return Adjacency.from_scipy(self._along.to_scipy().T, weighted=self.weights is not None)

    @cached_property
    def _both_ways(self) -> Adjacency:
        arcs = self._along.to_scipy()
        return Adjacency.from_scipy(arcs + arcs.T, weighted=self.weights is not None)

    def without_links(self, nodes: IntArray | None = None) -> IntArray:
        """The nodes without links among some (by default all): their walks never leave them."""
        alone = np.diff(self.adjacency().indptr) == 0
        return np.flatnonzero(alone) if nodes is None else nodes[alone[nodes]]

    def nodes_of(self, ids: Iterable[Any]) -> IntArray:
        """The indices of node ids; numbers written as text find integer ids.

        >>> graph.nodes_of(["paper-9001"])
        """
        asked = [ids] if isinstance(ids, str | int | np.integer) else list(ids)
        try:
            if self.has_integer_ids:
                wanted = pa.array([_integer_or_none(item) for item in asked], pa.int64())
            else:
                wanted = pa.array([str(item) for item in asked], self._id_column.type)
        except UnicodeEncodeError as error:
            raise UnknownNodeError(f"node id {error.object!r} is not valid text: no graph has it") from None
        found = self._find(wanted)
        if len(absent := np.flatnonzero(found < 0)):
            missing = [asked[i] for i in absent]
            some = ", ".join(repr(item) for item in missing[:3]) + (", ..." if len(missing) > 3 else "")
            raise UnknownNodeError(
                f"{len(missing)} of {len(asked)} node ids are not in the graph ({some}); check their spelling or load "
                f"the graph that has them{did_you_mean(missing[0], self.node_ids)}"
            )
        return found

    def _find(self, wanted: pa.Array) -> IntArray:
        """The indices of ids, -1 for those that are not there."""
        if self.ids_count_up:
            numbers = wanted.fill_null(-1).to_numpy()
            return np.where((numbers >= 0) & (numbers < self.num_nodes), numbers, -1).astype(np.int64)
        found = pc.index_in(wanted, self._id_column)
        return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)

    @cached_property
    def _id_column(self) -> Any:
        return pa.array(self.node_ids)

    def subgraph(self, nodes: npt.ArrayLike) -> Self:
        """The graph of some nodes (indices, or a mask) and the edges among them, in the order of `nodes`."""
        chosen = np.asarray(nodes)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        matrix = self.adjacency("along").to_scipy()[chosen][:, chosen]
        arcs = Adjacency.from_scipy(matrix, weighted=self.weights is not None)

        def pick(value: Any) -> Any:
            return None if value is None else value[chosen]

        return type(self)(
            *(arcs.indptr, arcs.indices, arcs.weights),
            node_ids=self.node_ids[chosen],
            directed=self.directed,
            features=pick(self.features),
            texts=pick(self.texts),
            labels=pick(self.labels),
            feature_names=self.feature_names,
        )

    def with_columns(self, names: Sequence[str]) -> Self:
        """The graph with the feature columns of these names, in this order; the same graph if they have no names."""
        if self.features is None or self.feature_names is None or self.feature_names == tuple(names):
            return self
        places = {name: place for place, name in enumerate(self.feature_names)}
        if missing := [name for name in names if name not in places]:
            unused = [name for name in self.feature_names if name not in names]
            close = difflib.get_close_matches(missing[0], unused, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"the graph lacks {len(missing)} of the {len(names)} feature columns that the model was fitted on, "
                f"such as {missing[0]!r}: name the columns as then{hint}"
            )
        if isinstance(self.features, np.memmap):
            raise InputError(
                "the feature columns of the graph folder are not those that the model was fitted on, or in another "
                "order: build it with a --features for each, in that order"
            )
        columns = np.array([places[name] for name in names])
        return replace(self, features=self.features[:, columns], feature_names=tuple(names))

    def __repr__(self) -> str:
        parts = [f"{self.num_nodes:,} nodes", f"{self.num_edges:,} {'arcs' if self.directed else 'edges'}"]
        if self.weights is not None:
            parts.append("weighted")
        if self.texts is not None:
            parts.append("text")
        if self.features is not None:
            parts.append(f"{self.features.shape[1]} features")
        return f"Graph({', '.join(parts)})"


def _freeze(*arrays: Any) -> None:
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


def _integer_or_none(item: Any) -> int | None:
    try:
        number = int(item)
    except (TypeError, ValueError, OverflowError):
        return None
    if not isinstance(item, str) and number != item:  # 1.5 is not node 1
        return None
    return number if abs(number) < 2**63 else None
