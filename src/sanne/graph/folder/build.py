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
from sanne.graph.folder.limits import BuildLimits
from sanne.graph.folder.node_files import write_node_data
from sanne.graph.folder.numbering import LARGEST, CountedIds, DatabaseIds, Numbering, TooFarApartError
from sanne.graph.folder.scan import EdgeFiles, NotIntegersError, TableFile, blocks, open_file, read_ids, regrouped
from sanne.graph.folder.store import check_graph_target, open_graph, write_header
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.graph import CheckedIds, Graph
from sanne.graph.readers.tables import as_names, node_columns
from sanne.interrupts import raise_if_interrupted

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
    config: BuildLimits | None = None,
) -> Graph:
    """Write the graph of one or more edge files (CSV, TSV, Parquet) into a graph folder, and open it.

    The graph is the one that `load_graph` gives: with a node table its rows are the nodes, without one the ids in
    sorted order. The other arguments mean what they mean there.

    >>> build_graph(["part-0.parquet", "part-1.parquet"], "web.graph")
    """
    usable = (config or BuildLimits()).memory - _OWN_USE
    target = check_graph_target(out)
    files = EdgeFiles([edges] if isinstance(edges, str | Path) else list(edges), weight)
    nodes = None if node_table is None else open_file(node_table)
    texts, columns = as_names(text), as_names(features)
    if nodes is None and (texts or columns or label):
        raise InputError("text, features and label name columns of a node table: give node_table= as well")
    if nodes is not None:
        key, label = node_columns(nodes, texts, columns, label)
    with replaced_folder(target) as part:
        if nodes is not None:
            write_node_data(nodes, part, key=key, text=texts, features=columns, label=label)
        build = _Build(files, nodes, key if nodes is not None else "", part, usable, directed)
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
    return int(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True)
class _Build:
    files: EdgeFiles
    nodes: TableFile | None
    key: str  # the id column of the node table
    folder: Path  # with room for scratch files beside it
    usable: int  # bytes
    directed: bool

    def run(self, *, as_text: bool) -> CheckedIds:
        """Write ids and arcs. Raises NotIntegersError if an id is text and `as_text` is not set."""
        with tempfile.TemporaryDirectory(dir=self.folder.parent) as place, contextlib.ExitStack() as stack:
            numbering = self._number(Path(place), stack, as_text)
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

    def _number(self, scratch: Path, stack: contextlib.ExitStack, as_text: bool) -> Numbering:
        """Number the nodes: rows of the node table, or else the sorted ids of the edges."""
        if not as_text:
            with contextlib.suppress(TooFarApartError):
                count = CountedIds.distinct if self.nodes is None else CountedIds.in_order
                return count(self._ids(as_text), self.usable // 2)
        database = DatabaseIds(scratch, pa.string() if as_text else pa.int64(), self.usable // 2)
        stack.callback(database.close)
        if self.nodes is None:
            database.add_distinct(self._ids(as_text))
        else:
            database.add_in_order(self._ids(as_text))
        return database

    def _ids(self, as_text: bool) -> Iterator[pa.ChunkedArray]:
        if self.nodes is None:
            for block in self.files.blocks(as_text=as_text):
                yield block.ends()
        else:
            for part, data in blocks(self.nodes, [self.key], [self.key]):
                yield read_ids(part, data.column(self.key), self.key, as_text=as_text)

    def _write_ids(self, numbering: Numbering, as_text: bool) -> CheckedIds:
        """Write the ids as they are: a node table's integers stay integers even where edges name them as text."""
        if self.nodes is None:
            return _write_ids(self.folder, numbering.ids(), as_text)
        try:
            return _write_ids(self.folder, self._ids(False), False)
        except NotIntegersError:
            (self.folder / "node_ids.npy").unlink()
            return _write_ids(self.folder, self._ids(True), True)

    def _coded(self, numbering: Numbering, as_text: bool) -> Iterator[Edges]:
        """The edges as pairs of nodes."""
        for block in regrouped(self.files.blocks(as_text=as_text), _ROWS_AT_ONCE):
            codes = numbering.codes(block.ends())
            if len(codes) and codes.min() < 0:
                row = int(np.argmin(codes))
                missing = block.ends()[row].as_py()
                assert self.nodes is not None
                raise InputError(
                    f"{self.files.name}: node {missing!r} has no row in {self.nodes.name}; "
                    "add a row for it to the node table, or remove the edge"
                )
            half = len(codes) // 2
            yield codes[:half], codes[half:], block.weights


def _write_ids(folder: Path, columns: Iterator[pa.Array], as_text: bool) -> CheckedIds:
    if as_text:
        with StringsWriter(folder, "node_ids") as texts:
            for ids in columns:
                for chunk in ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]:
                    texts.write(chunk.cast(pa.large_string()))
        return "unique"
    counting = True
    with NpyWriter(folder / "node_ids.npy", np.int64) as numbers:
        for ids in columns:
            values = ids.to_numpy()
            counting = counting and np.array_equal(values, np.arange(numbers.rows, numbers.rows + len(values)))
            numbers.write(values)
    return "counting" if counting else "unique"
