"""What vectors are compared with, none of which reads labels: own features, smoothed ones, DeepWalk."""

from collections.abc import Callable, Iterator

import numpy as np

from sanne.config import Config
from sanne.errors import InputError, import_extra
from sanne.features.choose import fit_features
from sanne.graph.graph import FloatArray, Graph
from sanne.seeds import derived_seed, numpy_stream
from sanne.walks.diffusion import Diffusion, step_weights
from sanne.walks.sample import Walks, WalkSampler

_RESTART, _STEPS = 0.1, 16  # of smoothed features
_WALKS, _LENGTH = 10, 40  # from each node; DeepWalk's 80 walks give the same accuracy


def own_features(before: Graph, graph: Graph, seed: int) -> FloatArray:
    """Features of the nodes of `graph` by the map that fits `before`, the graph without newcomers."""
    feature_map = fit_features(before, Config().features, seed)
    return joined(feature_map.transform, before, graph)


def smoothed_features(before: Graph, graph: Graph, seed: int) -> FloatArray:
    """The same features as walks with restarts see them: newcomers on `graph`, others on `before`."""
    feature_map, weights = fit_features(before, Config().features, seed), step_weights((_RESTART,), _STEPS)
    return joined(
        lambda part: Diffusion(part.adjacency("both")).spread(feature_map.transform(part), weights)[0], before, graph
    )


def joined(vectors_of: Callable[[Graph], FloatArray], before: Graph, graph: Graph) -> FloatArray:
    """Vectors of all nodes of `graph`, those that `before` has as they were there."""
    rows = vectors_of(graph)
    if before is not graph:
        rows[graph.nodes_of(before.node_ids)] = vectors_of(before)
    return rows


def deepwalk(graph: Graph, seed: int) -> FloatArray:
    """DeepWalk (Perozzi et al. 2014), which is node2vec with p = q = 1: skip-gram over uniform walks."""
    adjacency = graph.adjacency("both")
    linked = np.flatnonzero(np.diff(adjacency.indptr))
    sampler = WalkSampler(adjacency, walk_length=_LENGTH, seed=seed)

    def passes() -> Iterator[Walks]:
        for number in range(_WALKS):
            yield sampler.walks(numpy_stream(seed, "shuffle", number).permutation(linked), 0, number)

    return skip_gram(passes, graph.num_nodes, seed)


def skip_gram(
    passes: Callable[[], Iterator[Walks]],
    num_nodes: int,
    seed: int,
    *,
    dim: int = 128,
    window: int = 10,
    negatives: int = 5,
    learning_rate: float = 0.025,
) -> FloatArray:
    """Vectors that tell which nodes are near each other on walks, by gensim; nodes on no walk get the mean.

    `passes` draws the same walks whenever it is called. `negatives` 0 means a hierarchical softmax.
    """
    word2vec = import_extra("gensim.models", "text", "DeepWalk", "gensim").Word2Vec
    counts = sum((np.bincount(walks.ravel(), minlength=num_nodes) for walks in passes()), np.zeros(num_nodes, np.int64))
    if not counts.any():
        raise InputError("the graph has no edges: walks lead nowhere")
    model = word2vec(
        vector_size=dim,
        window=window,
        alpha=learning_rate,
        sg=1,
        hs=int(negatives == 0),
        negative=negatives,
        sample=0,
        min_count=1,
        workers=1,  # more would make the result depend on the scheduler
        seed=derived_seed(seed, "initialise") % 2**31,
    )
    model.build_vocab_from_freq({node: int(count) for node, count in enumerate(counts) if count > 0})
    sentences = (walk for walks in passes() for walk in walks.tolist())
    model.train(sentences, total_words=int(counts.sum()), epochs=1)
    vectors = np.tile(model.wv.vectors.mean(axis=0), (num_nodes, 1))
    vectors[model.wv.index_to_key] = model.wv.vectors
    return vectors
