"""Map untrusted .npy files, and write .npy files a few rows at a time."""

import tokenize
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sanne.errors import first_line
from sanne.files.scratch import note_map

_MAGIC = b"\x93NUMPY"


def map_npy(path: str | Path) -> npt.NDArray[Any]:
    """A mapped .npy file; a ValueError for anything else: a false header, an archive, Python objects.

    Mapping takes no memory for what the header claims, and fails where the file is shorter than that.
    """
    with Path(path).open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it is not a .npy file")
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (
        *(OSError, EOFError, TypeError, OverflowError, SyntaxError, MemoryError, RecursionError),
        tokenize.TokenError,  # numpy's second try at a header
    ) as error:
        raise ValueError(first_line(error)) from None
    if array.dtype.kind not in "biufcU":
        raise ValueError(f"it holds {array.dtype}, not numbers")
    note_map(array)
    return array


class NpyWriter:
    """Appends rows to a new .npy file; `tail` is the shape of one row. The file is complete once closed.

    >>> with NpyWriter("vectors.npy", np.float32, (128,)) as file:
    ...     file.write(rows)
    """

    def __init__(self, path: str | Path, dtype: npt.DTypeLike, tail: tuple[int, ...] = ()) -> None:
        self.dtype = np.dtype(dtype)
        self.tail = tail
        self.rows = 0
        self._file = Path(path).open("wb")  # noqa: SIM115 (closed by close)
        self._write_header()
        self._start = self._file.tell()

    def write(self, rows: npt.ArrayLike) -> None:
        block: npt.NDArray[Any] = np.ascontiguousarray(rows, self.dtype)
        assert block.shape[1:] == self.tail, f"rows of shape {block.shape[1:]} for a file of {self.tail}"
        self._file.write(block.data if block.size else b"")
        self.rows += len(block)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the number of rows into the header: numpy leaves room for it, so that nothing moves."""
        if self._file.closed:
            return
        self._file.seek(0)
        self._write_header()
        assert self._file.tell() == self._start
        self._file.close()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.rows, *self.tail),
        }
        np.lib.format.write_array_header_1_0(self._file, header)
