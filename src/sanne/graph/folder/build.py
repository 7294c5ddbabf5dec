"""Build a graph folder from edge and node files that do not fit in memory.

Two passes over the edges: one to number the ids, one to write the arcs as pairs of numbers, which are then split
and sorted. Memory grows with neither edges nor features; it holds a few bytes a node where ids are integers.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sanne.errors import InputError
from sanne.files.atomic import replaced_folder
from sanne.files.npy import NpyWriter
from sanne.graph.folder.arcs import Edges, write_arcs
from sanne.graph.folder.edge_files import EdgeBlock, EdgeFiles, NotIntegersError, blocks, integer_or_text_ids
from sanne.graph.folder.node_files import write_node_data
from sanne.graph.folder.numbering import DatabaseIds
from sanne.graph.folder.store import check_graph_target, open_graph, write_header
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.graph import CheckedIds, Graph
from sanne.graph.ids import CountedIds, TooFarApartError
from sanne.graph.readers.columns import Table
from sanne.graph.readers.tables import NodeColumns, open_table
from sanne.interrupts import raise_if_interrupted

LARGEST = int(np.iinfo(np.int32).max)  # nodes in one graph
SMALLEST_MEMORY = 2**30
_OWN_USE = 400 * 2**20  # bytes of the interpreter, libraries and blocks under way
_ROWS_AT_ONCE = 2_000_000  # edges numbered together
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def build_graph(
    edges: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    node_table: str | Path | None = None,
    text: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    label: str | None = None,
    directed: bool = False,
    weight: str | bool | None = None,
    memory: str = "4GiB",
) -> Graph:
    """Write the graph of one or more edge files (CSV, TSV, Parquet) into a graph folder, and open it.

    The graph is the one that `load_graph` gives: with a node table its rows are the nodes, without one the ids in
    sorted order. `memory` limits what is used, the interpreter included. The other arguments mean what they mean there.

    >>> build_graph(["part-0.parquet", "part-1.parquet"], "web.graph")
    """
    usable = parse_size(memory) - _OWN_USE
    target = check_graph_target(out)
    files = EdgeFiles([edges] if isinstance(edges, str | Path) else list(edges), weight)
    nodes = columns = None
    if node_table is not None:
        nodes = open_table(Path(node_table), "table")
        columns = NodeColumns.of(nodes, text, features, label)
    elif text or features or label:
        raise InputError("text, features and label name columns of a node table: give node_table= as well")
    with replaced_folder(target) as part:
        if nodes is not None and columns is not None:
            write_node_data(nodes, columns, part)
        build = _Build(files, nodes, columns.key if columns else "", part, usable, directed)
        try:
            checked = build.run(as_text=False)
        except NotIntegersError:
            checked = build.run(as_text=True)
        raise_if_interrupted()
        write_header(part, directed=directed, checked_ids=checked, sparse_columns={})
    return open_graph(target)


def parse_size(text: str) -> int:
    """Bytes from text such as 4GB, 512MiB or 1000000."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    if found is None or found[2].upper() not in _UNITS:
        raise InputError(f"{text!r} is no amount of memory: write it as 4GB or 512MiB")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < SMALLEST_MEMORY:
        raise InputError(f"memory must be at least {SMALLEST_MEMORY / 2**30:g} GiB, not {text}")
    return size


@dataclass(frozen=True)
class _Build:
    files: EdgeFiles
    nodes: Table | None
    key: str  # the id column of the node table
    folder: Path  # with room for scratch files beside it
    usable: int  # bytes
    directed: bool

    def run(self, *, as_text: bool) -> CheckedIds:
        """Write ids and arcs. Raises NotIntegersError if an id is text and `as_text` is not set."""
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as place, contextlib.ExitStack() as stack:
            numbering = self._number(Path(place), stack, as_text)
            if numbering.count == 0:
                raise InputError(f"{self.files.name}: it has no edges, only column names; add one row per edge")
            if numbering.count > LARGEST:
                raise InputError(f"{numbering.count} nodes: at most {LARGEST} fit in one graph")
            checked = self._write_ids(numbering, as_text)
            write_arcs(
                self._coded(numbering, as_text),
                numbering.count,
                self.folder,
                Path(place),
                directed=self.directed,
                weighted=self.files.weighted,
                memory=self.usable // 2,  # the other half is for the numbering
            )
        return checked

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
            for edges in self.files.blocks(as_text=as_text):
                yield _ends([edges])
        else:
            for block in blocks(self.nodes, [self.key], [self.key]):
                yield integer_or_text_ids(block, self.key, as_text=as_text)

    def _write_ids(self, numbering: CountedIds | DatabaseIds, as_text: bool) -> CheckedIds:
        """Write the ids as they are: a node table's integers stay integers even where edges name them as text."""
        if self.nodes is None:
            return _write_ids(self.folder, numbering.ids(), as_text)
        try:
            return _write_ids(self.folder, self._ids(False), False)
        except NotIntegersError:
            (self.folder / "node_ids.npy").unlink()
            return _write_ids(self.folder, self._ids(True), True)

    def _coded(self, numbering: CountedIds | DatabaseIds, as_text: bool) -> Iterator[Edges]:
        """The edges as pairs of nodes."""
        for held in _grouped(self.files.blocks(as_text=as_text)):
            ends = _ends(held)
            codes = numbering.codes(ends)
            if len(codes) and codes.min() < 0:
                assert self.nodes is not None
                raise InputError(
                    f"{self.files.name}: node {ends[int(codes.argmin())].as_py()!r} has no row in {self.nodes.name}; "
                    "add a row for it to the node table, or remove the edge"
                )
            weights = [block.weights for block in held if block.weights is not None]
            half = len(codes) // 2
            yield codes[:half], codes[half:], np.concatenate(weights) if weights else None


def _ends(held: list[EdgeBlock]) -> pa.ChunkedArray:
    """All sources, then all targets."""
    columns = [block.sources for block in held] + [block.targets for block in held]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)


def _grouped(edges: Iterator[EdgeBlock]) -> Iterator[list[EdgeBlock]]:
    """Blocks in groups of at least so many rows, the last one excepted: a database joins a few large tables faster."""
    held: list[EdgeBlock] = []
    for block in edges:
        held.append(block)
        if sum(len(each.sources) for each in held) >= _ROWS_AT_ONCE:
            yield held
            held = []
    if held:
        yield held


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
