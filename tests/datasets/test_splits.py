"""Splits: the paper's where they are, seeded ones elsewhere; never a node twice, never one without label."""

from pathlib import Path

import numpy as np
import pytest
from test_datasets import write_archive

from sanne.datasets import Splits, load_dataset, load_splits, seeded_splits
from sanne.errors import DatasetError, InputError


def check(splits: Splits, labels: np.ndarray, per_class: int) -> None:
    for train, val, test in zip(splits.train, splits.val, splits.test, strict=True):
        drawn = np.concatenate([train, val, test])
        assert len(np.unique(drawn)) == len(drawn)
        assert (labels[drawn] >= 0).all()
        assert np.unique(labels[train], return_counts=True)[1].tolist() == [per_class] * len(np.unique(labels[train]))


def test_the_papers_splits(sanne_data: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of splits beside the archive is used: the paper's where SANNE_DATA has it, else a drawn one."""
    if sanne_data is None or not (sanne_data / "citeseer.paper_splits.npz").is_file():
        graph = load_dataset("citeseer")
        drawn = seeded_splits(graph.labels, seed=3)
        write_archive(graph, tmp_path / "citeseer.npz")
        np.savez(tmp_path / "citeseer.paper_splits.npz", train=drawn.train, val=drawn.val, test=drawn.test)
        monkeypatch.setenv("SANNE_DATA", str(tmp_path))
    labels = load_dataset("citeseer").labels
    assert labels is not None
    splits = load_splits("citeseer")
    assert splits.source == "paper"
    assert splits.train.shape == (10, 20 * len(np.unique(labels[labels >= 0])))
    assert splits.val.shape == splits.test.shape == (10, 1000)
    check(splits, labels, 20)


def test_seeded_splits_when_there_is_no_file(
    sanne_data: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sanne_data is not None:
        (tmp_path / "cora.npz").write_bytes((sanne_data / "cora.npz").read_bytes())
        monkeypatch.setenv("SANNE_DATA", str(tmp_path))
    splits, again, other = load_splits("cora"), load_splits("cora"), load_splits("cora", seed=1)
    assert splits.source == "seeded"
    assert len(splits) == 10
    assert np.array_equal(splits.test, again.test)
    assert not np.array_equal(splits.test, other.test)
    assert not np.array_equal(splits.test[0], splits.test[1])
    labels = load_dataset("cora").labels
    assert labels is not None
    check(splits, labels, 20)
    assert splits.val.shape == splits.test.shape == (10, 1000)
    assert labels[splits.train[0]].tolist() == np.repeat(np.arange(7), 20).tolist()  # class by class


def test_a_damaged_file_of_splits(sanne_data: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cora.npz").write_bytes(b"")
    (tmp_path / "cora.paper_splits.npz").write_bytes(b"PK\x03\x04 torn")
    monkeypatch.setenv("SANNE_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"cora\.paper_splits\.npz: not a readable file of splits"):
        load_splits("cora")


def test_a_small_graph_shares_what_is_left_in_proportion() -> None:
    labels = np.array([0] * 30 + [1] * 10 + [-1] * 5)
    splits = seeded_splits(labels, seed=0, per_class=8, validation=100, test=300)
    # class 0 gives 8, class 1 at most half of its 10; 27 labelled nodes are left
    assert splits.train.shape == (10, 13)
    assert splits.val.shape == (10, 6)
    assert splits.test.shape == (10, 21)
    drawn = np.concatenate([splits.train, splits.val, splits.test], axis=1)
    assert all(sorted(row) == list(range(40)) for row in drawn.tolist())


def test_classes_may_be_text() -> None:
    labels = np.array(["x", "y", "", "x", "y", "x"], dtype=object)
    splits = seeded_splits(labels, seed=0, count=3)
    assert splits.train.shape == (3, 2)
    assert not (np.concatenate([splits.train, splits.val, splits.test], axis=1) == 2).any()


def test_labels_that_cannot_be_split() -> None:
    with pytest.raises(InputError, match="1 classes among the labels"):
        seeded_splits(np.zeros(5, int), seed=0)
    with pytest.raises(InputError, match="class 1 has a single node"):
        seeded_splits(np.array([0, 0, 1]), seed=0)
    with pytest.raises(InputError, match="one class per node"):
        seeded_splits(np.zeros((5, 2), int), seed=0)
