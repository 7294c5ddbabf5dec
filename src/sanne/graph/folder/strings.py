"""Texts on disk, read row by row: one file of UTF-8 bytes and one of offsets."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sanne.errors import InputError
from sanne.files.npy import NpyWriter

_ROWS_AT_ONCE = 65_536


class MappedStrings:
    """Texts that stay on disk until asked for; index it with a number, a slice, a mask or an array of rows.

    It takes the place of an array of str objects, and returns such arrays.
    """

    dtype = np.dtype(object)

    def __init__(self, offsets: npt.NDArray[np.int64], content: npt.NDArray[np.uint8], name: str) -> None:
        self._offsets = offsets  # (n + 1,)
        self._content = content
        self._name = name  # what messages call it
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(content):
            raise self._damaged()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            return self[[rows]][0]
        if isinstance(rows, slice):
            texts = self._column[rows]
        else:
            chosen = np.asarray(rows)
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
            texts = self._column.take(pa.array(np.where(chosen < 0, chosen + len(self), chosen)))
        try:
            return texts.to_numpy(zero_copy_only=False)
        except (pa.ArrowException, UnicodeDecodeError):  # bytes that are not text
            raise self._damaged() from None

    @cached_property
    def _column(self) -> pa.Array:
        """All texts as one Arrow array over the mapped files, without a copy."""
        if np.any(self._offsets[1:] < self._offsets[:-1]):
            raise self._damaged()
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._content)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _ROWS_AT_ONCE):
            yield from self[first : first + _ROWS_AT_ONCE]

    def tolist(self) -> list[str]:
        return list(self)

    def astype(self, kind: Any) -> npt.NDArray[Any]:
        return np.asarray(self).astype(kind)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self[:]

    def __arrow_array__(self, type: Any = None) -> pa.Array:
        return self._column

    def _damaged(self) -> InputError:
        return InputError(f"{self._name}: damaged (its texts and offsets do not match): build the folder again")


class StringsWriter:
    """Appends texts to a pair of files: `<stem>.offsets.npy` and `<stem>.bytes.npy`."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._offsets = NpyWriter(folder / f"{stem}.offsets.npy", np.int64)
        self._content = NpyWriter(folder / f"{stem}.bytes.npy", np.uint8)
        self._offsets.write([0])

    def write(self, texts: Iterable[str] | pa.Array | pa.ChunkedArray) -> None:
        """Add texts, one row each."""
        if isinstance(texts, pa.ChunkedArray):
            for chunk in texts.chunks:
                self.write(chunk)
            return
        column = pa.array(texts, pa.large_string()) if not isinstance(texts, pa.Array) else texts.cast("large_string")
        start = self._content.rows
        _, offset_buffer, content = column.buffers()
        offsets = np.frombuffer(offset_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
        if len(column) == 0:
            return
        if content is not None:
            self._content.write(np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]])
        self._offsets.write(offsets[1:] - offsets[0] + start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._offsets.close()
        self._content.close()
