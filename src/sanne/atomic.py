"""Files and folders that appear whole or not at all: write beside, flush to disk, rename."""

import contextlib
import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from sanne.errors import InputError


def check_target(path: str | Path, *, folder: bool = False) -> Path:
    """The full path of something about to be written, or an InputError if it cannot be written there."""
    target = Path(os.path.realpath(path))  # a link stays a link: what it points at is replaced
    parent = target.parent
    if not target.name:
        raise InputError(f"{path} cannot be written: name a {'folder' if folder else 'file'} inside it")
    if not parent.exists():
        raise InputError(f"cannot write {path}: there is no folder {parent}; make it first (mkdir -p {parent})")
    if not parent.is_dir():
        raise InputError(f"cannot write {path}: {parent} is a file, not a folder; choose another place")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: no permission to write in {parent}; choose another folder")
    if target.is_dir() and not folder:
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file")
    if target.exists() and not target.is_dir() and folder:
        raise InputError(f"cannot write {path}: it is a file; give the name of a folder")
    return target


@contextlib.contextmanager
def replaced_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path with the same ending; what is written there becomes `path` on success.

    >>> with replaced_file("scores.json") as part:
    ...     part.write_text("{}")
    """
    target = check_target(path)
    part = _sibling(target)
    try:
        yield part
        _flush(part)
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
        _flush_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def replaced_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty temporary folder; on success it becomes `path`, and a folder that was there is gone.

    The exchange with an older folder is one step on Linux. Where the system has no such step there are
    two renames, and a crash between them leaves both folders beside `path`, under hidden names. The caller
    makes sure that the old folder is one it may delete.

    >>> with replaced_folder("model") as part:
    ...     (part / "config.json").write_text("{}")
    """
    target = check_target(path, folder=True)
    part = _sibling(target)
    part.mkdir()
    try:
        yield part
        _flush_tree(part)
        if target.exists():
            shutil.copymode(target, part)
            _exchange(part, target)
        else:
            part.rename(target)
        _flush_folder(target.parent)
    finally:
        if part.exists():
            shutil.rmtree(part)


def _sibling(target: Path) -> Path:
    """A free hidden name beside the target, with its ending, since many writers go by the ending."""
    return target.with_name(f".part-{secrets.token_hex(6)}{target.suffix}")


def _exchange(part: Path, target: Path) -> None:
    """Swap two folders; afterwards `part`, if it still exists, is the old one."""
    if _exchange_at_once(part, target):
        return
    old = _sibling(target)
    target.rename(old)
    try:
        part.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _exchange_at_once(first: Path, second: Path) -> bool:
    """Swap two names in one step with Linux's renameat2; False where that does not exist."""
    at_cwd, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(renameat2(at_cwd, os.fsencode(first), at_cwd, os.fsencode(second), exchange) == 0)


def _flush_tree(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            _flush(Path(root) / name)
        _flush_folder(Path(root))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(path: Path) -> None:
    """Make renames inside a folder durable, on systems that can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
