"""Real data for tests: SANNE_DATA, else ../shared/data beside the checkout, else the package index."""

import logging
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: on busy cores threads must not spin

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a script put in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

import browser
from sanne.cli import main
from sanne.datasets.catalogue import load_dataset
from sanne.graph.graph import Graph

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def sanne_data() -> Iterator[Path | None]:
    """The folder with the benchmark archives, set as SANNE_DATA for the whole session; None if there is none."""
    given = os.environ.get("SANNE_DATA")
    folder = Path(given) if given else BESIDE
    if not folder.is_dir():
        yield None
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANNE_DATA", str(folder.resolve()))
        yield folder


@pytest.fixture(scope="session")
def cora(sanne_data: Path | None) -> Graph:
    """Cora, from wherever it can be had."""
    return load_dataset("cora")


@pytest.fixture(autouse=True)
def log_level() -> Iterator[None]:
    """The library's log level as it was, whatever a test sets: `sanne -v` sets it for the whole process."""
    logger = logging.getLogger("sanne")
    before = logger.level
    yield
    logger.setLevel(before)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files, and the tests in each, in a random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle if asked to; tests of a file stay together, so that what they share is made once."""
    if (seed := config.getoption("--shuffle")) is not None:
        stream = random.Random(seed)
        files = sorted({item.path for item in items})
        place = {path: stream.random() for path in files}
        stream.shuffle(items)
        items.sort(key=lambda item: place[item.path])


def pytest_report_header(config: pytest.Config) -> str:
    """What this run leaves out on purpose."""
    if config.option.markexpr == "not slow":
        return "left out on purpose: tests marked slow, which make docs, make faults and make wheel run"
    return "slow tests included"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser; without one the test fails: `make test` gets one first."""
    path = browser.find()
    assert path is not None, browser.REMEDY
    return path


@pytest.fixture(scope="module")
def page_browser(chromium: str) -> Iterator[Any]:
    """A Chromium that draws without a graphics card and asks nothing of the network."""
    from playwright.sync_api import sync_playwright

    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    drawing = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", *quiet, *drawing])
        yield launched
        launched.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: (exit code, stdout, stderr)."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sanne", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call
