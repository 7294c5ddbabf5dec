"""One writer at a time; the lock of a dead process does not count."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planted import TRAINED, planted_graph
from sanne.errors import InUseError
from sanne.estimator import SANNE
from sanne.files.atomic import claimed


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_second_writer_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    with claimed(tmp_path / "model"):
        with (
            pytest.raises(InUseError, match=rf"model: another process \({os.getpid()}\) is writing"),
            claimed(tmp_path / "model"),
        ):
            pass
        with claimed(tmp_path / "other"):
            pass
    with claimed(tmp_path / "model"):
        pass
    assert names(tmp_path) == []


def test_a_link_is_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "model")
    with claimed(tmp_path / "model"), pytest.raises(InUseError), claimed(tmp_path / "link"):
        pass


def test_a_killed_holder_does_not_block(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom sanne.files.atomic import claimed\n"
        "with claimed(sys.argv[1]):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    dead = subprocess.run([sys.executable, "-c", program, tmp_path / "model"], check=False)
    assert dead.returncode == -9
    assert names(tmp_path) == [".model.lock"]
    with claimed(tmp_path / "model"):
        pass
    assert names(tmp_path) == []


def test_a_checkpoint_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "c.checkpoint"
    with claimed(path), pytest.raises(InUseError, match=r"c\.checkpoint"):
        SANNE("fast", settings=TRAINED).fit(planted_graph(), checkpoint=path)
    SANNE("fast", settings=TRAINED | {"epochs": 1}).fit(planted_graph(), checkpoint=path)
    assert names(tmp_path) == ["c.checkpoint"]
