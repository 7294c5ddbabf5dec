"""A full disk, and a limit on file sizes, during a save: the old stays, nothing half stays, the cause is named."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked_command import SMALL, Command, fit_arguments, write_planted_tables

from sanne.estimator import SANNE
from sanne.graph.load import load_graph

Record = Callable[..., None]
Bytes = dict[str, bytes]

TRAINING = {"epochs": 1, "steps_per_epoch": 2}
FULL, LIMITED = "a full disk", "a limit on file sizes"
WORDS = {FULL: ("the disk is full", "make room"), LIMITED: ("larger than allowed", "ulimit")}
DISK = 4 * 2**20
SAME = ("model.safetensors", "vectors.parquet", "features.json")
THOROUGH = os.environ.get("SANNE_FAULTS", "") not in ("", "0")
SHARES = (0.1, 0.5, 0.9) if THOROUGH else (0.5,)  # of the bytes that a save needs


@dataclass(frozen=True)
class Save:
    """Something that a command writes: its name in the folder `out`, and what it must not cost."""

    what: str
    name: str
    command: str


SAVES = [
    Save("a checkpoint", "trained.checkpoint", "train"),
    Save("a model that was trained", "trained", "train"),
    Save("a model", "model", "fit"),
    Save("vectors.parquet", "vectors.parquet", "embed"),
    Save("vectors.npy", "vectors.npy", "embed"),
    Save("vectors.csv", "vectors.csv", "embed"),
    Save("vectors.txt", "vectors.txt", "embed"),
    Save("a graph folder", "graph", "build"),
]
QUICK = {(FULL, "trained.checkpoint"), (FULL, "trained"), (FULL, "vectors.parquet"), (FULL, "graph")}
QUICK |= {(LIMITED, "model"), (LIMITED, "vectors.npy")}
NEVER = (LIMITED, "trained")  # the checkpoint before it is larger
CASES = [
    (trouble, save)
    for trouble in WORDS
    for save in SAVES
    if (trouble, save.name) != NEVER and (THOROUGH or (trouble, save.name) in QUICK)
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tables of a graph, and one of each thing that can be saved."""
    folder = tmp_path_factory.mktemp("room")
    write_planted_tables(folder, size=200)
    run(folder, "fit", folder / "model")
    return folder


def run(made: Path, command: str, out: Path, *options: str, largest_file: int | None = None) -> tuple[int, str]:
    """Exit code and what was said."""
    arguments = {
        "fit": fit_arguments(str(out), objective="hidden"),
        "train": [*fit_arguments(str(out), **TRAINING), *options],
        "embed": ["embed", "model", "--out", out],
        "build": ["build", "edges.csv", "--node-table", "nodes.csv", "--out", out, "--force"],
    }[command]
    started = Command(arguments, made, made / "notes", largest_file)
    return started.wait(), started.errors()


def content(path: Path) -> Bytes:
    """Every file under a path, or the file itself."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def sizes(path: Path) -> list[int]:
    return [len(value) for value in content(path).values()]


def older(made: Path, save: Save) -> Path:
    """What the disk holds before the save; made where no test needed it so far."""
    name = "trained" if save.command == "train" else save.name
    if not (made / name).exists():
        code, errors = run(made, save.command, made / name)
        assert code == 0, errors
    return made / name


def put(source: Path, place: Path) -> Path:
    """A copy of a file (with its ids, if it has them beside it) or of a folder."""
    if source.is_dir():
        return Path(shutil.copytree(source, place / source.name))
    if source.suffix == ".npy":
        shutil.copy(source.with_suffix(".ids.txt"), place)
    return Path(shutil.copy(source, place / source.name))


@contextlib.contextmanager
def small_disk(place: Path, size: int) -> Iterator[None]:
    """A file system of its own in memory, mounted at a folder."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
    done = subprocess.run(mount, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def fill(place: Path, spare: int) -> Path:
    """A file that leaves `spare` bytes of a disk."""
    filler = place / "filler"
    with filler.open("wb") as file:
        state = os.statvfs(place)
        os.posix_fallocate(file.fileno(), 0, (state.f_bfree - spare // state.f_frsize) * state.f_frsize)
    return filler


def room_for(save: Save, made: Path, share: float) -> int:
    """Too few bytes for the save, but enough for what comes before it: a fit writes checkpoints before its model."""
    needed = sum(sizes(older(made, save)))
    if save.command != "train":
        return int(share * needed)
    checkpoint = checkpoint_size(made)
    return int(share * checkpoint) if "checkpoint" in save.name else checkpoint + int(share * needed)


def checkpoint_size(made: Path) -> int:
    """Bytes of a checkpoint, which the command removes once the model is saved."""
    kept = made / "sample.checkpoint"
    if not kept.exists():
        graph = load_graph(made / "edges.csv", node_table=made / "nodes.csv")
        SANNE("fast", settings=SMALL | TRAINING, progress=False).fit(graph, checkpoint=kept)
    return kept.stat().st_size


def largest_allowed(save: Save, made: Path, share: float) -> int:
    """A limit that the save meets, and what comes before it does not."""
    if "checkpoint" in save.name:
        return int(share * checkpoint_size(made))
    return int(share * max(sizes(older(made, save))))


@contextlib.contextmanager
def without_room(trouble: str, save: Save, made: Path, place: Path, share: float) -> Iterator[int | None]:
    """A folder with what was saved before, and room for a share of the new; yields the limit on file sizes, if any."""
    if trouble == LIMITED:
        place.mkdir()
        put(older(made, save), place)
        yield largest_allowed(save, made, share)
        return
    with small_disk(place, DISK):
        put(older(made, save), place)
        fill(place, room_for(save, made, share))
        yield None


@pytest.mark.parametrize(("trouble", "save"), CASES, ids=lambda case: case if isinstance(case, str) else case.what)
def test_a_save_without_room_changes_nothing(
    made: Path, tmp_path: Path, record: Record, trouble: str, save: Save
) -> None:
    lost = 0
    for number, share in enumerate(SHARES):
        place = tmp_path / str(number)
        before = older(made, save)
        kept = place / before.name
        with without_room(trouble, save, made, place, share) as limit:
            there = content(place)
            code, errors = run(made, save.command, kept, largest_file=limit)
            assert code == 1, errors
            assert "Traceback" not in errors
            assert "Exception ignored" not in errors
            for word in (*WORDS[trouble], save.name):
                assert word in errors, errors
            now = content(place)
            lost += any(now.get(name) != value for name, value in there.items())
            if save.name == "trained":
                assert "--resume continues from" in errors
                lost += not resumes(made, place, before)
            else:
                assert now.keys() == there.keys()
                assert not list(place.glob(".*"))
    record(f"{trouble} during the save of {save.what}", times=len(SHARES), lost=lost)


def resumes(made: Path, place: Path, whole: Path) -> bool:
    """Whether all that was learned before a model could not be saved is still there once there is room."""
    (place / "filler").unlink(missing_ok=True)
    code, errors = run(made, "train", place / "trained", "--resume")
    assert code == 0, errors
    assert sorted(path.name for path in place.iterdir()) == ["trained"]
    return all((place / "trained" / name).read_bytes() == (whole / name).read_bytes() for name in SAME)
