"""A bar with the share done and the time left, on a terminal only."""

import os
import sys
from typing import Any

from tqdm import tqdm

_DELAY = 2.0  # seconds of work without a bar


def steps(items: Any = None, *, of: str, unit: str, total: int | None = None, shown: bool | None = None) -> Any:
    """The items with a bar that vanishes at the end; without items, a bar to update. `shown` forces or hides it."""
    hidden = None if shown is None else not shown  # None: not without a terminal
    delay = 0 if shown else _DELAY
    return tqdm(items, desc=of, unit=unit, total=total, disable=hidden, delay=delay, leave=False, **screen())


def screen() -> dict[str, int]:
    """The size of a bar. A terminal that does not know its own answers 0 x 0, and tqdm would then show nothing."""
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):  # no terminal
        columns, rows = 0, 0
    return {"ncols": (columns or 80) - 1, "nrows": (rows or 24) - 1}
