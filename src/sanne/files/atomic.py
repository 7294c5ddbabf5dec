"""Files and folders that appear complete or not at all: write next to the target, fsync, rename; file locks."""

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from sanne.errors import InputError, InUseError, SanneError, WriteError

Content = TypeVar("Content")

_NEW, _OLD = "new", "old"  # in a scratch folder: the new folder; the one it replaces, if that takes two steps
_NUMPY_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")  # all that np.save says
_TRIES = 20  # to read a folder that others replace
_NO_ROOM = {  # reason and remedy
    errno.ENOSPC: ("the disk is full", "make room"),
    errno.EDQUOT: ("the disk quota is used up", "make room"),
    errno.EFBIG: ("the file is larger than allowed here", "raise the limit (see ulimit -f)"),
}


def check_target(path: str | Path, *, folder: bool = False) -> Path:
    """The full path of something about to be written, or an InputError if it cannot be written there."""
    target = Path(os.path.realpath(path))  # a symbolic link stays: its target is replaced
    parent = target.parent
    if not target.name:
        raise InputError(f"{path} cannot be written: name a {'folder' if folder else 'file'} inside it")
    if not parent.exists():
        raise InputError(f"cannot write {path}: there is no folder {parent}; create it first (mkdir -p {parent})")
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
    """Yield a temporary path with the same name; the file written there becomes `path` on success.

    >>> with replaced_file("scores.json") as part:
    ...     part.write_text("{}")
    """
    target = check_target(path)
    with _explained(target), scratch_folder(target) as place:
        part = place / target.name
        yield part
        _flush(part)
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
        _flush_folder(target.parent)


@contextlib.contextmanager
def replaced_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty temporary folder; on success it replaces `path`.

    On Linux the exchange with an older folder is atomic. Elsewhere it takes two renames;
    after a crash between them, the next writer first restores the old folder. The caller makes sure that the old
    folder may be deleted. The folder around the temporary one is for scratch files.

    >>> with replaced_folder("model") as part:
    ...     (part / "config.json").write_text("{}")
    """
    target = check_target(path, folder=True)
    with _explained(target, folder=True), scratch_folder(target) as place:
        part = place / _NEW
        part.mkdir()
        yield part
        _flush_tree(part)
        if target.exists():
            shutil.copymode(target, part)
            _exchange(part, target)
        else:
            part.rename(target)
        _flush_folder(target.parent)


@contextlib.contextmanager
def scratch_folder(path: str | Path) -> Iterator[Path]:
    """Yield a hidden folder next to `path`, removed after the block; leftovers of dead processes are removed first.

    The folder is locked while in use, so an unlocked one is known to be a leftover.
    """
    target = Path(os.path.realpath(path))
    sweep(target)
    place, lock = _locked_folder(target)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def sweep(path: str | Path) -> None:
    """Remove what writers of `path` that were killed left beside it; those at work are left alone."""
    target = Path(os.path.realpath(path))
    for place in target.parent.glob(f"{_prefix(target)}*"):
        with contextlib.suppress(OSError):
            lock = os.open(place, os.O_RDONLY)
            try:
                if take_lock(lock):
                    if (place / _OLD).exists() and not target.exists():
                        (place / _OLD).rename(target)
                    shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(lock)


def read_unreplaced(path: str | Path, read: Callable[[], Content]) -> Content:
    """The result of `read` on the folder `path`; read again if the folder was replaced meanwhile, so it is consistent.

    >>> read_unreplaced("model", lambda: [file.read_bytes() for file in Path("model").iterdir()])
    """
    for _ in range(_TRIES):
        before = _identity(path)
        try:
            content = read()
        except (SanneError, OSError):
            if _identity(path) == before:
                raise
        else:
            if _identity(path) == before:
                return content
    raise InUseError(f"{path}: it was replaced {_TRIES} times while being read: stop what writes there, and try again")


def _identity(path: str | Path) -> tuple[int, ...] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


@contextlib.contextmanager
def _explained(target: Path, *, folder: bool = False) -> Iterator[None]:
    """Turn a full disk or a quota, however a library reports it, into an error that says what to do."""
    try:
        yield
    except Exception as error:
        cause = error.__cause__ if folder and isinstance(error, WriteError) else error  # of a file inside it
        found = _lack_of_room(cause) if isinstance(cause, Exception) and not isinstance(cause, SanneError) else None
        if found is None:
            raise
        reason, remedy = found
        raise WriteError(
            f"cannot write {target}: {reason}; {remedy}, or choose another place. "
            "What was there before is untouched; nothing new is left behind"
        ) from error


def _lack_of_room(error: Exception) -> tuple[str, str] | None:
    """Reason and remedy, if an error is about disk space: by errno, or by the system message that libraries quote."""
    for number, found in _NO_ROOM.items():
        if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
            return found
    if isinstance(error, OSError) and _NUMPY_SHORT_WRITE.fullmatch(str(error)):
        return "it could not be written completely: the disk is full or a limit is reached", "make room"
    return None


def _prefix(target: Path) -> str:
    """The prefix of a target's scratch folders; short, since the target's own name may have the maximal length."""
    return f".part-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]}-"


def _locked_folder(target: Path) -> tuple[Path, int | None]:
    """A new folder beside the target and the descriptor that locks it (None where folders cannot be locked)."""
    while True:
        place = target.with_name(_prefix(target) + secrets.token_hex(6))
        place.mkdir()
        try:
            lock = os.open(place, os.O_RDONLY)
        except FileNotFoundError:
            continue  # cleaned up before it was locked
        except OSError:
            return place, None
        if take_lock(lock) is not False and is_open_as(place, lock):
            return place, lock
        os.close(lock)


def _exchange(part: Path, target: Path) -> None:
    """Swap two folders; afterwards the old one is in the place of `part`, or next to it."""
    if _exchange_at_once(part, target):
        return
    old = part.with_name(_OLD)
    target.rename(old)
    try:
        part.rename(target)
    except BaseException:
        old.rename(target)
        raise


def _exchange_at_once(first: Path, second: Path) -> bool:
    """Swap two names atomically with Linux's renameat2; False where that does not exist."""
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


def _flush(path: Path, how: int = os.O_RDWR) -> None:
    descriptor = os.open(path, how)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(path: Path) -> None:
    """Make renames inside a folder durable, on systems that can."""
    with contextlib.suppress(OSError):
        _flush(path, os.O_RDONLY)


@contextlib.contextmanager
def claimed(path: str | Path) -> Iterator[None]:
    """Keep other processes from writing `path` during the block; an InUseError if one already does.

    The lock file of a killed process does not count.

    >>> with claimed("model"):
    ...     SANNE().fit(graph).save("model")
    """
    target = Path(os.path.realpath(path))
    name = target.with_name(f".{target.name}.lock")
    lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    while (taken := take_lock(lock)) and not is_open_as(name, lock):
        os.close(lock)  # its last holder has just deleted it
        lock = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if taken is False:
            holder = os.read(lock, 32).decode(errors="replace").strip()
            raise InUseError(
                f"{path}: another process{f' ({holder})' if holder else ''} is writing there: "
                "wait until it has finished, or choose another place"
            )
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the number
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            name.unlink(missing_ok=True)
    finally:
        os.close(lock)


def take_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder. False: another has it; None: there are no locks here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def is_open_as(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at that path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
