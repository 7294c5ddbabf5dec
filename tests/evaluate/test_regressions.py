"""The solver behind scores and predictions finds what scikit-learn's exact one finds."""

import numpy as np
import pytest

from blobs import blobs, exact
from sanne.evaluate import classifier, logistic
from sanne.evaluate.classifier import learn_classifier
from sanne.evaluate.logistic import Members, regressions, row_scale

GRID = (0.01, 0.3, 4.0)


def members_of(labels: np.ndarray) -> Members:  # type: ignore[type-arg]
    return np.asarray(labels[:, None] == np.unique(labels))


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("dim", [12, 60])  # more rows than columns, and fewer
def test_classes_have_the_probabilities_of_the_exact_solution(
    dim: int, single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logistic, "_LARGE", 0 if single else 10**9)
    vectors, labels = blobs(50, dim)
    for C, found in regressions(vectors, members_of(labels), GRID):
        scores = found.scores(vectors)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        rows = vectors.astype(float) / row_scale(vectors)
        expected = exact(C).fit(rows, labels).predict_proba(rows)
        np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), expected, atol=0.02)


def test_labels_that_go_together_are_regressions_of_their_own() -> None:
    vectors, labels = blobs(150, 12, 4)
    members = members_of(labels)
    members = np.column_stack([members[:, 0] | members[:, 1], members, np.zeros(150, bool)])
    rows = vectors.astype(float) / row_scale(vectors)
    ((_, found),) = regressions(vectors, members, (0.5,), several=True)
    likely = 1 / (1 + np.exp(-found.scores(vectors)))
    for k in range(5):
        expected = exact(0.5).fit(rows, members[:, k]).predict_proba(rows)[:, 1]
        np.testing.assert_allclose(likely[:, k], expected, atol=0.02)
    assert likely[:, 5].max() < 0.01  # nobody has that label


def test_a_start_changes_nothing_but_the_way() -> None:
    vectors, labels = blobs(200, 12)
    members = members_of(labels)
    ((_, start),) = regressions(vectors[:150], members[:150], (1.0,))
    (_, plain), (_, begun) = (next(regressions(vectors, members, (1.0,), start=given)) for given in (None, start))
    np.testing.assert_allclose(begun.scores(vectors), plain.scores(vectors), atol=0.02)


def test_accuracy_of_many_labels_is_that_of_a_fit_with_all_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, labels = blobs(3000, 40, 8, noise=0.9)
    classes = list(range(8))
    known, left = slice(0, 2000), slice(2000, 3000)
    full = learn_classifier(vectors[known], members_of(labels)[known], classes)
    monkeypatch.setattr(classifier, "_MOST_CHECKED", 300)
    quick = learn_classifier(vectors[known], members_of(labels)[known], classes)
    assert quick.record["checked"] < 310 < full.record["checked"] == 2000
    right = [(found.probabilities(vectors[left]).argmax(axis=1) == labels[left]).mean() for found in (quick, full)]
    assert right[0] == pytest.approx(right[1], abs=0.02)
    assert quick.record["accuracy"] == pytest.approx(100 * right[0], abs=7)
    assert quick.probabilities(vectors[left]).max(axis=1).mean() == pytest.approx(right[0], abs=0.07)
