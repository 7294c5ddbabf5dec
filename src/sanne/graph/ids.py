"""Turn columns of node ids into indices: clean, number and match ids without a loop per edge."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError

IntArray = npt.NDArray[np.int64]
CANONICAL_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"  # as int() prints it: not 007, +7 or 1e3
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # Unicode's category Cc, and halves of surrogate pairs


@dataclass(frozen=True)
class Ids:
    """Distinct ids, and for every row of the column the position of its id (-1: no id)."""

    distinct: pa.Array  # int64 or string; of a single column, in order of first appearance
    rows: IntArray

    def to_numpy(self) -> npt.NDArray[Any]:
        """The distinct ids as a graph keeps them: int64, or str objects."""
        return id_array(self.distinct)


def encode_ids(columns: list[pa.ChunkedArray], *, infer: bool) -> Ids:
    """Number the ids of one or more columns together, one column after the other.

    Blanks around an id are cut off, and an empty id counts as none. With `infer` (text files) the ids
    become integers if every one is written as an integer would be; one `007` keeps them all as text.
    """
    columns = [_plain(column) for column in columns]
    if infer and all(pa.types.is_string(column.type) for column in columns):
        columns = _as_integers(columns) or columns
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.string()) for column in columns]
    if len(columns) > 1 and (counted := _encode_by_counting(columns)) is not None:
        return counted
    with ThreadPoolExecutor(len(columns)) as pool:  # pyarrow leaves the interpreter free while it works
        parts = list(pool.map(_encode_column, columns))
    distinct, rows = _joined(parts)
    if pa.types.is_string(distinct.type):
        distinct, rows = _trimmed(distinct, rows)
        if infer and len(distinct) and pc.all(pc.match_substring_regex(distinct, CANONICAL_INTEGER)).as_py():
            distinct = distinct.cast(pa.int64())
    return Ids(distinct, rows)


def clean_ids(column: pa.ChunkedArray, *, infer: bool) -> pa.ChunkedArray:
    """One block of a longer id column as int64 or string, under the rules of `encode_ids`; null where there is none."""
    column = _plain(column)
    if not pa.types.is_string(column.type):
        return column
    if infer and (integers := _as_integers([column])) is not None:
        return integers[0]
    column = pc.utf8_trim_whitespace(column)
    column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if infer and pc.all(pc.match_substring_regex(column, CANONICAL_INTEGER)).as_py():
        return column.cast(pa.int64())
    return column


def match_ids(wanted: pa.Array, known: pa.Array) -> IntArray:
    """The position of every wanted id among the known ones, or -1; as text if the types differ."""
    if wanted.type != known.type:
        wanted, known = wanted.cast(pa.string()), known.cast(pa.string())
    return pc.index_in(wanted, known).fill_null(-1).to_numpy().astype(np.int64)


def sort_ids(ids: Ids) -> Ids:
    """The same ids with the distinct ones in sorted order."""
    order = pc.sort_indices(ids.distinct).to_numpy().astype(np.int64)
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = -1  # so that -1 stays -1
    return Ids(ids.distinct.take(pa.array(order)), rank[ids.rows])


def id_array(ids: pa.Array) -> npt.NDArray[Any]:
    """Arrow ids as int64, or as str objects."""
    array: npt.NDArray[Any] = ids.to_numpy(zero_copy_only=False)
    return array if array.dtype.kind == "i" else array.astype(object)


def control_character(text: str) -> str | None:
    """The first control character of an id, or None."""
    found = _CONTROL.search(text)
    return None if found is None else found.group()


def row_with_control_character(ids: pa.Array | pa.ChunkedArray) -> int | None:
    """The first row of a column of ids that has a control character, or None."""
    if not len(ids) or pa.types.is_integer(ids.type) or pa.types.is_null(ids.type):
        return None
    row: int = pc.index(pc.match_substring_regex(ids, r"\p{Cc}"), True).as_py()
    return None if row < 0 else row


def refuse_control_characters(ids: Ids, place: Callable[[int], str]) -> None:
    """Refuse ids that could not be written on a line or in a URL; `place` says where a row of `ids` is."""
    refuse_control_character(ids.distinct, lambda code: place(int(np.argmax(ids.rows == code))))


def refuse_control_character(column: pa.Array | pa.ChunkedArray, place: Callable[[int], str]) -> None:
    """The same for a plain column of ids."""
    if (row := row_with_control_character(column)) is not None:
        node_id = column[row].as_py()
        character = ord(control_character(node_id) or "")
        raise InputError(
            f"{place(row)}: node id {node_id!r} has the control character U+{character:04X}; remove it from the id"
        )


def shown(ids: npt.NDArray[Any], row: int) -> str:
    """An id as a message shows it: 'a' or 7, never np.int64(7)."""
    return repr(ids[row : row + 1].tolist()[0])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """An id column as int64 or string."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # unsigned numbers beyond int64
            return column.cast(pa.string())
    if pa.types.is_floating(kind):  # pandas turns integers with gaps into floats
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputError("ids must be integers or text, not decimal numbers") from None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise InputError(f"ids must be integers or text, not {kind}")
    return column.cast(pa.string())


