"""The table that `make faults` ends with: what was tried, how often, what was lost."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest

HEADINGS = ("what was tried", "times", "lost")
Record = Callable[..., None]


@dataclass
class Row:
    """One kind of trouble; `lost` counts the tries that ended with less than was promised."""

    what: str
    times: int
    lost: int


ROWS = pytest.StashKey[dict[str, Row]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ROWS] = {}


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Record:
    """Put a row in the table, or add to the row of that name; a loss fails the test.

    >>> record("kill -9 during a fit, then --resume", times=50, lost=0)
    """

    def add(what: str, *, times: int = 1, lost: int = 0) -> None:
        row = request.config.stash[ROWS].setdefault(what, Row(what, 0, 0))
        row.times += times
        row.lost += lost
        assert lost == 0, f"{what}: {lost} of {times} lost something"

    return add


@pytest.fixture(scope="session")
def thorough() -> bool:
    """Whether this is `make faults` (SANNE_FAULTS=1), which tries everything many times, and not `make test`."""
    return os.environ.get("SANNE_FAULTS", "") not in ("", "0")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table, as Markdown that can go into the documentation as it is."""
    if not (rows := config.stash[ROWS]):
        return
    terminalreporter.section("faults")
    for line in table(list(rows.values())):
        terminalreporter.write_line(line)


def table(rows: list[Row]) -> list[str]:
    """The rows as lines of a Markdown table."""
    cells = [[row.what, f"{row.times:,}", f"{row.lost:,}" if row.lost else "nothing"] for row in rows]
    widths = [max(len(line[column]) for line in [HEADINGS, *cells]) for column in range(len(HEADINGS))]
    ruler = ["-" * widths[0], "-" * (widths[1] - 1) + ":", "-" * widths[2]]
    return [_line(line, widths) for line in [list(HEADINGS), ruler, *cells]]


def _line(cells: list[str], widths: list[int]) -> str:
    what, times, lost = cells
    return f"| {what:<{widths[0]}} | {times:>{widths[1]}} | {lost:<{widths[2]}} |"
