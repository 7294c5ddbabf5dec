"""Write the texts, features and labels of a node table into a graph folder, a block of rows at a time."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from sanne.errors import InputError
from sanne.files.npy import NpyWriter
from sanne.graph.folder.strings import StringsWriter
from sanne.graph.ids import CANONICAL_INTEGER
from sanne.graph.readers.columns import Block, Table
from sanne.graph.readers.named import NodeColumns

_ROWS_AT_ONCE = 16_384


def write_node_data(table: Table, columns: NodeColumns, folder: Path) -> None:
    """Write what a node table holds but its ids."""
    rows = 0
    with contextlib.ExitStack() as stack:
        documents = stack.enter_context(StringsWriter(folder, "texts")) if columns.text else None
        matrix: NpyWriter | None = None
        labels: list[pa.Array] = []  # as codes: 4 bytes a node, and the distinct ones are few
        for block in Block.parts(table, columns.wanted, columns.strings, _ROWS_AT_ONCE):
            rows += block.data.num_rows
            # Labels of a text file are numbers only if all of them are, which is known at the end.
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
            if found["labels"] is not None:
                labels.append(pa.array(found["labels"]).dictionary_encode())
    if rows == 0:
        raise InputError(f"{table.name}: it has no nodes, only column names; add one row per node")
    if columns.label is not None:
        _write_labels(folder, labels, f"{table.name}: column {columns.label!r}", infer=not table.typed)


def _write_labels(folder: Path, blocks: list[pa.Array], name: str, *, infer: bool) -> None:
    """Write classes as numbers, or as codes into a list of texts."""
    if len({block.type for block in blocks}) > 1:
        raise InputError(f"{name} mixes whole and decimal numbers; write classes as text")
    coded = pa.chunked_array(blocks).unify_dictionaries()
    codes, classes = coded.combine_chunks().indices.to_numpy(), coded.chunk(0).dictionary.to_pylist()
    if infer and all(value == "" or re.fullmatch(CANONICAL_INTEGER, value) for value in classes):
        classes = [-1 if value == "" else int(value) for value in classes]
    if isinstance(classes[0], str):
        np.save(folder / "labels.codes.npy", codes)
        with StringsWriter(folder, "labels.classes") as texts:
            texts.write(classes)
    else:
        np.save(folder / "labels.npy", np.array(classes, np.int64)[codes])
