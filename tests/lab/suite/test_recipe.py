"""The recipe's promises: newcomers are not seen by the fit, and sums in blocks are those of the whole."""

import numpy as np
from suite_graphs import planted, with_other_words

from sanne_lab.suite.recipe import Moments, Settings, embed
from sanne_lab.suite.view import view

SMALL = Settings(width=8, link_width=8, whole_width=8, steps=4, dim=16)


def test_present_rows_do_not_depend_on_newcomers() -> None:
    graph, hidden = planted(), np.arange(100, 120)
    before = embed(view(graph, hidden), SMALL)
    after = embed(view(with_other_words(graph, 100), hidden), SMALL)
    np.testing.assert_allclose(before[:100], after[:100], atol=1e-5)
    assert np.abs(before[100:] - after[100:]).max() > 1e-3


def test_columns_come_in_order_of_importance() -> None:
    vectors = embed(view(planted()), SMALL)
    spread = vectors.var(axis=0)
    assert vectors.shape == (120, 16)
    assert (np.diff(spread) <= 1e-6).all()


def test_moments_are_those_of_the_whole_matrix() -> None:
    stream = np.random.default_rng(1)
    x, y = stream.standard_normal((50, 6)).astype(np.float32), stream.standard_normal((50, 2)).astype(np.float32)
    rows = np.arange(5, 45)
    gram, cross, squares = Moments([x[:, :4], x[:, 4:]], y, rows).about(x[rows].mean(axis=0), y[rows].mean(axis=0))
    centred, target = x[rows] - x[rows].mean(axis=0), y[rows] - y[rows].mean(axis=0)
    np.testing.assert_allclose(gram, centred.T @ centred, atol=1e-4)
    np.testing.assert_allclose(cross, centred.T @ target, atol=1e-4)
    np.testing.assert_allclose(squares, (target**2).sum(axis=0), atol=1e-4)
