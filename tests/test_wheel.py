"""The wheel: what is in it, and that it runs outside the checkout.

Here it is built with the tools of this environment and put in a virtual environment that borrows its dependencies.
`make wheel` (SANNE_WHEEL=full) builds it as `python -m build` does for a release, into dist/, installs it under
constraints.txt in an empty environment, dependencies and all, and looks whether every extra can be had alone.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FULL = os.environ.get("SANNE_WHEEL") == "full"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SETS = [
    "threads=1",
    "epochs=1",
    "steps_per_epoch=3",
    "encoder_dim=16",
    "num_heads=2",
    "hidden_splits=1",
    "half_dim=8",
]


def attempt(command: Sequence[Any], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where nothing points to the checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SANNE"))}
    environment |= {"OMP_NUM_THREADS": "1"}
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def run(command: Sequence[Any], cwd: Path) -> str:
    """The output of a command that must succeed."""
    done = attempt(command, cwd)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive, built from a copy of the checkout, so that no leftovers get in."""
    out = ROOT / "dist" if FULL else tmp_path_factory.mktemp("dist")
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("src", "research", "tests", "examples"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    run([sys.executable, "-m", "build", *([] if FULL else ["--no-isolation"]), "--outdir", out, copy], copy)
    name = f"sanne-{PROJECT['version']}"
    return out / f"{name}-py3-none-any.whl", out / f"{name}.tar.gz"


def test_the_wheel_holds_the_package_and_nothing_else(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[0]) as wheel:
        names = set(wheel.namelist())
        info = f"sanne-{PROJECT['version']}.dist-info"
        metadata = wheel.read(f"{info}/METADATA").decode()
    assert {PurePosixPath(name).parts[0] for name in names} == {"sanne", info}
    source = ROOT / "src"
    files = [path for path in (source / "sanne").rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    assert {path.relative_to(source).as_posix() for path in files} == {n for n in names if n.startswith("sanne/")}
    assert {"sanne/py.typed", "sanne/draw/web/index.html", "sanne/draw/web/main.js"} <= names
    assert f"{info}/licenses/LICENSE" in names
    assert "License-Expression: Apache-2.0" in metadata
    for extra in PROJECT["optional-dependencies"]:
        assert f"Provides-Extra: {extra}\n" in metadata


def test_the_source_archive_can_be_built_and_tested(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as archive:
        names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    expected = {"pyproject.toml", "constraints.txt", "LICENSE", "Makefile", "CHANGELOG.md", "src/sanne/py.typed"}
    expected |= {"research/pyproject.toml", "research/sanne_lab/py.typed"}
    assert expected | {"tests/planted.py", "tests/browser.py", "examples/own_csv.py"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.fixture(scope="module")
def installed(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that has the wheel."""
    place = tmp_path_factory.mktemp("environment")
    python = place / "bin" / "python"
    if FULL:
        run([sys.executable, "-m", "venv", place], place)
        run([python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", archives[0]], place)
    else:
        run([sys.executable, "-m", "venv", "--without-pip", place], place)
        (packages,) = place.glob("lib/python*/site-packages")
        # A path in a .pth file is searched, but .pth files there are not read: an editable sanne stays out.
        (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", python]
        run([*pip, "install", "-q", "--no-deps", "--no-index", archives[0]], place)
    return place / "bin"


def test_it_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    sanne = installed / "sanne"
    where = run([installed / "python", "-c", "import sanne; print(sanne.__file__)"], tmp_path).strip()
    assert Path(where).is_relative_to(installed.parent)
    assert run([sanne, "--version"], tmp_path) == f"sanne {PROJECT['version']}\n"
    rows = [f"n{a},n{(a + step) % 30}\n" for a in range(30) for step in (3, 6)]
    (tmp_path / "edges.csv").write_text("src,dst\n" + "".join(rows), encoding="utf-8")
    sets = [part for pair in SETS for part in ("--set", pair)]
    fitted = json.loads(run([sanne, "fit", "edges.csv", "--out", "model", "--json", *sets], tmp_path))
    assert fitted["nodes"] == 30
    if FULL:
        run([sanne, "embed", "model", "--out", "vectors.parquet"], tmp_path)
        assert (tmp_path / "vectors.parquet").is_file()
        run([sanne, "evaluate", "model", "--task", "links"], tmp_path)
    near = json.loads(run([sanne, "similar", "model", "n7", "-k", "3", "--json"], tmp_path))
    assert len(near["similar"]) == 3


@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "table2", "--help"], ["bench", "walks", "--json"]])
def test_commands_of_the_research_package_say_how_to_get_it(installed: Path, words: list[str], tmp_path: Path) -> None:
    done = attempt([installed / "sanne", *words], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: sanne {words[0]} is in the research package sanne_lab")
    assert done.stderr.count("\n") == 1
    assert "reproduce" not in run([installed / "sanne", "--help"], tmp_path)


USER_SCRIPT = """
from typing import assert_type

import numpy as np
import numpy.typing as npt

from sanne import SANNE, Graph, SanneError, __version__, load_graph

graph = load_graph("edges.csv", node_table="nodes.csv", text="abstract")
assert_type(graph, Graph)
try:
    model = SANNE("fast", settings={"epochs": 3}, random_state=0).fit(graph)
except SanneError as error:
    raise SystemExit(f"sanne {__version__}: {error}") from None
assert_type(model, SANNE)
assert_type(model.transform(graph, nodes=["a"]), npt.NDArray[np.float32])
uncertainty: npt.NDArray[np.float32] = model.embed(graph, ["a"], explain=3).uncertainty
for node, cosine in model.similar("a", k=5):
    assert_type(cosine, float)
SANNE(7)  # not the name of a recipe
"""


def test_a_strict_user_gets_types(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(USER_SCRIPT, encoding="utf-8")
    if not FULL:  # all of torch would be read for nothing: the script names no type of its
        config = "[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n"
        (tmp_path / "mypy.ini").write_text(config, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "python", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert 'Argument 1 to "SANNE" has incompatible type "int"; expected "str"' in errors[0]


@pytest.mark.slow  # asks the package index
@pytest.mark.parametrize("extra", [name for name in PROJECT["optional-dependencies"] if name != "dev"])
def test_every_extra_can_be_had_alone(extra: str, installed: Path, archives: tuple[Path, Path], tmp_path: Path) -> None:
    wanted = f"sanne[{extra}] @ {archives[0].as_uri()}"
    report = tmp_path / "report.json"
    pip = [installed / "python", "-m", "pip", "install", "-q", "--dry-run", "--report", report]
    run([*pip, "-c", ROOT / "constraints.txt", wanted], tmp_path)
    found = {item["metadata"]["name"].lower() for item in json.loads(report.read_text(encoding="utf-8"))["install"]}
    named = {requirement.split(">")[0].split("[")[0].lower() for requirement in PROJECT["optional-dependencies"][extra]}
    assert {name.replace("_", "-") for name in found} >= {name.replace("_", "-") for name in named}
