"""Arrays that grow at the end, at a constant cost per row."""

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST = 64  # rows


class Growing:
    """An array with room to spare; `rows` is the part in use, and may be written to.

    `rows` is a view: what was taken before the array grew stays as it was, and is not kept up to date.
    """

    def __init__(self, start: npt.NDArray[Any]) -> None:
        self.count = len(start)
        room = max(_LEAST, self.count // 4)  # it takes no memory before it is used
        self._array = np.empty((self.count + room, *start.shape[1:]), start.dtype)
        self._array[: self.count] = start

    @property
    def rows(self) -> Any:
        return self._array[: self.count]

    def extend(self, count: int, value: Any) -> int:
        """Add `count` rows that hold `value`; returns the number of the first."""
        first = self.count
        needed = first + count
        if needed > len(self._array):
            grown = np.empty((max(needed, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            grown[:first] = self._array[:first]
            self._array = grown
        self._array[first:needed] = value
        self.count = needed
        return first
