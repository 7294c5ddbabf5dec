"""Write the texts, features and labels of a node table into a graph folder, a block of rows at a time."""

import contextlib
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.files.npy import NpyWriter
from sanne.graph.folder.scan import Part, TableFile, blocks
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.ids import CANONICAL_INTEGER, id_array
from sanne.graph.readers.columns import is_numeric, read_features, read_labels, read_texts

logger = logging.getLogger(__name__)

_ROWS_AT_ONCE = 16_384


def write_node_data(
    table: TableFile, folder: Path, *, key: str, text: list[str] | None, features: list[str] | None, label: str | None
) -> None:
    """Write what a node table holds but its ids; without `text` and `features`, every numeric column is a feature."""
    if text is None and features is None:
        schema = table.schema()
        others = [name for name in table.columns if name not in (key, label)]
        features = [name for name in others if is_numeric(schema.field(name).type)]
        if ignored := [name for name in others if name not in features]:
            logger.info("%s: columns that are not numbers are not read: %s", table.name, ", ".join(ignored))
    strings = [key, *(text or []), *([label] if label else [])]
    rows = 0
    with contextlib.ExitStack() as stack:
        documents = stack.enter_context(StringsWriter(folder, "texts")) if text else None
        labels = _LabelWriter(folder, table.typed, stack) if label else None
        matrix: NpyWriter | None = None
        wanted = list(dict.fromkeys([*strings, *(features or [])]))
        for part, data in blocks(table, wanted, strings, _ROWS_AT_ONCE):
            rows += data.num_rows
            if documents is not None and text:
                documents.write(read_texts(part, data, text))
            if labels is not None and label:
                labels.write(part, data.column(label), label)
            if features:
                block = read_features(part, data, features, id_array(data.column(key)))
                if matrix is None:
                    matrix = stack.enter_context(NpyWriter(folder / "features.npy", np.float32, block.shape[1:]))
                _check_width(part, block, matrix)
                matrix.write(block)
        if labels is not None:
            labels.close()
    if rows == 0:
        raise InputError(f"{table.name}: it has no nodes, only column names; add one row per node")


def _check_width(part: Part, block: npt.NDArray[np.float32], matrix: NpyWriter) -> None:
    if block.shape[1:] != matrix.tail:
        raise InputError(
            f"{part.place(0)}: {block.shape[1]} features from here on, where row 1 has {matrix.tail[0]}; "
            "give every node lists of the same length"
        )


class _LabelWriter:
    """Writes classes as numbers, or as codes into a list of texts; classes are few, so the list stays in memory."""

    def __init__(self, folder: Path, typed: bool, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._typed = typed
        self._codes = stack.enter_context(NpyWriter(folder / "labels.codes.npy", np.int32))
        self._code_of: dict[Any, int] = {}

    def write(self, part: Part, column: pa.ChunkedArray, name: str) -> None:
        as_written = replace(part, typed=True)  # labels of a text file are numbers only if all of them are
        values, where = np.unique(read_labels(as_written, column, name), return_inverse=True)
        codes = [self._code_of.setdefault(value, len(self._code_of)) for value in values.tolist()]
        if len({type(value) for value in self._code_of}) > 1:
            raise InputError(f"{part.name}: column {name!r} mixes whole and decimal numbers; write classes as text")
        self._codes.write(np.array(codes, np.int32)[where])

    def close(self) -> None:
        self._codes.close()
        classes = list(self._code_of)
        if not self._typed and all(value == "" or re.fullmatch(CANONICAL_INTEGER, value) for value in classes):
            classes = [-1 if value == "" else int(value) for value in classes]
        if classes and isinstance(classes[0], str):
            with StringsWriter(self._folder, "labels.classes") as texts:
                texts.write(classes)
            return
        path = self._folder / "labels.codes.npy"
        codes = np.load(path, mmap_mode="r")
        numbers = np.array(classes, np.int64)
        with NpyWriter(self._folder / "labels.npy", np.int64) as file:
            for first in range(0, len(codes), 1_000_000):
                file.write(numbers[codes[first : first + 1_000_000]])
        path.unlink()
