"""Files that public graphs come in: LINQS, SNAP edge lists."""

import logging
from pathlib import Path

import pytest

from sanne.errors import InputError
from sanne.graph.readers.tables import read_edge_list
from sanne_lab.datasets.linqs import read_linqs


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
    with pytest.raises(InputError, match="line 2: id 1 already occurs in line 1"):
        read_linqs(tmp_path)


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
    with pytest.raises(InputError, match=r"line 1: expected two node ids per line, found 3"):
        read_edge_list(path)
