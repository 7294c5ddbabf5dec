"""Build a graph folder from edge and node files that do not fit in memory.

Two passes over the edges: one to number the ids, one to write the arcs as pairs of numbers, which are then split
and sorted. Memory does not grow with edges or features, only by a few bytes per node for integer ids.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.files.atomic import replaced_folder
from sanne.files.npy import NpyWriter
from sanne.graph.folder.arcs import Edges, write_arcs
from sanne.graph.folder.numbering import CountedIds, DatabaseIds, TooFarApartError
from sanne.graph.folder.store import check_graph_target, open_graph, write_header
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.graph import CheckedIds, Graph
from sanne.graph.ids import as_integers
from sanne.graph.readers.columns import Block, Table, read_ids
from sanne.graph.readers.kinds import Kinds
from sanne.graph.readers.named import Asked, EdgeColumns, NodeColumns, Unknown, open_table
from sanne.graph.readers.tables import NO_ROW
from sanne.interrupts import raise_if_interrupted

LARGEST = int(np.iinfo(np.int32).max)  # nodes in one graph
SMALLEST_MEMORY = 2**30
_OWN_USE = 400 * 2**20  # bytes of the interpreter, libraries and blocks under way
_ROWS_AT_ONCE = 2_000_000  # edges numbered together: a database joins a few large tables faster
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_NODES_AT_ONCE = 16_384


def build_graph(
    edges: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    node_table: str | Path | None = None,
    memory: str = "4GiB",
    **options: Any,
) -> Graph:
    """Write the graph of one or more edge files into a graph folder, and open it.

    The graph equals that of `load_graph`: with a node table its rows are the nodes, without one the ids in
    sorted order. `memory` limits the whole process, including the interpreter. The `options` are those of `load_graph`.

    >>> build_graph(["part-0.parquet", "part-1.parquet"], "web.graph")
    """
    asked, usable = Asked(**options), parse_size(memory) - _OWN_USE
    target = check_graph_target(out)
    tables = [open_table(Path(path), "table") for path in ([edges] if isinstance(edges, str | Path) else edges)]
    kinds = Kinds.of(asked.kind, asked.kind_weights)
    if asked.kind_weights == "auto" or asked.unknown == "add":
        raise InputError("a graph folder needs weights of edge types as numbers, and a row per node or unknown='drop'")
    asked.check(node_table)
    columns = [EdgeColumns.of(table, asked, kinds) for table in tables]
    if not tables:
        raise InputError("no edge file given: name at least one")
    for table, found in zip(tables, columns, strict=True):
        if found.weighted != columns[0].weighted:
            one, other = (tables[0].name, table.name) if columns[0].weighted else (table.name, tables[0].name)
            raise InputError(f"{one} has weights and {other} has none: give all edge files weights, or none")
    nodes, key, names = None, "", None
    with replaced_folder(target) as part:
        if node_table is not None:
            nodes = open_table(Path(node_table), "table")
            named = NodeColumns.of(nodes, asked)
            key = named.key
            names = write_node_data(nodes, named, part)
        build = _Build(list(zip(tables, columns, strict=True)), nodes, key, part, usable, asked.directed, asked.unknown)
        try:
            checked = build.run(as_text=False)
        except _NotIntegersError:
            checked = build.run(as_text=True)
        raise_if_interrupted()
        if kinds is not None:
            kinds.check(build.name)
        write_header(part, directed=asked.directed, checked_ids=checked, sparse_columns={}, feature_names=names)
    return open_graph(target)


def parse_size(text: str) -> int:
    """Bytes from text such as 4GB, 512MiB or 1000000."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].upper() not in _UNITS:
        raise InputError(f"{text!r} is not an amount of memory: write it as 4GB or 512MiB")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < SMALLEST_MEMORY:
        raise InputError(f"memory must be at least {SMALLEST_MEMORY / 2**30:g} GiB, not {text}")
    return size


