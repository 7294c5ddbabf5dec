"""Real data for tests: SANNE_DATA, else ../shared/data beside the checkout, else the package index."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: on busy cores threads must not spin

from sanne.datasets import load_dataset
from sanne.graph.csr import Graph

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
