"""The paired test agrees with scipy's, and survives scores without any deviation."""

import math

import numpy as np
import pytest
import scipy.stats

from sanne.errors import InputError
from sanne_lab.experiments.significance import paired_t_test


def test_paired_t_test_equals_scipy() -> None:
    a, b = [80.1, 79.0, 83.3, 81.0], [78.0, 79.5, 80.0, 79.9]
    mine, reference = paired_t_test(a, b), scipy.stats.ttest_rel(a, b)
    assert (mine.t, mine.p) == pytest.approx((reference.statistic, reference.pvalue))
    assert mine.difference == pytest.approx(np.mean(a) - np.mean(b))
    assert paired_t_test(a, a).p == 1.0
    assert paired_t_test([1.0, 2], [0.0, 1]).t == math.inf
    with pytest.raises(InputError, match="paired"):
        paired_t_test(a, b[:3])
