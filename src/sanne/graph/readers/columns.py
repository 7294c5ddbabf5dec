"""Rows of a table, and their columns as ids, weights, features, texts and labels; errors name the bad cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError
from sanne.graph.graph import ABOUT_WEIGHTS, usable_weights
from sanne.graph.ids import as_integers, clean_ids, refuse_control_character
from sanne.graph.readers.delimited import DelimitedFile
from sanne.graph.readers.typed_tables import TypedTable
from sanne.interrupts import raise_if_interrupted

Table = DelimitedFile | TypedTable


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns of a table, from row `first` on."""

    table: Table
    data: pa.Table
    first: int = 0

    @classmethod
    def whole(cls, table: Table, columns: Sequence[str], strings: Sequence[str]) -> "Block":
        """All rows; the columns in `strings` as text where the table has no types."""
        return cls(table, table.read(list(dict.fromkeys(columns)), strings))

    @classmethod
    def parts(cls, table: Table, columns: Sequence[str], strings: Sequence[str], rows: int) -> "Iterator[Block]":
        """The same, up to `rows` rows at a time."""
        first = 0
        for data in table.batches(columns, strings, rows):
            raise_if_interrupted()
            yield cls(table, data, first)
            first += data.num_rows

    def place(self, row: int) -> str:
        return self.table.place(self.first + row)

    def column(self, name: str) -> pa.ChunkedArray:
        """A column, categories as their values."""
        column = self.data.column(name)
        return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type is a feature: numbers, true/false, or lists of numbers."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        kind = kind.value_type
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def read_ids(block: Block, name: str, *, as_text: bool = False) -> pa.ChunkedArray:
    """A column of ids, int64 or string; refuses a missing id and one with a control character."""
    try:
        ids = clean_ids(block.data.column(name), infer=not block.table.typed and not as_text)
    except InputError as error:
        raise InputError(f"{block.table.name}: {error}") from None
    if ids.null_count:
        row = int(ids.is_null().to_numpy().argmax())
        raise InputError(f"{block.place(row)}: no node id in column {name!r}; fill it in or remove the row")
    refuse_control_character(ids, block.place)
    return ids.cast(pa.string()) if as_text else ids


def read_weights(block: Block, name: str) -> npt.NDArray[np.float64]:
    """Weights as numbers; refuses the first that is not positive."""
    values = _numbers(block, name, "weight")
    bad = np.flatnonzero(~usable_weights(values))
    if len(bad):
        row = int(bad[0])
        problem = "no weight" if np.isnan(values[row]) else f"weight {values[row]:g}"
        more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
        raise InputError(f"{block.place(row)}: {problem} in column {name!r}{more}; {ABOUT_WEIGHTS}")
    return values


def read_features(block: Block, names: Sequence[str], key: str) -> npt.NDArray[np.float32]:
    """The columns side by side as float32 (n, width); a list column gives as many as its lists are long.

    `key` is the column of ids, for messages.
    """
    return np.ascontiguousarray(np.concatenate([_features(block, name, key) for name in names], axis=1))


def _numbers(block: Block, name: str, what: str) -> npt.NDArray[np.float64]:
    """A column as float64, NaN where there is no value; text that is not a number is refused."""
    column = block.column(name)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column.to_pylist()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(f"{block.place(row)}: {what} {value!r} in column {name!r} is not a number") from None
        raise InputError(f"{block.table.name}: column {name!r} ({column.type}) does not hold numbers") from None


def _features(block: Block, name: str, key: str) -> npt.NDArray[np.float32]:
    kind = block.data.column(name).type
    if is_numeric(kind) and hasattr(kind, "value_type"):
        values = _lists(block, name, key)
    else:
        values = _numbers(block, name, "value").reshape(-1, 1)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
        rows = values.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        row = int(bad[0])
        value = values[row][~np.isfinite(rows[row])][0]
        problem = "no number (empty or NaN)" if np.isnan(value) else f"the value {value}"
        more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
        raise InputError(
            f"{_node(block, row, key)} has {problem} in column {name!r}{more}; "
            "give every node a finite number or leave the column out"
        )
    return rows


def _lists(block: Block, name: str, key: str) -> npt.NDArray[np.float64]:
    column = block.data.column(name)
    lengths = pc.list_value_length(column).fill_null(-1).to_numpy()
    wrong = np.flatnonzero(lengths != (lengths[0] if len(lengths) else 0))
    if len(lengths) and lengths[0] <= 0:
        wrong = np.array([0])
    if len(wrong):
        row = int(wrong[0])
        found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]} numbers"
        raise InputError(
            f"{_node(block, row, key)} has {found} in column {name!r}, "
            f"where row {block.first + 1} has {max(int(lengths[0]), 0)}; give every node a list of the same length"
        )
    flat = pc.list_flatten(column)
    values: npt.NDArray[np.float64] = np.asarray(flat.cast(pa.float64()).to_numpy(), np.float64)
    return values.reshape(len(lengths), -1)


def _node(block: Block, row: int, key: str) -> str:
    return f"{block.place(row)}: node {block.data.column(key)[row].as_py()!r}"


def read_texts(block: Block, names: Sequence[str]) -> npt.NDArray[np.object_]:
    """The documents: one column, or several joined by a space; missing values are empty."""
    columns = [pc.fill_null(_as_text(block, block.column(name), name), "") for name in names]
    blank = pa.scalar(" ", pa.large_string())
    joined = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, blank)
    return np.asarray(joined.to_numpy(), dtype=object)


def _as_text(block: Block, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{block.table.name}: column {name!r} ({column.type}) does not hold text") from None


def read_labels(block: Block, name: str, *, infer: bool) -> npt.NDArray[Any]:
    """Classes: integers (-1 where there is none) or text ("" where there is none).

    With `infer`, text that holds integers only becomes integers.
    """
    column = block.column(name)
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        whole = pc.all(pc.equal(pc.floor(column), column)).as_py()
        column = column.cast(pa.int64()) if whole else column
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), -1).to_numpy(), np.int64)
    texts = pc.utf8_trim_whitespace(pc.fill_null(_as_text(block, column, name), ""))
    numbers = as_integers(pc.if_else(pc.equal(texts, ""), "-1", texts)) if infer else None
    return np.asarray(texts.to_numpy(), dtype=object) if numbers is None else np.asarray(numbers.to_numpy(), np.int64)