class _NotIntegersError(Exception):
    """Ids were requested as integers, but one is text: request them as text."""


@dataclass(frozen=True)
class _Build:
    edges: list[tuple[Table, EdgeColumns]]
    nodes: Table | None
    key: str  # the id column of the node table
    folder: Path  # with room for scratch files beside it
    usable: int  # bytes
    directed: bool
    unknown: Unknown | None

    def run(self, *, as_text: bool) -> CheckedIds:
        """Write ids and arcs. Raises _NotIntegersError if an id is text and `as_text` is not set."""
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as place, contextlib.ExitStack() as stack:
            numbering = self._number(Path(place), stack, as_text)
            if numbering.count == 0:
                raise InputError(f"{self.name}: it has no edges, only column names; add one row per edge")
            if numbering.count > LARGEST:
                raise InputError(f"{numbering.count} nodes: at most {LARGEST} fit in one graph")
            checked = self._write_ids(numbering, as_text)
            write_arcs(
                self._coded(numbering, as_text),
                numbering.count,
                self.folder,
                Path(place),
                directed=self.directed,
                weighted=self.edges[0][1].weighted,
                memory=self.usable // 2,  # the other half is for the numbering
            )
        return checked

    @property
    def name(self) -> str:
        more = f" and {len(self.edges) - 1} more" if len(self.edges) > 1 else ""
        return f"{self.edges[0][0].name}{more}"

    def _number(self, scratch: Path, stack: contextlib.ExitStack, as_text: bool) -> CountedIds | DatabaseIds:
        """Number the nodes: rows of the node table, or else the sorted ids of the edges."""
        limit, in_order = self.usable // 2, self.nodes is not None
        if not as_text:
            with contextlib.suppress(TooFarApartError):
                return CountedIds(self._ids(as_text), limit, in_order=in_order)
        kind = pa.string() if as_text else pa.int64()
        return stack.enter_context(
            contextlib.closing(DatabaseIds(self._ids(as_text), limit, scratch, kind, in_order=in_order))
        )

    def _ids(self, as_text: bool) -> Iterator[pa.ChunkedArray]:
        if self.nodes is None:
            for ends, _ in self._ends(as_text):
                yield ends
        else:
            for block in Block.parts(self.nodes, [self.key], [self.key], _ROWS_AT_ONCE):
                yield _checked_ids(block, self.key, as_text)

    def _ends(self, as_text: bool) -> Iterator[tuple[pa.ChunkedArray, npt.NDArray[Any] | None]]:
        """The edges, some at a time: the ids of all sources, then of all targets; and the weights."""
        for table, columns in self.edges:
            for block in Block.parts(table, columns.wanted, columns.strings, _ROWS_AT_ONCE):
                sources, targets = (_checked_ids(block, name, as_text) for name in columns.strings)
                weights = columns.weights(block)
                if weights is not None:
                    if columns.kinds is not None and (left := weights > 0).sum() < len(weights):
                        sources, targets, weights = sources.filter(left), targets.filter(left), weights[left]
                    weights = weights.astype(np.float32) if columns.weighted else None
                yield pa.chunked_array([*sources.chunks, *targets.chunks], sources.type), weights

    def _write_ids(self, numbering: CountedIds | DatabaseIds, as_text: bool) -> CheckedIds:
        """Write the ids unchanged: a node table's integers stay integers even if edges contain them as text."""
        if self.nodes is None:
            return _write_ids(self.folder, numbering.ids(), as_text)
        try:
            return _write_ids(self.folder, self._ids(False), False)
        except _NotIntegersError:
            (self.folder / "node_ids.npy").unlink()
            return _write_ids(self.folder, self._ids(True), True)

    def _coded(self, numbering: CountedIds | DatabaseIds, as_text: bool) -> Iterator[Edges]:
        for ends, weights in self._ends(as_text):
            codes = numbering.codes(ends)
            half = len(codes) // 2
            if self.unknown == "drop":
                known = (codes.reshape(2, half) >= 0).all(axis=0)
                yield codes[:half][known], codes[half:][known], None if weights is None else weights[known]
                continue
            if len(codes) and codes.min() < 0:
                assert self.nodes is not None
                node_id = ends[int(codes.argmin())].as_py()
                raise InputError(f"{self.name}: node {node_id!r} has no row in {self.nodes.name}; {NO_ROW}")
            yield codes[:half], codes[half:], weights


