"""Benchmark archives: what is in them comes back, and what is wrong with one is named."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne_lab.datasets.npz import read_npz


def test_npz_round_trip(tmp_path: Path) -> None:
    words = sp.csr_matrix(np.array([[0, 2], [0, 0], [1, 0]], dtype=np.float32))
    parts = {"words_indptr": words.indptr, "words_indices": words.indices.astype(np.int16)}
    np.savez(
        tmp_path / "toy.npz",
        edges=np.array([[0, 1], [1, 0], [2, 2]]),
        labels=np.array([1, -1, 0], np.int8),
        words_values=words.data,
        num_words=2,
        **parts,
    )
    graph = read_npz(tmp_path / "toy.npz")
    assert (graph.num_nodes, graph.num_edges) == (3, 1)
    assert graph.features.toarray().tolist() == words.toarray().tolist()
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, -1, 0]


def test_bad_npz(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(InputError, match=r"bad\.npz: not a readable numpy archive"):
        read_npz(path)
    np.savez(path, edges=np.array([{}], dtype=object))
    with pytest.raises(
        InputError, match=r"bad\.npz: not a readable numpy archive .*Python objects, which are not read"
    ):
        read_npz(path)
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(InputError, match=r"bad\.npz: not a readable numpy archive"):
        read_npz(path)
    np.savez(path, nodes=np.arange(3))
    with pytest.raises(InputError, match=r"no array 'edges' in it \(found nodes\)"):
        read_npz(path)
    np.savez(path, edges=np.array([[0, 9]]), labels=np.arange(3))
    with pytest.raises(InputError, match=r"bad\.npz: 3 labels, but an edge names node 9"):
        read_npz(path)
    with pytest.raises(InputError, match="no such file"):
        read_npz(tmp_path / "gone.npz")
