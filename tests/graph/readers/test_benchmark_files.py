"""Files that benchmarks come in: LINQS, npz, SNAP edge lists."""

import logging
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.readers.edge_list import read_edge_list
from sanne.graph.readers.linqs import read_linqs
from sanne.graph.readers.npz import read_npz


def test_linqs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "toy.content").write_text("31336\t0\t1\tTheory\n8\t1\t0\tGames\n9\t0\t0\tTheory\n")
    (tmp_path / "toy.cites").write_text("8\t31336\r\n9\t77\r\n")
    with caplog.at_level(logging.WARNING):
        graph = read_linqs(tmp_path, directed=True)
    assert graph.node_ids.tolist() == [31336, 8, 9]
    assert graph.features.toarray().tolist() == [[0, 1], [1, 0], [0, 0]]
    assert graph.labels is not None
    assert graph.labels.tolist() == ["Theory", "Games", "Theory"]
    assert graph.indptr.tolist() == [0, 1, 1, 1]  # 31336 cites 8
    assert graph.indices.tolist() == [1]
    assert "left out 1 citations" in caplog.text


def test_bad_linqs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected one \*\.content file, found 0"):
        read_linqs(tmp_path)
    (tmp_path / "toy.cites").write_text("1\t2\n")
    (tmp_path / "toy.content").write_text("1\t0\tA\n2\tx\tB\n")
    with pytest.raises(InputError, match=r"toy\.content, line 2: value 'x' in column '2' is not a number"):
        read_linqs(tmp_path)
    (tmp_path / "toy.content").write_text("1\t0\tA\n1\t1\tB\n")
    with pytest.raises(InputError, match="line 2: id 1 stands already in line 1"):
        read_linqs(tmp_path)


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
    with pytest.raises(InputError, match=r"bad\.npz: an edge names a node outside"):
        read_npz(path)
    with pytest.raises(InputError, match="no such file"):
        read_npz(tmp_path / "gone.npz")


@pytest.mark.parametrize("mark", ["\t", " ", ","])
def test_edge_list_with_comments(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "toy.txt"
    path.write_text(f"# Nodes: 3\r\n# FromNodeId\tToNodeId\r\n84424{mark}276\r\n276{mark}3\r\n")
    graph = read_edge_list(path)
    assert graph.node_ids.tolist() == [3, 276, 84424]
    assert graph.num_edges == 2


def test_bad_edge_list(tmp_path: Path) -> None:
    path = tmp_path / "toy.txt"
    path.write_text("# nothing\n")
    with pytest.raises(InputError, match="no edges in it"):
        read_edge_list(path)
    path.write_text("# c\n1 2\n3\n")
    with pytest.raises(InputError, match=r"toy\.txt, line 3: 1 fields"):
        read_edge_list(path)
    path.write_text("1 2 3\n")
    with pytest.raises(InputError, match=r"line 1: expected two node ids a line, found 3"):
        read_edge_list(path)
