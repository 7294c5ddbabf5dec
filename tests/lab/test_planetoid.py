"""Planetoid's files are pickles, which are read without running code."""

import collections
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from sanne.errors import InputError
from sanne_lab.datasets.planetoid import read_planetoid


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
