"""The mean of feature vectors along walks: what a node's neighbourhood says without any training."""

import numpy as np

from sanne.graph.graph import FloatArray, IntArray
from sanne.walks.sample import WalkSampler

_NODES_A_PART = 256  # bounds memory: a part holds num_walks * walk_length feature vectors for each of its nodes


def mean_along_walks(sampler: WalkSampler, features: FloatArray, nodes: IntArray, num_walks: int) -> FloatArray:
    """The mean feature vector over `num_walks` walks from each node, (len(nodes), width)."""
    means = np.empty((len(nodes), features.shape[1]), np.float32)
    for first in range(0, len(nodes), _NODES_A_PART):
        part = nodes[first : first + _NODES_A_PART]
        walks = sampler.walks_of_each(part, num_walks)
        means[first : first + len(part)] = features[walks].reshape(len(part), -1, features.shape[1]).mean(axis=1)
    return means
