"""Classes of vectors that overlap, an exact classifier to compare with, and splits of them."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def blobs(num: int = 600, dim: int = 32, classes: int = 5, noise: float = 1.3, seed: int = 0) -> Arrays:
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=num)
    centres = random.normal(size=(classes, dim))
    scales = np.exp(0.5 * random.normal(size=dim))  # far from round, as real vectors are
    vectors = (centres[labels] + noise * 3 * random.normal(size=(num, dim))) * scales + 2
    return vectors.astype(np.float32), labels


def exact(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8)


def ranges(*sizes: int) -> list[np.ndarray[Any, Any]]:
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
