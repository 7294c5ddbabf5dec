"""The stream of training walks: passes over all nodes, each in a new order, cut into batches.

Walk number g of the stream belongs to pass g // n. Pass p gives every node its walk p % num_walks, so a batch can be
drawn from its position alone: nothing needs to be stored to resume.
"""

from dataclasses import dataclass

import numpy as np

from sanne.config import TrainConfig, WalkConfig
from sanne.graph.graph import Adjacency, IntArray
from sanne.seeds import numpy_stream
from sanne.walks.sample import Walks, WalkSampler


@dataclass(frozen=True, eq=False)
class Batch:
    """One training step's walks."""

    position: int  # number of the step since training began
    walks: Walks  # (rows, walk_length)
    sampler: WalkSampler  # to draw target neighbours from


class WalkStream:
    """Draws the batch of any training step."""

    def __init__(self, adjacency: Adjacency, walks: WalkConfig, train: TrainConfig, *, seed: int) -> None:
        self._sampler = WalkSampler(adjacency, walk_length=walks.walk_length, seed=seed)
        self._num_nodes = adjacency.num_nodes
        self._num_walks = walks.num_walks
        self._batch_size = train.batch_size
        self._seed = seed
        self._order: tuple[int, IntArray] = (-1, np.empty(0, np.int64))
        per_epoch = -(-self._num_nodes * self._num_walks // self._batch_size)
        self.steps_per_epoch = train.steps_per_epoch or per_epoch

    def batch(self, step: int) -> Batch:
        """The walks of training step `step`."""
        first = step * self._batch_size
        starts, numbers = [], []
        while first < (step + 1) * self._batch_size:
            number_of_pass, offset = divmod(first, self._num_nodes)
            taken = min(self._num_nodes - offset, (step + 1) * self._batch_size - first)
            starts.append(self._pass_order(number_of_pass)[offset : offset + taken])
            numbers.append(np.full(taken, number_of_pass % self._num_walks, np.int64))
            first += taken
        walks = self._sampler.walks(np.concatenate(starts), 0, np.concatenate(numbers))
        return Batch(step, walks, self._sampler)

    def _pass_order(self, number: int) -> IntArray:
        if self._order[0] != number:
            order = numpy_stream(self._seed, "shuffle", number).permutation(self._num_nodes)
            self._order = (number, order)
        return self._order[1]
