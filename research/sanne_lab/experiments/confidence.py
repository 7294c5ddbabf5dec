"""Does a number tell which answers are wrong? Accuracy by groups and by quarters, and the number as a predictor."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from sanne.errors import InputError


def accuracy_by_count(
    correct: npt.ArrayLike, counts: npt.ArrayLike, steps: Sequence[int] = (0, 1, 2, 3)
) -> list[float | None]:
    """Accuracy in percent where a count equals each step, for the last one where it is that or more.

    None where there is no such answer.

    >>> accuracy_by_count([True, False, True], [0, 3, 5], steps=(0, 1, 2))
    [100.0, None, 50.0]
    """
    right, number = np.asarray(correct, bool), np.asarray(counts)
    if right.shape != number.shape or right.ndim != 1:
        raise InputError(f"{right.shape} answers but {number.shape} counts: give one count an answer")
    groups = [number >= step if step == steps[-1] else number == step for step in steps]
    return [100 * float(right[group].mean()) if group.any() else None for group in groups]


def accuracy_by_quarter(correct: npt.ArrayLike, values: npt.ArrayLike) -> list[float]:
    """Accuracy in percent in each quarter of the answers, ordered by value, the smallest first.

    Quarters differ by one in size at most; answers of equal value share what they have, so that their order
    does not matter.

    >>> accuracy_by_quarter([True, True, True, False], [0.1, 0.2, 0.3, 0.4])
    [100.0, 100.0, 100.0, 0.0]
    """
    right, number = _checked(correct, values)
    if len(right) < 4:
        raise InputError(f"{len(right)} answers cannot be cut in four")
    order = np.argsort(number, kind="stable")
    _, tie, size = np.unique(number[order], return_inverse=True, return_counts=True)
    shared = (np.bincount(tie, right[order]) / size)[tie]  # the accuracy among equals
    return [100 * float(part.mean()) for part in np.array_split(shared, 4)]


def error_auc(correct: npt.ArrayLike, values: npt.ArrayLike) -> float:
    """How well large values single out wrong answers: the area under the ROC curve; 0.5 says nothing, 1 all.

    >>> error_auc([True, True, False], [0.1, 0.2, 0.9])
    1.0
    """
    right, number = _checked(correct, values)
    if right.all() or not right.any():
        raise InputError("all answers are right, or all are wrong: there is nothing to tell apart")
    return float(roc_auc_score(~right, number))


def _checked(correct: npt.ArrayLike, values: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    right, number = np.asarray(correct, bool), np.asarray(values, np.float64)
    if right.shape != number.shape or right.ndim != 1:
        raise InputError(f"{right.shape} answers but {number.shape} values: give one value an answer")
    if not np.isfinite(number).all():
        raise InputError("the values of some answers are not finite")
    return right, number
