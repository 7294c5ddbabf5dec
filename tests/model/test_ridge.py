"""Regressions from blocks of tokens: against scikit-learn, and on planted signals."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sanne.model import ridge
from sanne.model.ridge import Prediction, predict

N = 400
FOLDS = np.arange(N) % 5
LEFT_OUT = FOLDS == 0


def planted(noise: float = 0.5, seed: int = 0) -> tuple[list[Any], Any]:
    """Three blocks and targets: the first block tells half of the targets, the second the others, the third none."""
    stream = np.random.default_rng(seed)
    causes = stream.normal(size=(N, 6))
    blocks = [causes[:, :3] + 2, causes[:, 3:] - 1, stream.normal(size=(N, 4))]
    targets = causes + noise * stream.normal(size=(N, 6)) + 3
    return [block.astype(np.float32) for block in blocks], targets.astype(np.float32)


def fitted(tokens: list[Any], targets: Any, coarse: int = 16) -> Prediction:
    return predict(tokens, targets, FOLDS, coarse, range(1, len(tokens)))


def r2(tokens: list[Any], targets: Any, weights: Any, nodes: Any = LEFT_OUT) -> float:
    """Of centred predictions on some nodes; regressions have no constant of their own."""
    rows = np.concatenate(tokens, axis=1)
    rows, targets = rows - rows[~LEFT_OUT].mean(axis=0), targets - targets[~LEFT_OUT].mean(axis=0)
    errors = targets[nodes] - rows[nodes] @ weights
    return float(1 - np.square(errors).sum() / np.square(targets[nodes]).sum())


def strengths(rows: Any) -> list[float]:
    """All that may be chosen, as scikit-learn counts them."""
    centred = rows[~LEFT_OUT] - rows[~LEFT_OUT].mean(axis=0)
    step = np.square(centred).sum() / rows.shape[1] / 100
    return [step * 10 ** (i / 2) for i in range(-1, 10)]


def test_the_joint_regression_is_scikit_learns_at_the_best_strength() -> None:
    tokens, targets = planted(noise=4.0)
    found = fitted(tokens, targets)
    rows = np.concatenate(tokens, axis=1)
    tried = [Ridge(alpha=alpha).fit(rows[~LEFT_OUT], targets[~LEFT_OUT]).coef_.T for alpha in strengths(rows)]
    best = max(tried, key=lambda weights: r2(tokens, targets, weights))
    np.testing.assert_allclose(found.joint, best, atol=1e-3)


def test_scores_are_those_of_each_block_and_gains_those_of_pairs() -> None:
    tokens, targets = planted()
    found = fitted(tokens, targets)

    def best(blocks: list[Any]) -> float:
        """Mean over folds of the R2 of the strength that is best for each."""
        rows = np.concatenate(blocks, axis=1)
        rows, truth = rows - rows[~LEFT_OUT].mean(axis=0), targets - targets[~LEFT_OUT].mean(axis=0)
        scores = []
        for fold in range(5):
            fit, test = fold != FOLDS, fold == FOLDS
            step = np.square(rows[fit]).sum() / rows.shape[1] / 100
            models = [Ridge(alpha=step * 10 ** (i / 2), fit_intercept=False) for i in range(-1, 10)]
            errors = [np.square(truth[test] - m.fit(rows[fit], truth[fit]).predict(rows[test])).sum() for m in models]
            scores.append(1 - min(errors) / np.square(truth[test]).sum())
        return float(np.mean(scores))

    alone = [best([block]) for block in tokens]
    np.testing.assert_allclose(found.scores, alone, atol=1e-3)
    pairs = [0, best([tokens[0], tokens[1]]) - alone[0], best([tokens[0], tokens[2]]) - alone[0]]
    np.testing.assert_allclose(found.gains, pairs, atol=1e-3)
    assert 0.3 < found.scores[0] < 0.5  # half of the targets, under some noise
    assert 0.3 < found.gains[1] < 0.5  # the other half
    assert abs(found.scores[2]) < 0.1 > abs(found.gains[2])


@pytest.mark.parametrize("name", ["joint", "stacked"])
def test_both_regressions_find_what_two_blocks_tell_together(name: str) -> None:
    tokens, targets = planted()
    weights = getattr(fitted(tokens, targets), name)
    assert weights.shape == (10, 6)
    assert weights.dtype == np.float32
    assert r2(tokens, targets, weights) > 0.7  # 0.8 is the best there is: the noise has a variance of a quarter
    assert np.abs(weights[6:]).max() < 0.2 < 0.8 < np.diag(weights).min()


def test_blocks_are_judged_by_the_leading_targets() -> None:
    tokens, targets = planted()
    assert fitted(tokens, targets, coarse=3).scores[0] > 0.7
    assert abs(fitted(tokens, targets, coarse=3).scores[1]) < 0.1


def test_sums_are_gathered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, targets = planted()
    whole = fitted(tokens, targets)
    monkeypatch.setattr(ridge, "_ROWS", 37)
    parts = fitted(tokens, targets)
    np.testing.assert_allclose(parts.joint, whole.joint, atol=1e-4)
    np.testing.assert_allclose(parts.stacked, whole.stacked, atol=1e-4)
    np.testing.assert_allclose(parts.scores, whole.scores, atol=1e-4)


def test_a_constant_added_to_all_changes_nothing() -> None:
    tokens, targets = planted()
    moved = fitted([block + 5 for block in tokens], targets - 7)
    np.testing.assert_allclose(moved.joint, fitted(tokens, targets).joint, atol=1e-3)


@pytest.mark.parametrize("folds", [np.ones(5, int), np.zeros(5, int), np.arange(5)])
@pytest.mark.parametrize("factor", [0, 1])
def test_next_to_nothing_to_learn_from_gives_finite_weights(folds: Any, factor: int) -> None:
    stream = np.random.default_rng(0)
    tokens = [factor * stream.normal(size=(5, 8)).astype(np.float32) for _ in range(3)]
    found = predict(tokens, factor * stream.normal(size=(5, 4)).astype(np.float32), folds, 16, [1, 2])
    for array in (found.joint, found.stacked, found.scores, found.gains):
        assert np.isfinite(array).all()


def test_tokens_that_repeat_each_other_are_no_trouble() -> None:
    tokens, targets = planted()
    found = fitted([tokens[0], tokens[0], tokens[0], tokens[1]], targets)
    rows = [tokens[0]] * 3 + [tokens[1]]
    assert r2(rows, targets, found.joint) > 0.7
    assert r2(rows, targets, found.stacked) > 0.7
