"""A process that reads spoilt files under a limit of memory and time, and reports every outcome that is not allowed.

Allowed are: the file is read and can be used, or a SanneError says why not. It may die of a file: what it was reading
stands in the folder `now`, so that its parent can tell.

    python hostile_worker.py JOB.json

The job names the mode (`headers`, `fuzz` or `given`), samples, seed, seconds and folders; the answer is one JSON
object on the last line of stdout.
"""

import contextlib
import itertools
import json
import logging
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from mutations import header_cuts, header_flips, mutate
from valid_files import SAMPLES

from sanne.errors import SanneError

MEMORY = 2**30  # bytes that reading a spoilt file of a few kilobytes may ask for, above what the process has
GROWTH = 256 * 2**20  # bytes of real memory that one spoilt file may take
SECONDS = 20  # of processor time that one spoilt file may take
SLOW = ("built-csv", "built-parquet")  # a tenth as often as others

Case = tuple[str, str, bytes, bool]  # sample, file, content, whether checksums are made to fit


class TooSlowError(Exception):
    """A file that took too long."""


@dataclass
class Report:
    """How often what came of it."""

    read: int = 0
    refused: int = 0
    outcomes: list[dict[str, Any]] = field(default_factory=list)  # of given cases, one each
    findings: list[dict[str, Any]] = field(default_factory=list)  # what may not be


class Reader:
    """Puts a spoilt file among its valid neighbours and reads them all as a user would."""

    def __init__(self, folder: Path, samples: list[str]) -> None:
        self._folder = folder
        self.files: dict[str, dict[str, bytes]] = {}
        for name in samples:
            place = folder / "valid" / name
            place.mkdir(parents=True)
            SAMPLES[name].write(place)
            self.files[name] = {path.name: path.read_bytes() for path in sorted(place.iterdir())}
            self.files[name].pop("README.md", None)
            self.attempt(name, {})  # what is valid must be read; it also warms up what is compiled

    def attempt(self, sample: str, changed: dict[str, bytes], vouch: bool = True) -> None:
        """Read; raises what the reader raises."""
        place = self._folder / "now" / sample
        shutil.rmtree(self._folder / "now", ignore_errors=True)
        place.mkdir(parents=True)
        for name, content in (self.files[sample] | changed).items():
            (place / name).write_bytes(content)
        if vouch:
            SAMPLES[sample].vouch(place)
        with time_limit(SECONDS):
            SAMPLES[sample].read(place)

    def judge(self, report: Report, case: Case) -> str:
        """Read one case and write down what came of it."""
        sample, name, content, vouch = case
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        message = problem = ""
        try:
            self.attempt(sample, {name: content}, vouch)
            report.read += 1
        except SanneError as error:
            report.refused += 1
            message = f"{type(error).__name__}: {error}"
            if not str(error).strip():
                problem = "an error without a word"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            problem = "".join(traceback.format_exception(error)[-6:])
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if not problem and grown > GROWTH:
            problem = f"{grown / 2**20:.0f} MiB of memory"
        if problem:
            report.findings.append({"sample": sample, "file": name, "problem": problem, "content": content.hex()})
        return message


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """Let the process grow by MEMORY and no more: what asks for more gets a MemoryError, which is a finding."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def cases(job: dict[str, Any], reader: Reader) -> Iterator[Case]:
    stream = np.random.default_rng(job["seed"])
    if job["mode"] == "given":
        for case in job["cases"]:
            yield case["sample"], case["file"], Path(case["path"]).read_bytes(), case.get("vouch", True)
        return
    if job["mode"] == "fuzz":
        samples = [name for name in reader.files for _ in range(1 if name in SLOW else 10)]
        while True:
            sample = str(stream.choice(samples))
            name = str(stream.choice(list(reader.files[sample])))
            yield sample, name, mutate(name, reader.files[sample][name], stream), bool(stream.random() < 0.8)
    for sample, files in reader.files.items():
        for name, content in files.items():
            every = max(1, int(job.get("every", 1)))
            spoilt = itertools.chain(header_cuts(content), header_flips(content, stream))
            for changed in itertools.islice(spoilt, int(stream.integers(every)), None, every):
                yield sample, name, changed, True


def main(path: Path) -> None:
    job = json.loads(path.read_text())
    logging.disable()
    os.environ["SANNE_CACHE"] = str(Path(job["folder"]) / "cache")
    reader = Reader(Path(job["folder"]), job["samples"])
    limit_memory()
    report, ends = Report(), time.monotonic() + job["seconds"]
    tried = Path(job["folder"]) / "tried"
    for case in cases(job, reader):
        message = reader.judge(report, case)
        tried.write_text(json.dumps({"read": report.read, "refused": report.refused, "findings": report.findings}))
        if job["mode"] == "given":
            report.outcomes.append({"file": case[1], "message": message})
        if time.monotonic() > ends:
            break
    sys.stdout.write("\n" + json.dumps(report.__dict__) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
