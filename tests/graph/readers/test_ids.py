"""Numbering ids: every way of doing it gives the same answer."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sanne.graph.ids import Ids, clean_ids, match_ids, number_ids, sort_ids


def encode_ids(columns: list[pa.ChunkedArray], *, infer: bool) -> Ids:
    return number_ids([clean_ids(column, infer=infer) for column in columns])


ID = st.one_of(st.integers(-5, 30), st.integers(-(2**62), 2**62))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ID, ID), min_size=1, max_size=30))
def test_integers_as_numbers_and_as_text_of_a_file(pairs: list[tuple[int, int]]) -> None:
    sources, targets = zip(*pairs, strict=True)
    expected = sorted({*sources, *targets})
    for columns, infer in (
        ([pa.chunked_array([pa.array(end, pa.int64())]) for end in (sources, targets)], False),
        ([pa.chunked_array([pa.array(map(str, end))]) for end in (sources, targets)], True),
    ):
        ids = sort_ids(encode_ids(columns, infer=infer))
        assert ids.distinct.to_pylist() == expected
        assert [expected[row] for row in ids.rows] == [*sources, *targets]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(["a", " a", "b ", "", " ", "007", "7", "é"]), min_size=1, max_size=20), st.integers(1, 5)
)
def test_text_is_trimmed_and_empty_ids_are_none(values: list[str], size: int) -> None:
    chunks = [pa.array(values[start : start + size]) for start in range(0, len(values), size)]
    ids = encode_ids([pa.chunked_array(chunks)], infer=True)
    names = [None if row < 0 else str(ids.distinct[int(row)].as_py()) for row in ids.rows]
    assert names == [value.strip() or None for value in values]
    order = list(dict.fromkeys(name for name in names if name is not None))
    assert [str(name) for name in ids.distinct.to_pylist()] == order  # of first appearance


def test_ids_of_two_types_are_matched_as_text() -> None:
    known = pa.array(["7", "x", "12"])
    assert match_ids(pa.array([12, 8, 7]), known).tolist() == [2, -1, 0]
    assert match_ids(pa.array(["07", "7"]), pa.array([7])).tolist() == [-1, 0]


def test_nothing_is_something_too() -> None:
    empty = pa.chunked_array([], pa.string())
    ids = encode_ids([empty, empty], infer=True)
    assert len(ids.distinct) == 0
    assert ids.rows.dtype == np.int64
