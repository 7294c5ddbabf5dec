"""Spoilt files: a named error or a graph that can be used; nothing is run, and memory stays within bounds."""

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crafted_files
import pytest
from hostile_runs import CORPUS, fuzz, keep, kept_cases, run, told
from valid_files import SAMPLES

Record = Callable[..., None]

FUZZ_SECONDS = float(os.environ.get("SANNE_FUZZ_SECONDS", "0"))  # 0: 600 in `make faults`, else 30
FUZZ_SEED = int(os.environ.get("SANNE_FUZZ_SEED", "0"))
FILES = [name for name in SAMPLES if not name.startswith("built")]


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> crafted_files.Files:
    """The content of every valid file that the crafted ones start from."""
    files: crafted_files.Files = {}
    models = ("model-dense", "model-trained", "checkpoint")
    for name in (*models, "graph-dense", "graph-sparse", "graph-text", "parquet", "vectors"):
        folder = tmp_path_factory.mktemp(name)
        SAMPLES[name].write(folder)
        files[name] = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files


def as_cases(crafted: list[crafted_files.Crafted], folder: Path) -> list[dict[str, Any]]:
    cases = []
    for number, (sample, name, content, _) in enumerate(crafted):
        (folder / str(number)).write_bytes(content)
        cases.append({"sample": sample, "file": name, "path": str(folder / str(number))})
    return cases


def check_words(crafted: list[crafted_files.Crafted], outcomes: list[dict[str, Any]]) -> None:
    """All were refused, by name and in one line, each in the words that it should be."""
    named = re.compile(r"(Input|ModelFolder|Dataset)Error: [^\n]+$")
    wrong = [
        f"{sample}, {name}: expected {words!r} in {outcome['message'] or 'nothing: it was read'!r}"
        for (sample, name, _, words), outcome in zip(crafted, outcomes, strict=True)
        if words not in outcome["message"] or not named.match(outcome["message"])
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_crafted_to_do_harm_does_none(valid: crafted_files.Files, tmp_path: Path, record: Record) -> None:
    """Pickles in every dress, archives that unpack to 3 GiB, headers that promise exabytes, arcs to nowhere.

    The corpus follows: inputs that the fuzzer once found.
    """
    canary = tmp_path / "canary"
    pickle.loads(crafted_files.trap(canary))
    assert canary.exists(), "the trap does not work, so that the test would show nothing"
    canary.unlink()
    pickles, bombs, liars = crafted_files.pickles(canary), crafted_files.bombs(), crafted_files.liars(valid)
    crafted = [*pickles, *bombs, *liars]
    corpus = kept_cases()
    assert corpus, f"no files in {CORPUS}"
    cases = [*as_cases(crafted, tmp_path), *corpus]
    report = run("given", sorted({case["sample"] for case in cases}), cases=cases)
    assert not canary.exists(), "a file ran code"
    assert not report["findings"], told(report["findings"])
    check_words(crafted, report["outcomes"][: len(crafted)])
    record("pickles dressed up as models and data, with a trap in them", times=len(pickles))
    record("zip bombs as .npz, wheel or Parquet", times=len(bombs))
    record("headers that lie: sizes, types, shapes, NaN, arcs to nowhere", times=len(liars))
    record("inputs of the fuzz corpus read again", times=len(corpus))


def test_spoilt_headers_are_refused_by_name(thorough: bool, record: Record) -> None:
    """Every file of every kind cut after every byte of its header, and with a bit flipped in each of them."""
    report = run("headers", FILES, every=1 if thorough else 60)
    assert not report["findings"], told(report["findings"])
    record("files cut, or a bit flipped, at every header byte", times=report["read"] + report["refused"])
    assert report["refused"] > report["read"]


def test_fuzz(thorough: bool, tmp_path: Path, record: Record) -> None:
    """Files spoilt at random: thirty seconds of it, ten minutes in `make faults`, or SANNE_FUZZ_SECONDS."""
    seconds = FUZZ_SECONDS or (600 if thorough else 30)
    report = fuzz(list(SAMPLES), seed=FUZZ_SEED, seconds=seconds)
    if report["findings"]:
        kept = Path(os.environ.get("SANNE_FUZZ_KEEP", tmp_path / "findings"))
        keep(report["findings"], kept)
        pytest.fail(f"kept in {kept}; copy them to {CORPUS}\n{told(report['findings'])}")
    tried = report["read"] + report["refused"]
    assert tried > seconds / 10, f"{tried} files in {seconds} s: the fuzzer stands still"
    record("files of all kinds spoilt at random (fuzz)", times=tried)
