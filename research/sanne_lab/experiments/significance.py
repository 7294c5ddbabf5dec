"""Is one system better than another? A paired test over the same splits."""

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from sanne.errors import InputError


@dataclass(frozen=True)
class PairedTest:
    """A two-tailed paired t-test: the mean of a - b, t and p."""

    difference: float
    t: float
    p: float

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


def paired_t_test(a: npt.ArrayLike, b: npt.ArrayLike) -> PairedTest:
    """Compare two systems by their scores on the same splits."""
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise InputError(
            f"a paired test needs two scores or more, the same splits in both: got {first.shape} and {second.shape}"
        )
    differences = first - second
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    if error == 0:
        return PairedTest(mean, 0.0 if mean == 0 else float(np.copysign(np.inf, mean)), float(mean == 0))
    t = mean / error
    return PairedTest(mean, t, float(2 * scipy.stats.t.sf(abs(t), len(differences) - 1)))
