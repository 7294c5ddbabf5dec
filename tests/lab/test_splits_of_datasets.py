"""Splits of datasets: the paper's where they are, seeded ones elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from planted import write_archive
from sanne.datasets.catalogue import load_dataset
from sanne.errors import DatasetError
from sanne.evaluate.splits import Splits, seeded_splits
from sanne_lab.datasets.splits import load_splits


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
