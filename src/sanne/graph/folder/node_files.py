"""Write the texts, features and labels of a node table into a graph folder, a block of rows at a time."""

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sanne.errors import InputError
from sanne.files.npy import NpyWriter
from sanne.graph.folder.edge_files import blocks
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.ids import CANONICAL_INTEGER
from sanne.graph.readers.columns import Block, Table
from sanne.graph.readers.tables import NodeColumns

_ROWS_AT_ONCE = 16_384


def write_node_data(table: Table, columns: NodeColumns, folder: Path) -> None:
    """Write what a node table holds but its ids."""
    if columns.everything:
        columns = columns.with_numeric(table, table.schema())
    rows = 0
    with contextlib.ExitStack() as stack:
        documents = stack.enter_context(StringsWriter(folder, "texts")) if columns.text else None
        matrix: NpyWriter | None = None
        labels = _Labels()
        for block in blocks(table, columns.wanted, columns.strings, _ROWS_AT_ONCE):
            rows += block.data.num_rows
            # Labels of a text file are numbers only if all of them are, which is known at the end.
            found = columns.read(block, infer=False)
            if documents is not None:
                documents.write(found["texts"])
            if (features := found["features"]) is not None:
                if matrix is None:
                    matrix = stack.enter_context(NpyWriter(folder / "features.npy", np.float32, features.shape[1:]))
                _check_width(block, features, matrix)
                matrix.write(features)
            if found["labels"] is not None:
                labels.add(found["labels"], f"{table.name}: column {columns.label!r}")
    if rows == 0:
        raise InputError(f"{table.name}: it has no nodes, only column names; add one row per node")
    if columns.label is not None:
        labels.write(folder, infer=not table.typed)


def _check_width(block: Block, features: npt.NDArray[np.float32], matrix: NpyWriter) -> None:
    if features.shape[1:] != matrix.tail:
        raise InputError(
            f"{block.place(0)}: {features.shape[1]} features from here on, where row 1 has {matrix.tail[0]}; "
            "give every node lists of the same length"
        )


class _Labels:
    """Classes as codes, 4 bytes a node; the distinct ones are few."""

    def __init__(self) -> None:
        self._codes: list[npt.NDArray[np.int32]] = []
        self._code_of: dict[Any, int] = {}

    def add(self, labels: npt.NDArray[Any], name: str) -> None:
        values, where = np.unique(labels, return_inverse=True)
        codes = [self._code_of.setdefault(value, len(self._code_of)) for value in values.tolist()]
        if len({type(value) for value in self._code_of}) > 1:
            raise InputError(f"{name} mixes whole and decimal numbers; write classes as text")
        self._codes.append(np.array(codes, np.int32)[where])

    def write(self, folder: Path, *, infer: bool) -> None:
        """Write them as numbers, or as codes into a list of texts."""
        codes, classes = np.concatenate(self._codes), list(self._code_of)
        if infer and all(value == "" or re.fullmatch(CANONICAL_INTEGER, value) for value in classes):
            classes = [-1 if value == "" else int(value) for value in classes]
        if isinstance(classes[0], str):
            np.save(folder / "labels.codes.npy", codes)
            with StringsWriter(folder, "labels.classes") as texts:
                texts.write(classes)
        else:
            np.save(folder / "labels.npy", np.array(classes, np.int64)[codes])
