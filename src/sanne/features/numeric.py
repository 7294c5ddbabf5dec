"""Numbers to vectors: dense attributes are standardised, column by column, as they were in fit."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.base import FeatureMap, register_features
from sanne.files.scratch import give_back, room_for
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.graph.ids import shown
from sanne.graph.sparse import row_blocks

_FARTHEST = 1e15  # deviations from the mean; the squares of larger numbers would not be finite for long


@register_features
class Standardised(FeatureMap):
    """Columns with mean 0 and deviation 1, all divided so that an average row has length `feature_scale`."""

    name = "numeric"
    reads = "numbers"

    def __init__(self, mean: FloatArray, scale: FloatArray) -> None:
        if mean.ndim != 1 or mean.shape != scale.shape:
            raise InputError(f"means of shape {mean.shape} but scales of shape {scale.shape}")
        self._mean = mean  # (width,)
        self._scale = scale  # (width,)
        self.width = len(mean)

    @classmethod
    def check(cls, graph: Graph) -> None:
        """A graph needs columns of numbers."""
        if graph.features is None or graph.features.shape[1] == 0:
            raise InputError("features='numeric' needs node features, and this graph has none")

    def rows_stay_on_disk(self, graph: Graph) -> bool:
        """Whether the numbers are mapped: they may be larger than memory, and standardising a row is cheap."""
        return isinstance(graph.features, np.memmap)

    @classmethod
    def fit(cls, graph: Graph, config: FeatureConfig, seed: int) -> Self:
        """Learn mean and deviation of every column; a constant column stays at zero."""
        values = _numbers(graph, None)
        mean = values.mean(axis=0, dtype=np.float64)
        square, largest = np.zeros(len(mean)), np.zeros(len(mean))
        for rows in row_blocks(len(values)):  # in double precision, which would not fit in memory for all at once
            square += np.square(values[rows] - mean).sum(axis=0)
            largest = np.maximum(largest, np.abs(values[rows]).max(axis=0, initial=0.0))
        deviation = np.sqrt(square / max(len(values), 1))
        varied = deviation > 1e-12 * np.maximum(1.0, largest)
        share = config.feature_scale / np.sqrt(max(int(varied.sum()), 1))
        scale = np.divide(share, deviation, out=np.zeros_like(deviation), where=varied)
        return cls(mean.astype(np.float32), scale.astype(np.float32))

    def transform(self, graph: Graph, nodes: IntArray | None = None) -> FloatArray:
        values = _numbers(graph, nodes)
        check_width(values.shape[1], self.width)
        result: FloatArray = room_for(values.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            for block in row_blocks(len(values)):
                result[block] = (values[block] - self._mean) * self._scale
        fine = _each_row(result, lambda rows: np.abs(rows) < _FARTHEST)
        if not fine.all():  # the difference of two large numbers may overflow single precision
            with np.errstate(over="ignore"):
                result[~fine] = (values[~fine].astype(np.float64) - self._mean) * self._scale
            fine[~fine] = (np.abs(result[~fine]) < _FARTHEST).all(axis=1)
            check_rows(graph, nodes, fine, f"is {_FARTHEST:g} deviations or more from the mean of the fit")
        if nodes is None and isinstance(graph.features, np.memmap):
            give_back()
        return result

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {}, {"mean": self._mean, "scale": self._scale}

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, FloatArray]) -> Self:
        return cls(arrays["mean"], arrays["scale"])


def _numbers(graph: Graph, nodes: IntArray | None) -> FloatArray:
    if graph.features is None:
        raise InputError("the model reads node features, but this graph has none: give its node table")
    values = graph.features if nodes is None else graph.features[nodes]
    dense: FloatArray = np.asarray(values.toarray() if sp.issparse(values) else values, np.float32)
    check_rows(graph, nodes, _each_row(dense, np.isfinite))
    return dense


def _each_row(rows: FloatArray, test: Callable[[FloatArray], npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
    """Which rows have only numbers that pass a test."""
    return np.concatenate([np.ones(0, bool), *(test(rows[block]).all(axis=1) for block in row_blocks(len(rows)))])


def check_width(found: int, fitted: int) -> None:
    """Refuse features of a graph that are not the columns that fit read."""
    if found != fitted:
        columns = f"the graph has {found} feature columns but the model was fitted on {fitted}"
        raise InputError(f"{columns}; give the columns that fit read, in the same order")


def check_rows(
    graph: Graph, nodes: IntArray | None, fine: npt.NDArray[np.bool_], problem: str = "is not a finite number"
) -> None:
    """Name the first node whose features are not `fine`, which has a row for each of `nodes`."""
    if not fine.all():
        row = int(np.argmin(fine))
        node_id = shown(graph.node_ids, row if nodes is None else int(nodes[row]))
        raise InputError(f"node {node_id} has a feature that {problem}: correct it or leave it out")
