"""The examples run, and show what they promise."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planted import TINY, planted_graph
from sanne.graph.store import save_graph

EXAMPLES = Path(__file__).parents[1] / "examples"
SETS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}".replace("(4,)", "4"))]


def run(name: str, *arguments: Any, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "SANNE_TOKEN"}
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("examples")
    save_graph(planted_graph(signal=1.0), place / "papers")
    return place


def test_arrivals(folder: Path) -> None:
    out = run("arrivals.py", "papers", "--hide", 15, "--folder", "run", *SETS, cwd=folder)
    lines = re.findall(r"^ *(\d+)  (p\d+): (\d+) links, spread ([\d.]+), near (.*?)  (\d) of 5", out, re.M)
    assert [int(line[0]) for line in lines] == list(range(1, 16))
    assert sum(int(line[2]) for line in lines) > 15  # they come with links
    assert "15 papers arrived" in out
    share = int(re.findall(r"(\d+)% of the 5 nearest papers", out)[0])
    chance = int(re.findall(r"by chance (\d+)%", out)[0])
    assert share > chance + 20
    assert (folder / "run" / "model.store").is_dir()
