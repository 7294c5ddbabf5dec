"""Which nodes have a label: -1, NaN, "" and None stand for none."""

from typing import Any

import numpy as np
import numpy.typing as npt


def has_label(labels: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """True where a label is given, for labels that are numbers or text."""
    array = np.asarray(labels)
    if array.dtype.kind in "iufb":
        return np.asarray(array >= 0)
    return np.array([_given(label) for label in array.tolist()], bool)


def _given(label: Any) -> bool:
    if isinstance(label, int | float):
        return label >= 0
    return label is not None and label != ""
