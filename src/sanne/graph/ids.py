"""Turn columns of node ids into indices: clean, number and match ids without a loop per edge."""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError

IntArray = npt.NDArray[np.int64]
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # Unicode's category Cc, and halves of surrogate pairs
_MOST_COMPARED = 200_000  # ids that a misspelt one is compared with


@dataclass(frozen=True)
class Ids:
    """Distinct ids, and for every row of the columns the position of its id (-1: no id)."""

    distinct: pa.Array  # int64 or string, in order of first appearance
    rows: IntArray


def clean_ids(column: pa.ChunkedArray, *, infer: bool) -> pa.ChunkedArray:
    """A column of ids as int64 or string; null where there is none.

    Whitespace around an id is stripped, and an empty id counts as none. With `infer` (text files) the ids
    become integers if every one is written as an integer; one `007` makes all of them text.
    """
    column = _plain(column)
    if not pa.types.is_string(column.type):
        return column
    integers = as_integers(column) if infer else None
    if integers is None:
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
        integers = as_integers(column) if infer else None
    return column if integers is None else integers


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def as_integers(column: Any) -> Any:
    """Text as int64, if every value is written exactly as its integer would be: not 007, +7 or 1e3."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.cast(column.type).equals(column) else None


def number_ids(columns: list[pa.ChunkedArray]) -> Ids:
    """Number the ids of one or more clean columns together, one column after the other."""
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.string()) for column in columns]
    joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    encoded = joined.dictionary_encode().unify_dictionaries()
    if encoded.num_chunks == 0:
        return Ids(pa.array([], joined.type), np.empty(0, np.int64))
    rows = np.concatenate([chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks])
    return Ids(encoded.chunk(0).dictionary, rows.astype(np.int64))


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


def is_missing(item: Any) -> bool:
    """Whether an item stands for none: None, NaN, or pandas' NA and NaT."""
    if item is None or isinstance(item, str | int):
        return item is None
    try:
        return bool(item != item)
    except TypeError:  # NA, of which even that is unknown
        return True


def as_given(items: Any) -> npt.NDArray[Any]:
    """Items as an array; in a list with text, numpy would make text of None and NaN too."""
    array = np.asarray(items)
    return np.array(items, object) if array.dtype.kind == "U" and isinstance(items, list | tuple) else array


def plain_ids(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy of the ids as int64 if all are integers, else as str objects; None and NaN are refused."""
    if ids.dtype.kind == "O" and all(isinstance(item, int | np.integer) for item in ids):
        ids = np.array(ids.tolist())
    if ids.dtype.kind in "iu" and ids.max(initial=0) <= np.iinfo(np.int64).max:
        return ids.astype(np.int64)
    items = ids.tolist()
    for row, item in enumerate(items):
        if is_missing(item):
            refuse_no_id(row, len(items))
    return np.array([str(item) for item in items], dtype=object)


def refuse_no_id(row: int, count: int) -> NoReturn:
    raise InputError(f"node {row + 1} of {count}: no node id (None or NaN); give every node an id")


def control_character(text: str) -> str | None:
    """The first control character of an id, or None."""
    found = _CONTROL.search(text)
    return None if found is None else found.group()


def refuse_control_character(column: pa.Array | pa.ChunkedArray, place: Callable[[int], str]) -> None:
    """Refuse ids that would not fit on a line or in a URL; `place` describes where a row is."""
    if not len(column) or pa.types.is_integer(column.type) or pa.types.is_null(column.type):
        return
    row: int = pc.index(pc.match_substring_regex(column, r"\p{Cc}"), True).as_py()
    if row >= 0:
        node_id = column[row].as_py()
        character = f"control character U+{ord(control_character(node_id) or ''):04X}"
        raise InputError(f"{place(row)}: node id {node_id!r} has the {character}; remove it from the id")


def shown(ids: npt.NDArray[Any], row: int) -> str:
    """An id as a message shows it: 'a' or 7, never np.int64(7)."""
    return repr(ids[row : row + 1].tolist()[0])


def did_you_mean(node_id: Any, ids: npt.NDArray[Any]) -> str:
    """The hint "did you mean ...?" if a text id is close to one of these, else an empty text."""
    if ids.dtype.kind == "i" or len(ids) > _MOST_COMPARED:
        return ""
    known = {str(other).casefold(): other for other in ids.tolist()}
    close = difflib.get_close_matches(str(node_id).casefold(), known, n=1, cutoff=0.75)
    return f"; did you mean {known[close[0]]!r}?" if close else ""


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
    if not is_text(kind):
        raise InputError(f"ids must be integers or text, not {kind}")
    return column.cast(pa.string())