def _checked_ids(block: Block, name: str, as_text: bool) -> pa.ChunkedArray:
    ids = read_ids(block, name, as_text=as_text)
    if not as_text and not pa.types.is_integer(ids.type):
        raise _NotIntegersError
    return ids


def _write_ids(folder: Path, columns: Iterator[pa.Array | pa.ChunkedArray], as_text: bool) -> CheckedIds:
    if as_text:
        with StringsWriter(folder, "node_ids") as texts:
            for ids in columns:
                texts.write(ids)
        return "unique"
    counting = True
    with NpyWriter(folder / "node_ids.npy", np.int64) as numbers:
        for ids in columns:
            values = ids.to_numpy()
            counting = counting and np.array_equal(values, np.arange(numbers.rows, numbers.rows + len(values)))
            numbers.write(values)
    return "counting" if counting else "unique"


def write_node_data(table: Table, columns: NodeColumns, folder: Path) -> tuple[str, ...] | None:
    """Write everything in a node table except the ids; returns the names of feature columns, if they have some."""
    rows, names = 0, None
    with contextlib.ExitStack() as stack:
        documents = stack.enter_context(StringsWriter(folder, "texts")) if columns.text else None
        matrix: NpyWriter | None = None
        labels: list[pa.Array] = []  # as codes: 4 bytes per node, since few are distinct
        for block in Block.parts(table, columns.wanted, columns.strings, _NODES_AT_ONCE):
            rows += block.data.num_rows
            # Labels in a text file are numbers only if all of them are, which is known only at the end.
            found = columns.read(block, infer=False)
            if documents is not None:
                documents.write(found["texts"])
            if (features := found["features"]) is not None:
                if matrix is None:
                    matrix = stack.enter_context(NpyWriter(folder / "features.npy", np.float32, features.shape[1:]))
                if features.shape[1:] != matrix.tail:
                    raise InputError(
                        f"{block.place(0)}: {features.shape[1]} features from here on, where row 1 has "
                        f"{matrix.tail[0]}; give every node lists of the same length"
                    )
                matrix.write(features)
                names = columns.names(features)
            if found["labels"] is not None:
                labels.append(pa.array(found["labels"]).dictionary_encode())
    if rows == 0:
        raise InputError(f"{table.name}: it has no nodes, only column names; add one row per node")
    if columns.label is not None:
        _write_labels(folder, labels, f"{table.name}: column {columns.label!r}", infer=not table.typed)
    return names


def _write_labels(folder: Path, blocks: list[pa.Array], name: str, *, infer: bool) -> None:
    """Write classes as numbers, or as codes into a list of texts."""
    if len({block.type for block in blocks}) > 1:
        raise InputError(f"{name} mixes whole and decimal numbers; write classes as text")
    coded = pa.chunked_array(blocks).unify_dictionaries()
    codes, classes = coded.combine_chunks().indices.to_numpy(), coded.chunk(0).dictionary.to_pylist()
    if infer and (numbers := as_integers(pa.array(["-1" if name == "" else name for name in classes]))) is not None:
        classes = numbers.to_pylist()
    if isinstance(classes[0], str):
        np.save(folder / "labels.codes.npy", codes)
        with StringsWriter(folder, "labels.classes") as texts:
            texts.write(classes)
    else:
        np.save(folder / "labels.npy", np.array(classes, np.int64)[codes])
