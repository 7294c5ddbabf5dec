"""TF-IDF and SVD: the same map for the nodes of fit and for those that arrive later."""

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError
from sanne.features.text import TfidfSVD, word_counts
from sanne.features.words import count_words, word_counter, words
from sanne.graph.graph import Graph

TEXTS = ["Graphs and graphs of words", "words, words, trees", "", "x", "trees have leaves", "graphs have trees"]


def with_texts(texts: list[str]) -> Graph:
    n = len(texts)
    return Graph.from_edges(
        np.arange(n - 1), np.arange(1, n), node_ids=np.arange(n), texts=np.array(texts, dtype=object)
    )


def with_counts(features: object) -> Graph:
    n = features.shape[0]  # type: ignore[attr-defined]
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n), node_ids=np.arange(n), features=features)


def fit(graph: Graph, **settings: object) -> TfidfSVD:
    return TfidfSVD.fit(graph, FeatureConfig(**({"feature_dim": 3} | settings)), seed=0)  # type: ignore[arg-type]


def random_counts(rows: int = 30, columns: int = 12, seed: int = 0) -> sp.csr_matrix:
    dense = np.random.default_rng(seed).poisson(0.5, (rows, columns))
    dense[:, 0] += 1  # no empty row
    return sp.csr_matrix(dense.astype(np.float32))


def test_words_are_runs_of_two_or_more_letters_in_lower_case() -> None:
    assert words("A graph's GRAPH-theory, x2 ünïcode_1!") == ["graph", "graph", "theory", "x2", "ünïcode_1"]


def test_the_vocabulary_is_the_most_frequent_words_in_order() -> None:
    assert count_words(TEXTS, 100)[0] == ["and", "graphs", "have", "leaves", "of", "trees", "words"]
    assert count_words(TEXTS, 3)[0] == ["graphs", "trees", "words"]


@pytest.mark.parametrize("max_words", [100, 3])
def test_the_counts_of_fit_are_those_that_the_vocabulary_gives(max_words: int) -> None:
    vocabulary, counts = count_words(TEXTS, max_words)
    again = word_counts(with_texts(TEXTS), None, word_counter(vocabulary))
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(counts, part), getattr(again, part))
    assert counts.dtype == again.dtype
    assert counts.shape == again.shape


def test_vectors_are_the_projection_of_tfidf_rows_by_hand() -> None:
    counts = random_counts().toarray()
    found = fit(with_counts(sp.csr_matrix(counts)), feature_dim=12, feature_scale=2.0).transform(
        with_counts(sp.csr_matrix(counts))
    )
    idf = np.log((1 + 30) / (1 + (counts > 0).sum(axis=0))) + 0.5
    rows = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    # All components are kept, so that the SVD is only a rotation: lengths and angles are those of the rows.
    assert np.allclose(found @ found.T, 4 * rows @ rows.T, atol=1e-4)


def test_idf_power_zero_leaves_rare_words_at_their_weight() -> None:
    counts = random_counts().toarray()
    found = fit(with_counts(sp.csr_matrix(counts)), feature_dim=12, idf_power=0.0).transform(
        with_counts(sp.csr_matrix(counts))
    )
    rows = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(found @ found.T, rows @ rows.T, atol=1e-4)


def test_a_document_without_known_words_gives_zeros_and_others_length_scale() -> None:
    vectors = fit(with_texts(TEXTS), feature_scale=3.0).transform(with_texts([*TEXTS, "nothing known here"]))
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(lengths, [3, 3, 0, 0, 3, 3, 0], atol=1e-5)


def test_a_new_document_goes_through_the_map_of_fit() -> None:
    fitted = fit(with_texts(TEXTS))
    later = fitted.transform(with_texts(["trees have leaves", "unknown trees have leaves"]))
    assert np.array_equal(later[0], later[1])  # unknown words change nothing
    assert np.allclose(later[0], fitted.transform(with_texts(TEXTS))[4], atol=1e-6)


