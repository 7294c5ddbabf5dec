"""Files and folders appear whole or not at all."""

import sys
from pathlib import Path

import pytest

from sanne import atomic
from sanne.atomic import check_target, replaced_file, replaced_folder
from sanne.errors import InputError


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
