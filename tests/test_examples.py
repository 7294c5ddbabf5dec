"""The examples run and show what they claim."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planted import TINY, planted_graph
from sanne.graph.folder.store import save_graph

EXAMPLES = Path(__file__).parents[1] / "examples"
SETS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]


def run(name: str, *arguments: Any, cwd: Path) -> str:
    """Run an example in its own process and return what it prints."""
    environment = {key: value for key, value in os.environ.items() if key != "SANNE_TOKEN"}
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run an example in this process, in an empty folder, and return what it prints."""

    def shown(name: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        assert list(tmp_path.iterdir()) == []  # nothing is left behind
        return capsys.readouterr().out

    return shown


def percent(pattern: str, text: str) -> list[float]:
    """The percentages that follow a pattern."""
    return [float(found) for found in re.findall(pattern + r"([\d.]+)%", text)]


def like(name: str, text: str) -> set[str]:
    """The names in the line of a node."""
    (found,) = re.findall(rf"^(?:like|near) {name} *: (.*?)(?:  \(.*)?$", text, re.M)
    return set(found.split(", "))


def test_every_example_is_listed_and_run() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    listed = set(re.findall(r"\[(\w+\.py)\]\(\1\)", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    assert names == listed
    own = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in names if f'("{name}"' not in own] == []


def test_own_csv(show: Any) -> None:
    out = show("own_csv.py")
    camping = {"sleeping bag", "camping stove", "gas cartridge", "head torch", "water filter", "camping mat", "tent"}
    assert len(like("tent", out) & camping) >= 3
    assert len(like("hammock", out) & (camping | {"pocket knife"})) >= 3


def test_text_nodes(show: Any) -> None:
    out = show("text_nodes.py")
    assert like("zipfile", out) & {"tarfile", "shutil", "gzip", "zipimport", "zipapp", "lzma", "bz2"}
    assert like("my_downloads", out) & {"urllib", "http", "socket", "ssl", "asyncio", "socketserver", "ftplib"}
    assert like("my_ledger", out) & {"decimal", "csv", "datetime", "fractions", "numbers", "statistics"}
    assert len(re.findall(r"made of: .*\d%", out)) == 2


def test_networkx_user(show: Any) -> None:
    out = show("networkx_user.py")
    assert "every node has a vector" in out
    met = [int(count) for count in re.findall(r"\((\d) of 5 appear", out)]
    assert len(met) == 4
    assert sum(met) >= 10


@pytest.mark.filterwarnings("ignore")  # PyG's own, of its own imports
def test_pyg_user(show: Any) -> None:
    out = show("pyg_user.py")
    (words,), (vectors,) = percent(r"by words  : ", out), percent(r"by vectors: ", out)
    assert vectors > 75
    assert vectors > words + 5


def test_no_attributes(show: Any) -> None:
    out = show("no_attributes.py")
    (vectors,), (shared,) = percent(r"without one: ", out), percent(r"shared neighbours: +", out)
    assert vectors > shared + 5
    assert re.search(r"new paper that cites \[\d+, \d+, \d+\] is near \[\d+", out)


def test_daily(show: Any) -> None:
    out = show("daily.py")
    shares = percent(r"day \d: 60 new papers, ", out)
    assert len(shares) == 5
    assert min(shares) > 60
    assert "all days: 2708 vectors in 6 files" in out


def test_nearest_neighbours(show: Any) -> None:
    out = show("nearest_neighbours.py")
    assert percent(r"HNSW finds ", out)[0] > 90
    assert re.search(r"^(\d+)% of them share the class of the new paper", out, re.M)
    assert float(re.findall(r"^(\d+)% of them", out, re.M)[0]) > 60


def test_arrivals(tmp_path: Path) -> None:
    save_graph(planted_graph(signal=1.0), tmp_path / "papers")
    out = run("arrivals.py", "papers", "--hide", 15, "--folder", "run", *SETS, cwd=tmp_path)
    lines = re.findall(r"^ *(\d+)  (p\d+): (\d+) links, uncertainty ([\d.]+), near (.*?)  (\d) of 5", out, re.M)
    assert [int(line[0]) for line in lines] == list(range(1, 16))
    assert sum(int(line[2]) for line in lines) > 15  # they come with links
    assert "15 papers added" in out
    share = int(re.findall(r"(\d+)% of the 5 nearest papers", out)[0])
    chance = int(re.findall(r"by chance (\d+)%", out)[0])
    assert share > chance + 20
    assert (tmp_path / "run" / "model.store").is_dir()


SECTIONS = {  # of a small distribution: words of the descriptions
    "games": "strategy game with levels and puzzles, multiplayer board and cards",
    "python": "Python 3 module to parse, test and package code with decorators",
    "science": "analysis of genomes, protein sequences and molecular simulation",
}


def write_available(path: Path, count: int) -> None:
    """Packages as `apt-cache dumpavail` prints them; each depends on others of its section."""
    kinds = list(SECTIONS.items())
    paragraphs = []
    for i in range(count):
        section, words = kinds[i % 3]
        needs = f"{section}-{(i + 3) % count} (>= 1.{i}), {section}-{(i + 6) % count} | nowhere:any, libc6"
        some = " ".join(word for j, word in enumerate(words.split()) if (i + j) % 4)
        paragraphs.append(
            f"Package: {section}-{i}\nVersion: 1.{i}\nSection: universe/{section}\nDepends: {needs}\n"
            f"Description: {some}\n more: {words}\n and {i}\n"
        )
    path.write_text("\n".join(paragraphs), encoding="utf-8")


def test_showcase(tmp_path: Path) -> None:
    write_available(tmp_path / "available", 240)
    out = run("showcase.py", "--available", "available", "--once", "--folder", "shown", cwd=tmp_path)
    nodes, edges, new = (
        int(found) for found in re.findall(r"^(\d+) packages, (\d+) dependencies; (\d+)", out, re.M)[0]
    )
    assert nodes + new == 240
    assert nodes < edges <= 2 * nodes  # to packages that are there, and not to libc6
    assert percent(r"predicted correctly for ", out)[0] > 80
    sent, right = map(int, re.findall(r"added (\d+) new packages to the server, which predicts (\d+)", out)[0])
    assert right > 0.8 * sent
    assert (tmp_path / "shown" / "map.png").stat().st_size > 10_000
    assert (tmp_path / "shown" / "model" / "graph").is_dir()


def test_showcase_says_what_it_needs(tmp_path: Path) -> None:
    write_available(tmp_path / "few", 20)
    for file, remedy in (("nothing", "apt-cache dumpavail > nothing"), ("few", "apt-get update")):
        command = [sys.executable, str(EXAMPLES / "showcase.py"), "--available", file]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert remedy in done.stderr
        assert done.stderr.count("\n") == 1
