"""PV-DBOW: a document's vector depends on its words and the seed alone, in any process."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.config import FeatureConfig
from sanne.errors import InputError, MissingExtraError
from sanne.features.doc2vec import Doc2VecMap
from sanne.graph.graph import Graph

SUBJECTS = [["tree", "leaf", "root", "bark"], ["graph", "node", "edge", "walk"]]
CONFIG = FeatureConfig(features="doc2vec", feature_dim=8, doc2vec_epochs=60)


def documents(count: int = 40) -> Graph:
    stream = np.random.default_rng(0)
    texts = [" ".join(stream.choice(SUBJECTS[i % 2], 30)) for i in range(count)]
    return Graph.from_edges(
        np.arange(count - 1), np.arange(1, count), node_ids=np.arange(count), texts=np.array(texts, dtype=object)
    )


@pytest.fixture(scope="module")
def fitted() -> Doc2VecMap:
    return Doc2VecMap.fit(documents(), CONFIG, seed=0)


def test_documents_about_the_same_subject_are_closer(fitted: Doc2VecMap) -> None:
    vectors = fitted.transform(documents())
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = vectors @ vectors.T
    same = (np.arange(40)[:, None] % 2) == (np.arange(40)[None] % 2)
    assert cosine[same].min() > cosine[~same].max()


def test_a_document_alone_gets_the_row_it_gets_among_all(fitted: Doc2VecMap) -> None:
    together = fitted.transform(documents())
    for node in (0, 7, 39):
        assert np.array_equal(fitted.transform(documents(), np.array([node]))[0], together[node])


def test_empty_and_unknown_text_gives_zeros(fitted: Doc2VecMap) -> None:
    graph = Graph.from_edges([0], [1], node_ids=[0, 1], texts=np.array(["", "unheard of"], dtype=object))
    assert not fitted.transform(graph).any()


def test_it_is_the_same_in_a_fresh_process_with_another_string_hash(fitted: Doc2VecMap) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_doc2vec import *\n"
        "sys.stdout.buffer.write(Doc2VecMap.fit(documents(), CONFIG, seed=0).transform(documents()).tobytes())"
    )
    command = [sys.executable, "-c", program, os.path.dirname(__file__)]  # noqa: PTH120
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    found = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert found == fitted.transform(documents()).tobytes()


def test_word_counts_are_read_as_whole_numbers_or_as_there_or_not() -> None:
    counts = sp.csr_matrix(np.random.default_rng(0).poisson(2, (20, 6)).astype(np.float32))
    fractions = counts.copy()
    fractions.data = fractions.data * 0.3

    def fit(features: sp.csr_matrix) -> tuple[Doc2VecMap, Graph]:
        graph = Graph.from_edges(np.arange(19), np.arange(1, 20), node_ids=np.arange(20), features=features)
        return Doc2VecMap.fit(graph, CONFIG, seed=0), graph

    for features in (counts, fractions):
        found, graph = fit(features)
        together = found.transform(graph)
        assert all(np.array_equal(found.transform(graph, np.array([i]))[0], together[i]) for i in range(20))
    with pytest.raises(InputError, match=r"5 feature columns .* fitted on 6"):
        found.transform(Graph.from_edges([0], [1], node_ids=[0, 1], features=counts[:2, :5]))
    with pytest.raises(InputError, match="needs words"):
        fit(sp.csr_matrix((20, 6), dtype=np.float32))


def test_without_gensim_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models.doc2vec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sanne\[text\]'"):
        Doc2VecMap.fit(documents(), CONFIG, seed=0)
