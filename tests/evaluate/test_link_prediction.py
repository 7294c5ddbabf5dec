"""Edges are ranked above other pairs by the similarity of their ends."""

import json

import numpy as np
import pytest

from sanne.evaluate import link_prediction
from sanne.evaluate.link_prediction import pair_products, score_links

# Cosines with node 0: 1 -> 1.0, 2 -> 0.6, 3 -> 0.0, 4 -> -1.0
VECTORS = np.array([[1.0, 0], [5, 0], [0.6, 0.8], [0, 2], [-1, 0]])


def test_scores_by_hand() -> None:
    # edges: 1.0 and 0.0; others: 0.6 and -1.0, so three of four comparisons are won and ranks are 1 and 2
    scores = score_links(VECTORS, np.array([[0, 1], [0, 3]]), np.array([[0, 2], [0, 4]]), hits_at=(1, 2))
    assert scores["average_precision"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    assert scores | {"auc": 0.75, "mrr": 0.75, "hits@1": 0.5, "hits@2": 1.0} == scores
    assert json.loads(json.dumps(scores)) == scores


def test_ties_earn_nothing() -> None:
    same = np.ones((4, 3))
    pool = np.array([[0, 2], [0, 3], [1, 3]])
    scores = score_links(same, np.array([[0, 1]]), pool, hits_at=(1, 3))
    assert scores["mrr"] == pytest.approx(1 / 2.5)
    assert scores | {"auc": 0.5, "hits@1": 0.0, "hits@3": 1.0} == scores


def test_zero_vectors_and_blocks_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 4))
    vectors[3] = 0
    pairs = np.random.default_rng(1).integers(30, size=(2, 50, 2))
    whole = score_links(vectors, *pairs)
    monkeypatch.setattr(link_prediction, "_PAIRS_AT_ONCE", 7)
    assert score_links(vectors, *pairs) == whole
    assert 0 < whole["mrr"] < 1


def test_weights_change_the_products() -> None:
    vectors = np.array([[1.0, 0.0], [1.0, 5.0], [0.0, 5.0], [2.0, 0.0]])
    pairs = np.array([[0, 3], [0, 1], [1, 2]])
    assert pair_products(vectors, pairs).tolist() == [2, 1, 25]
    assert pair_products(vectors, pairs, np.array([1.0, -1.0])).tolist() == [2, 1, -25]
