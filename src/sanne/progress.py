"""A bar with the share done and the time left, on a terminal only."""

from typing import Any

from tqdm import tqdm

_DELAY = 2.0  # seconds of work without a bar


def steps(items: Any = None, *, of: str, unit: str, total: int | None = None, shown: bool | None = None) -> Any:
    """The items with a bar that vanishes at the end; without items, a bar to update. `shown` forces or hides it."""
    hidden = None if shown is None else not shown  # None: not without a terminal
    return tqdm(items, desc=of, unit=unit, total=total, disable=hidden, delay=0 if shown else _DELAY, leave=False)
