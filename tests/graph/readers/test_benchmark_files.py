"""Files that benchmarks come in: Planetoid (pickles, read safely), LINQS, npz, SNAP edge lists."""

import collections
import logging
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.readers.edge_list import read_edge_list
from sanne.graph.readers.linqs import read_linqs
from sanne.graph.readers.npz import read_npz
from sanne.graph.readers.planetoid import read_planetoid


def planetoid_folder(folder: Path) -> Path:
    """Seven nodes: allx 0..3, test nodes 6 and 4 (in that order); node 5 is a gap."""
    neighbours = collections.defaultdict(list, {0: [1, 1, 0], 1: [0], 4: [6], 6: [4], 2: [3], 5: []})
    parts = {
        "x": sp.csr_matrix(np.eye(2, 3, dtype=np.float32)),
        "y": np.eye(2, dtype=np.int32),
        "allx": sp.csr_matrix(np.arange(12, dtype=np.float32).reshape(4, 3)),
        "ally": np.array([[1, 0], [0, 1], [1, 0], [0, 0]], dtype=np.int32),
        "tx": sp.csr_matrix(np.array([[60, 0, 6], [40, 0, 4]], dtype=np.float32)),
        "ty": np.array([[0, 1], [1, 0]], dtype=np.int32),
        "graph": neighbours,
    }
    for part, value in parts.items():
        (folder / f"ind.toy.{part}").write_bytes(pickle.dumps(value, protocol=4))
    (folder / "ind.toy.test.index").write_text("6\n4\n")
    return folder


def test_planetoid_order_and_gaps(tmp_path: Path) -> None:
    graph = read_planetoid(planetoid_folder(tmp_path))
    assert graph.num_nodes == 7
    assert graph.features.toarray()[:, 0].tolist() == [0, 3, 6, 9, 40, 0, 60]
    assert graph.features.toarray()[5].tolist() == [0, 0, 0]
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 1, 0, -1, 0, -1, 1]
    assert graph.num_edges == 3


class Canary:
    """Unpickled without care, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("part", ["allx", "ally", "tx", "ty", "graph"])
def test_a_planetoid_file_cannot_run_code(tmp_path: Path, part: str) -> None:
    planetoid_folder(tmp_path)
    canary = tmp_path / "canary"
    content = pickle.dumps([Canary(canary)])
    pickle.loads(content)
    assert canary.exists()  # the trap works ...
    canary.unlink()
    (tmp_path / f"ind.toy.{part}").write_bytes(content)
    with pytest.raises(InputError, match=rf"ind\.toy\.{part}: not a Planetoid file .*which is no data"):
        read_planetoid(tmp_path)
    assert not canary.exists()  # ... and was not sprung


@pytest.mark.parametrize("call", [b"cos\nsystem\n(S'true'\ntR.", b"cbuiltins\neval\n(S'1'\ntR.", b"\x80\x04junk", b""])
def test_other_pickles_are_refused(tmp_path: Path, call: bytes) -> None:
    (planetoid_folder(tmp_path) / "ind.toy.graph").write_bytes(call)
    with pytest.raises(InputError, match="not a Planetoid file"):
        read_planetoid(tmp_path)


def test_a_matrix_whose_indices_point_outside_is_refused(tmp_path: Path) -> None:
    planetoid_folder(tmp_path)
    matrix = sp.csr_matrix(np.ones((4, 3), np.float32))
    matrix.indices[0] = 10**6
    (tmp_path / "ind.toy.allx").write_bytes(pickle.dumps(matrix))
    with pytest.raises(InputError, match=r"allx: not a sparse matrix"):
        read_planetoid(tmp_path)


def test_damaged_planetoid_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected one ind\.NAME\.graph"):
        read_planetoid(tmp_path)
    planetoid_folder(tmp_path)
    (tmp_path / "ind.toy.test.index").write_text("6\nx\n")
    with pytest.raises(InputError, match=r"test\.index: expected one node number a line"):
        read_planetoid(tmp_path)
    (tmp_path / "ind.toy.test.index").write_text("6\n4\n5\n")
    with pytest.raises(InputError, match="3 node numbers for the 2 rows"):
        read_planetoid(tmp_path)
    (tmp_path / "ind.toy.tx").unlink()
    with pytest.raises(InputError, match=r"missing ind\.toy\.tx"):
        read_planetoid(tmp_path)


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
    with pytest.raises(InputError, match="column 2 holds something else"):
        read_linqs(tmp_path)
    (tmp_path / "toy.content").write_text("1\t0\tA\n1\t1\tB\n")
    with pytest.raises(InputError, match="line 2: id '1' is empty or a repeat"):
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