def _as_integers(columns: list[pa.ChunkedArray]) -> list[pa.ChunkedArray] | None:
    """Text as int64, if every value is the very text that its integer would give."""
    integers = []
    for column in columns:
        try:
            numbers = column.cast(pa.int64())
        except pa.ArrowInvalid:
            return None
        if not numbers.cast(pa.string()).equals(column):
            return None
        integers.append(numbers)
    return integers


def _encode_by_counting(columns: list[pa.ChunkedArray]) -> Ids | None:
    """Integers that lie close together: mark those that occur and count, several times faster than hashing."""
    if any(not pa.types.is_integer(column.type) or column.null_count for column in columns):
        return None
    values = np.concatenate([column.to_numpy() for column in columns])
    if len(values) == 0:
        return None
    low, high = int(values.min()), int(values.max())
    if high - low > 8 * len(values):
        return None
    values -= low
    occurs = np.zeros(high - low + 1, bool)
    occurs[values] = True
    position = np.cumsum(occurs, dtype=np.int64) - 1
    return Ids(pa.array(np.flatnonzero(occurs) + low), position[values])


def _encode_column(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """The distinct values of one column in order of appearance, and each row's position among them."""
    encoded = column.dictionary_encode()
    if encoded.num_chunks == 0:
        return pa.array([], column.type), np.empty(0, np.int64)
    if len({len(chunk.dictionary) for chunk in encoded.chunks}) > 1:
        encoded = encoded.unify_dictionaries()
    rows = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
    return encoded.chunk(0).dictionary, rows.astype(np.int64)


def _joined(parts: list[tuple[pa.Array, IntArray]]) -> tuple[pa.Array, IntArray]:
    """The distinct values of several columns together."""
    if len(parts) == 1:
        return parts[0]
    joined = pa.concat_arrays([distinct for distinct, _ in parts]).dictionary_encode()
    code = joined.indices.to_numpy().astype(np.int64)
    rows, start = [], 0
    for distinct, part in parts:
        rows.append(np.append(code[start : start + len(distinct)], -1)[part])
        start += len(distinct)
    return joined.dictionary, np.concatenate(rows)


def _trimmed(distinct: pa.Array, rows: IntArray) -> tuple[pa.Array, IntArray]:
    """Cut blanks off; ids that become equal are joined, empty ones become -1."""
    trimmed = pc.utf8_trim_whitespace(distinct)
    if trimmed.equals(distinct) and pc.index(distinct, "").as_py() < 0:
        return distinct, rows
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    joined = trimmed.dictionary_encode()
    code = np.append(joined.indices.fill_null(-1).to_numpy().astype(np.int64), -1)
    return joined.dictionary, code[rows]
