"""Turn columns of a node table into features, texts and labels, and name the cell that is wrong."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError
from sanne.graph.ids import CANONICAL_INTEGER, shown


class Rows(Protocol):
    """Where rows come from: a table, or a block of one."""

    @property
    def name(self) -> str: ...
    @property
    def typed(self) -> bool: ...  # else values are text until they are parsed
    def place(self, row: int) -> str: ...


class Table(Rows, Protocol):
    """An open table."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    def read(self, columns: Any, strings: Any = ()) -> pa.Table: ...


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column of this type is a feature: numbers, true/false, or lists of numbers."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return is_numeric(kind.value_type)
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def read_features(
    source: Rows, data: pa.Table, names: list[str], node_ids: npt.NDArray[Any]
) -> npt.NDArray[np.float32]:
    """The columns side by side as float32 (n, width); a list column gives as many as its lists are long."""
    blocks = [_block(source, data.column(name), name, node_ids) for name in names]
    return np.ascontiguousarray(np.concatenate(blocks, axis=1))


def numbers(source: Rows, column: pa.ChunkedArray, name: str, what: str) -> npt.NDArray[np.float64]:
    """A column as float64, NaN where there is no value; text that is no number is refused."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(column.to_pylist()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(f"{source.place(row)}: {what} {value!r} in column {name!r} is not a number") from None
        raise InputError(f"{source.name}: column {name!r} ({column.type}) does not hold numbers") from None


def _block(source: Rows, column: pa.ChunkedArray, name: str, node_ids: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    kind = column.type
    if is_numeric(kind) and hasattr(kind, "value_type"):
        values = _lists(source, column, name, node_ids)
    else:
        values = numbers(source, column, name, "value").reshape(-1, 1)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
        block = values.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
    if len(bad):
        row = int(bad[0])
        value = values[row][~np.isfinite(block[row])][0]
        problem = "no number (empty or NaN)" if np.isnan(value) else f"the value {value}"
        more = f" (and {len(bad) - 1} more rows)" if len(bad) > 1 else ""
        raise InputError(
            f"{source.place(row)}: node {shown(node_ids, row)} has {problem} in column {name!r}{more}; "
            "give every node a finite number or leave the column out"
        )
    return block


def _lists(source: Rows, column: pa.ChunkedArray, name: str, node_ids: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    lengths = pc.list_value_length(column).fill_null(-1).to_numpy()
    wrong = np.flatnonzero(lengths != (lengths[0] if len(lengths) else 0))
    if len(lengths) and lengths[0] <= 0:
        wrong = np.array([0])
    if len(wrong):
        row = int(wrong[0])
        found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]} numbers"
        raise InputError(
            f"{source.place(row)}: node {shown(node_ids, row)} has {found} in column {name!r}, "
            f"where row 1 has {max(int(lengths[0]), 0)}; give every node a list of the same length"
        )
    flat = pc.list_flatten(column)
    values: npt.NDArray[np.float64] = np.asarray(flat.cast(pa.float64()).to_numpy(), np.float64)
    return values.reshape(len(lengths), -1)


def read_texts(source: Rows, data: pa.Table, names: list[str]) -> npt.NDArray[np.object_]:
    """The documents: one column, or several joined by a blank; what is missing is empty."""
    columns = [pc.fill_null(_as_text(source, data.column(name), name), "") for name in names]
    blank = pa.scalar(" ", pa.large_string())
    joined = columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, blank)
    return np.asarray(joined.to_numpy(), dtype=object)


def _as_text(source: Rows, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{source.name}: column {name!r} ({column.type}) does not hold text") from None


def read_labels(source: Rows, column: pa.ChunkedArray, name: str) -> npt.NDArray[Any]:
    """Classes: integers (-1 where there is none) or text ("" where there is none)."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        whole = pc.all(pc.equal(pc.floor(column), column)).as_py()
        column = column.cast(pa.int64()) if whole else column
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        return np.asarray(pc.fill_null(column.cast(pa.int64()), -1).to_numpy(), np.int64)
    texts = pc.utf8_trim_whitespace(pc.fill_null(_as_text(source, column, name), ""))
    given = texts.filter(pc.not_equal(texts, ""))
    if not source.typed and pc.all(pc.match_substring_regex(given, CANONICAL_INTEGER)).as_py():
        texts = pc.if_else(pc.equal(texts, ""), "-1", texts)
        return np.asarray(texts.cast(pa.int64()).to_numpy(), np.int64)
    return np.asarray(texts.to_numpy(), dtype=object)
