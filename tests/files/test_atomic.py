"""Files and folders appear whole or not at all."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from sanne.errors import InputError, InUseError, WriteError
from sanne.files import atomic
from sanne.files.atomic import check_target, read_unreplaced, replaced_file, replaced_folder


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_file_appears_only_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    with replaced_file(target) as part:
        part.write_text("new")
        assert part.suffix == ".csv"
        assert not target.exists()
    assert target.read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failed_file_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error), replaced_file(target) as part:  # noqa: PT012
        part.write_text("half")
        raise error
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_file_that_was_never_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replaced_file(tmp_path / "out.txt"):
        pass
    assert names(tmp_path) == []


def test_file_keeps_mode_and_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with replaced_file(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("at_once", [True, False])
def test_folder_replaces_an_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool) -> None:
    if not at_once:
        monkeypatch.setattr(atomic, "_exchange_at_once", lambda first, second: False)
    target = tmp_path / "model"
    for text in ("old", "new"):
        with replaced_folder(target) as part:
            (part / "inner").mkdir()
            (part / "inner" / f"{text}.txt").write_text(text)
    assert names(target / "inner") == ["new.txt"]
    assert names(tmp_path) == ["model"]


def test_failed_folder_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with replaced_folder(target) as part:
        (part / "a").write_text("old")
    with pytest.raises(RuntimeError), replaced_folder(target) as part:  # noqa: PT012
        (part / "a").write_text("half")
        raise RuntimeError
    assert (target / "a").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_failed_second_rename_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    with replaced_folder(target) as part:
        (part / "a").write_text("old")
    rename = Path.rename

    def failing(self: Path, other: Path) -> Path:
        if other == target and (self / "new").exists():
            raise OSError("disk gone")
        return rename(self, other)

    monkeypatch.setattr(atomic, "_exchange_at_once", lambda first, second: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="disk gone"), replaced_folder(target) as part:
        (part / "new").write_text("new")
    assert (target / "a").read_text() == "old"
    assert names(tmp_path) == ["model"]


# What killed writers leave


def kill_inside(program: str, target: Path) -> None:
    """Run a writer that is killed in the middle."""
    start = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom sanne.files import atomic\ntarget = Path(sys.argv[1])\n"
    )
    dead = subprocess.run([sys.executable, "-c", start + program, target], check=False)
    assert dead.returncode == -9


KILLED_FILE = """
with atomic.replaced_file(target) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_BETWEEN_TWO_RENAMES = """
atomic._exchange_at_once = lambda first, second: False
rename = Path.rename
def killed(self, other):
    if other == target:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, other)
Path.rename = killed
with atomic.replaced_folder(target) as part:
    (part / "a").write_text("new")
"""


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 251 + ".csv")  # as long as names can be
    kill_inside(KILLED_FILE, target)
    assert len(names(tmp_path)) == 1
    with replaced_file(tmp_path / "other.csv") as part:
        part.write_text("")
    assert len(names(tmp_path)) == 2, "what belongs to another target is left alone"
    with replaced_file(target) as part:
        part.write_text("whole")
    assert sorted(names(tmp_path)) == ["other.csv", target.name]


def test_a_writer_at_work_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with replaced_file(target) as slow:
        slow.write_text("slow")
        with replaced_file(target) as quick:
            quick.write_text("quick")
        atomic.sweep(target)
        assert target.read_text() == "quick"
    assert target.read_text() == "slow"
    assert names(tmp_path) == ["out.txt"]


def test_a_folder_lost_between_two_renames_is_brought_back(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with replaced_folder(target) as part:
        (part / "a").write_text("old")
    kill_inside(KILLED_BETWEEN_TWO_RENAMES, target)
    assert not target.exists()
    atomic.sweep(target)
    assert (target / "a").read_text() == "old"
    assert names(tmp_path) == ["model"]


# Room


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk is full"),
        (RuntimeError("IO Error: No space left on device"), "disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "quota"),
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (OSError("800 requested and 0 written"), "full or a limit"),
    ],
)
def test_a_lack_of_room_is_explained_in_whatever_words_it_comes(tmp_path: Path, error: Exception, reason: str) -> None:
    with pytest.raises(WriteError, match=rf"cannot write .*out\.txt: .*{reason}"), replaced_file(tmp_path / "out.txt"):
        raise error
    assert names(tmp_path) == []


def test_a_lack_of_room_inside_a_folder_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=f"cannot write {tmp_path / 'model'}: the disk is full"):  # noqa: SIM117
        with replaced_folder(tmp_path / "model") as part, replaced_file(part / "vectors.parquet"):
            raise OSError(errno.ENOSPC, "No space left on device")


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No space left on device"), replaced_file(tmp_path / "out.txt"):
        raise InputError("a node is called 'No space left on device'")
    with pytest.raises(PermissionError), replaced_file(tmp_path / "out.txt"):
        raise PermissionError(errno.EACCES, "no")


# Reading what others replace


def test_a_folder_that_was_replaced_meanwhile_is_read_again(tmp_path: Path) -> None:
    target = tmp_path / "model"
    reads = []

    def save(text: str) -> None:
        with replaced_folder(target) as part:
            for name in ("a", "b"):
                (part / name).write_text(text)

    def read() -> list[str]:
        first = (target / "a").read_text()
        if not reads:
            save("new")
        reads.append(first)
        return [first, (target / "b").read_text()]

    save("old")
    assert read_unreplaced(target, read) == ["new", "new"]
    assert reads == ["old", "new"]


def test_a_folder_that_never_stays_is_named(tmp_path: Path) -> None:
    def read() -> None:
        with replaced_folder(tmp_path / "model"):
            pass
        raise InputError("half")

    with pytest.raises(InUseError, match="model: it was replaced"):
        read_unreplaced(tmp_path / "model", read)


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
def test_linux_swaps_in_one_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not atomic._exchange_at_once(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system cannot swap two names")
    assert names(tmp_path / "a") == ["b"]


def test_bad_places_are_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="mkdir -p"):
        check_target(tmp_path / "missing" / "out.csv")
    with pytest.raises(InputError, match="is a folder"):
        check_target(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_target(tmp_path / "file", folder=True)
    with pytest.raises(InputError, match="not a folder"):
        check_target(tmp_path / "file" / "out.csv")
    with pytest.raises(InputError, match="inside it"):
        check_target("/", folder=True)
