"""How many threads small matrix products get."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, cast

import numpy.typing as npt
import threadpoolctl  # type: ignore[import-untyped]

_SMALL = 2_000_000  # numbers in the rows


@cache
def _thread_pools() -> Any:
    return threadpoolctl.ThreadpoolController()


def calm_threads(rows: npt.NDArray[Any]) -> AbstractContextManager[Any]:
    """One thread for products as small as these rows give: sharing them out costs ten times what it saves."""
    limit = 1 if rows.size < _SMALL else None
    return cast(AbstractContextManager[Any], _thread_pools().limit(limits=limit, user_api="blas"))
