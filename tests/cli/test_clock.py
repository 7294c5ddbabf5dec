"""What takes over two seconds is named on a terminal, with its time, and nowhere else."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

WORK = """
import logging, time
from sanne.cli.clock import running_clock
from sanne.progress import steps
logging.basicConfig(level=logging.INFO)
with running_clock("fit"):
    time.sleep(3)
    logging.getLogger("sanne.model").info("learning")
    time.sleep(3)
    for _ in steps(range(6), of="walking", unit="column"):
        time.sleep(0.7)
"""
SLOW_STEPS = """
import time
from sanne.cli.clock import running_clock
from sanne.progress import steps
with running_clock("predict"):
    for _ in steps(range(2), of="choosing C", unit="value"):
        time.sleep(4)
"""


def on_terminal(work: str, rows: int, columns: int) -> str:
    """What a terminal of this size gets to show."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        subprocess.run([sys.executable, "-c", work], stderr=other, check=True, timeout=120)
        return os.read(main, 100_000).decode()
    finally:
        os.close(main)
        os.close(other)


def test_a_long_stage_is_named_with_its_time_or_has_a_bar_on_a_terminal_only() -> None:
    shown = on_terminal(WORK, 40, 100)
    assert "fit ... 00:02" in shown
    assert "learning ... 00:02" in shown
    assert "walking:  50%" in shown  # from two seconds on
    assert "walking:  17%" not in shown
    assert "4/6 [00:02<00:01" in shown  # the time that is left
    quiet = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True, timeout=120)
    assert quiet.stderr == "INFO:sanne.model:learning\n"


def test_a_terminal_that_does_not_know_its_size_shows_it_too() -> None:
    assert "predict ... 00:04" not in (shown := on_terminal(SLOW_STEPS, 0, 0))  # a bar takes its place
    assert "choosing C:   0%" in shown  # before the first step has ended
    assert "choosing C:  50%" in shown
    assert shown.endswith(("\r", "\x1b[A"))  # and nothing is left of it
