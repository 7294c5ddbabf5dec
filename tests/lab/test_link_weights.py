"""Learnt weights pick out the coordinates that edges agree on."""

from typing import Any

import numpy as np

from sanne.evaluate.link_prediction import pair_products, rank_links
from sanne_lab.experiments.link_weights import learn_weights


def test_learnt_weights_find_the_coordinates_that_tell_edges() -> None:
    stream = np.random.default_rng(0)
    vectors = stream.choice([-1.0, 1.0], size=(400, 6))
    pairs = stream.integers(0, 400, size=(6000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    products = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
    is_edge = products[:, 2] - products[:, 4] + stream.normal(size=len(pairs)) > 0  # alike in 2, unlike in 4
    known, asked = np.arange(len(pairs)) < 4000, np.arange(len(pairs)) >= 4500
    chosen = ~known & ~asked

    def part(which: Any) -> tuple[Any, Any]:
        return pairs[which & is_edge], pairs[which & ~is_edge]

    weights = learn_weights(vectors, *part(known), part(chosen))
    assert set(np.argsort(-np.abs(weights))[:2]) == {2, 4}
    assert weights[2] > 0 > weights[4]
    learnt, plain = (
        rank_links(*(pair_products(vectors, pairs, each) for pairs in part(asked)), hits_at=())["auc"]
        for each in (weights, None)
    )
    assert learnt > plain + 0.2