@pytest.mark.parametrize("kind", ["text", "counts", "fractions"])
def test_a_node_alone_gets_the_row_it_gets_among_all(kind: str) -> None:
    if kind == "text":
        graph = with_texts(TEXTS)
    else:
        counts = random_counts()
        if kind == "fractions":
            # One fraction makes the matrix one of weights, for the rows of whole numbers too.
            counts[3, 0] = 0.5
        graph = with_counts(counts)
    fitted = fit(graph)
    together = fitted.transform(graph)
    for node in range(graph.num_nodes):
        assert np.allclose(fitted.transform(graph, np.array([node]))[0], together[node], atol=1e-6)


def test_stored_zeros_are_no_words_and_the_given_matrix_is_left_alone() -> None:
    counts = random_counts()
    stored = counts.copy()
    stored.data[stored.data == 2] = 0
    before = stored.nnz
    clean = stored.copy()
    clean.eliminate_zeros()
    assert np.array_equal(
        fit(with_counts(clean)).transform(with_counts(clean)), fit(with_counts(stored)).transform(with_counts(stored))
    )
    assert stored.nnz == before


def test_a_word_that_is_stored_twice_is_there_as_often_as_both_say() -> None:
    once = sp.csr_matrix(np.array([[0, 3, 1], [1, 0, 2], [1, 1, 0]], np.float32))
    twice = sp.csr_matrix((3, 3), dtype=np.float32)
    twice.data, twice.indices = np.array([1, 2, 1, 1, 2, 1, 1], np.float32), np.array([1, 1, 2, 0, 2, 0, 1], np.int32)
    twice.indptr = np.array([0, 3, 5, 7], np.int32)
    config = FeatureConfig(feature_dim=2)
    found = []
    for counts in (once, twice):
        graph = Graph.from_edges([0, 1], [1, 2], node_ids=[0, 1, 2], features=counts)
        fitted, columns = TfidfSVD.fit_columns(graph, config, 0)
        found.append((fitted.reduced(columns), fitted.transform(graph)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


def test_the_width_of_counts_must_be_that_of_fit() -> None:
    with pytest.raises(InputError, match=r"11 feature columns .* fitted on 12"):
        fit(with_counts(random_counts())).transform(with_counts(random_counts(columns=11)))


def test_negative_counts_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        fit(with_counts(sp.csr_matrix(np.array([[1.0, -1.0], [0.0, 1.0]], np.float32))))


def test_counts_that_are_not_finite_name_the_node() -> None:
    counts = random_counts()
    counts.data[counts.indptr[7]] = np.nan
    with pytest.raises(InputError, match="node 7 "), np.errstate(all="ignore"):
        fit(with_counts(counts))


def test_text_without_words_and_graphs_without_text_are_named() -> None:
    with pytest.raises(InputError, match="no words"):
        fit(with_texts(["", "a", "!"]))
    with pytest.raises(InputError, match="text="):
        fit(with_texts(TEXTS)).transform(with_counts(random_counts()))


def test_another_seed_only_turns_the_space() -> None:
    graph = with_counts(random_counts(60, 40))
    first, second = (TfidfSVD.fit(graph, FeatureConfig(feature_dim=5), seed).transform(graph) for seed in (0, 1))
    assert np.allclose(first @ first.T, second @ second.T, atol=1e-3)
    assert np.array_equal(first, TfidfSVD.fit(graph, FeatureConfig(feature_dim=5), 0).transform(graph))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Straße STRASSE ﬁne Ｆｕｌｌ", ["strasse", "strasse", "fine", "full"]),
        ("e\u0301te\u0301 été", ["été", "été"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),  # vowel signs are no letters, but part of words
        ("東京都に住む。Python3", ["東京", "京都", "都に", "に住", "住む", "python3"]),
        ("สวัสดี", ["สวั", "วัส", "สดี"]),
        ("中 a", ["中"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("в Москве", ["москве"]),
    ],
)
def test_words_of_other_scripts(text: str, found: list[str]) -> None:
    assert words(text) == found
