"""kill -9 of a fit, at random moments and inside saves; --resume ends with the tensors of a run that was left alone."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from forked_command import Command, fit_arguments, write_planted_tables

from sanne.files import atomic

Record = Callable[..., None]

RANDOM, CHECKPOINT, MODEL = "at a random moment", "inside the save of a checkpoint", "inside the save of the model"
CHAIN = (RANDOM, CHECKPOINT, RANDOM, MODEL, RANDOM)  # kills that one fit meets, one after another
KILLS = 50
_DELAY = 0.02  # seconds into a save at which it is killed, at most


@dataclass(frozen=True)
class Undisturbed:
    """A folder with a small graph, the model `whole` of a fit left alone, and `older`, one of another seed."""

    folder: Path
    seconds: float  # that such a fit takes


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("killed")
    write_planted_tables(folder)
    for name, options in (("older", ["--seed", "1"]), ("whole", [])):
        started = time.monotonic()
        command = Command([*fit_arguments(name), *options], folder, folder / "notes")
        assert command.wait() == 0, command.errors()
    return Undisturbed(folder, time.monotonic() - started)


def content(model: Path) -> dict[str, bytes]:
    """Tensors, vectors and feature map of a model folder."""
    return {name: (model / name).read_bytes() for name in ("model.safetensors", "vectors.parquet", "features.json")}


def scratch_folders(target: Path) -> list[Path]:
    return list(target.parent.glob(f"{atomic._prefix(target)}*"))


class Fit:
    """A fit into `model` beside copies of the tables, started again with --resume after every kill."""

    def __init__(self, folder: Path, tables: Path, *, over_older: bool) -> None:
        self.folder = folder
        self.model = folder / "model"
        self.checkpoint = folder / "model.checkpoint"
        self._allowed = [content(tables / "older"), content(tables / "whole")]
        for name in ("edges.csv", "nodes.csv"):
            shutil.copy(tables / name, folder)
        if over_older:
            shutil.copytree(tables / "older", self.model)
        self._notes = tables / "notes"
        self.given = set(folder.iterdir()) | {self.model}

    def start(self) -> Command:
        return Command([*fit_arguments("model"), "--resume"], self.folder, self._notes)

    def kill(self, moment: str, chance: random.Random, seconds: float) -> str | None:
        """Start, kill, and say what was hit: a save may be over before the kill arrives. None: it ended by itself."""
        command = self.start()
        if moment == RANDOM:
            time.sleep(chance.uniform(0, 0.8 * seconds))
        else:
            target = self.checkpoint if moment == CHECKPOINT else self.model
            while command.process.is_alive() and not scratch_folders(target):
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, _DELAY))
        if not command.kill():
            assert command.wait() == 0, command.errors()
            return None
        for found, target in ((CHECKPOINT, self.checkpoint), (MODEL, self.model)):
            if scratch_folders(target):
                return found
        return RANDOM

    def is_whole(self) -> bool:
        """Whether the model is the older one or the new one, not something between."""
        return not self.model.exists() or content(self.model) in self._allowed

    def is_finished(self) -> bool:
        """Whether the model is the new one, with nothing else left beside it."""
        return content(self.model) == self._allowed[1] and set(self.folder.iterdir()) == self.given


def test_killed_fits_end_as_if_nothing_had_happened(
    undisturbed: Undisturbed, tmp_path: Path, record: Record, thorough: bool
) -> None:
    chance = random.Random(0)
    wanted = KILLS if thorough else 3
    moments = CHAIN if thorough else (RANDOM, CHECKPOINT, MODEL)
    tried, lost = Counter[str](), Counter[str]()
    for number in range(wanted):
        if tried.total() == wanted:
            break
        folder = tmp_path / str(number)
        folder.mkdir()
        fit = Fit(folder, undisturbed.folder, over_older=chance.random() < 0.5)
        hits = []
        for moment in moments[: wanted - tried.total()]:
            hit = fit.kill(moment, chance, undisturbed.seconds)
            if hit is None:
                break
            hits.append(hit)
            assert fit.is_whole(), f"the model is damaged after kills {hits}"
        command = fit.start()
        fine = command.wait() == 0 and fit.is_finished()
        tried.update(hits)
        lost.update([] if fine else hits)
    for moment in (RANDOM, CHECKPOINT, MODEL):
        record(f"kill -9 {moment} of a fit, then --resume", times=tried[moment], lost=lost[moment])
    assert tried.total() == wanted
    if thorough:
        assert min(tried[CHECKPOINT], tried[MODEL]) >= 3, "too few kills were inside a save"


@pytest.mark.slow  # every start takes seconds
def test_killed_through_the_command_line(undisturbed: Undisturbed, tmp_path: Path, record: Record) -> None:
    chance = random.Random(1)
    fit = Fit(tmp_path, undisturbed.folder, over_older=True)
    program = [sys.executable, "-m", "sanne", *fit_arguments("model"), "--resume"]
    kills = 0
    for _ in range(3):
        process = subprocess.Popen(program, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        before = fit.checkpoint.stat().st_mtime_ns if fit.checkpoint.exists() else 0
        while process.poll() is None and (not fit.checkpoint.exists() or fit.checkpoint.stat().st_mtime_ns == before):
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        assert fit.is_whole()
    subprocess.run(program, cwd=tmp_path, check=True, capture_output=True)
    record("kill -9 of `python -m sanne fit`, then --resume", times=kills, lost=0 if fit.is_finished() else kills)
    assert kills >= 2
