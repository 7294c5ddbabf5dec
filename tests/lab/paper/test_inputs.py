"""Features and walks are made once and shared."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes
from sanne_lab.paper import inputs
from sanne_lab.paper.inputs import counts_of, jointly_trained, kept


def test_an_array_is_made_once(tmp_path: Path) -> None:
    calls = []

    def make() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        calls.append(1)
        return np.arange(3)

    for _ in range(2):
        assert kept(tmp_path / "deep" / "numbers.npy", make).tolist() == [0, 1, 2]
    assert len(calls) == 1


def test_nothing_is_kept_of_what_failed(tmp_path: Path) -> None:
    def fail() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept(tmp_path / "numbers.npy", fail)
    assert kept(tmp_path / "numbers.npy", lambda: np.ones(2)).tolist() == [1.0, 1.0]


def word_graph(last: int = 7) -> Graph:
    """Twelve documents on a path, in two halves with words of their own; the last one has a word besides."""
    words = np.zeros((12, 8))
    words[:6, :4] = words[6:, 4:] = 1
    words[11, last] = 3
    return Graph.from_edges(np.arange(11), np.arange(1, 12), node_ids=np.arange(12), features=words)


def test_strict_vectors_do_not_know_the_texts_of_newcomers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for last in (0, 7):
        graph = word_graph(last)
        monkeypatch.setattr(inputs, "data_of", lambda dataset, graph=graph: (graph, None))
        cache = tmp_path / str(last)
        found.append(inputs.strict_vectors("cora", "own-20", 0, hide_nodes(graph, np.array([11])), 0, cache))
    one, other = found
    assert one.shape == (12, 128)
    assert np.array_equal(one[:11], other[:11])
    assert not np.array_equal(one[11], other[11])


def test_documents_with_the_same_words_are_closer_than_others_and_order_is_that_of_the_nodes() -> None:
    graph = word_graph()
    vectors = jointly_trained(graph, 400, seed=0)
    assert vectors.shape == (12, 128)
    centred = vectors - vectors.mean(axis=0)
    alike = centred @ centred.T
    assert alike[:6, :6].mean() > 0 > alike[:6, 6:].mean()
    assert np.array_equal(vectors, jointly_trained(graph, 400, seed=0))


def test_tf_idf_weights_tell_how_often_a_word_stands_in_a_text() -> None:
    counts = sp.csr_matrix(np.array([[1, 3, 0, 2], [0, 1, 1, 0], [5, 0, 1, 0], [0, 0, 0, 0], [0, 2, 0, 1]]))
    shares = sp.diags(1 / np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)) @ counts
    weights = (shares @ sp.diags(np.log(5 / np.array([2, 3, 2, 2])))).tocsr()
    assert counts_of(weights).tolist() == counts.data.tolist()
