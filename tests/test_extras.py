"""Without an extra: what needs it says how to install it, and everything else works."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from planted import TINY, planted_graph
from sanne.graph.folder.store import save_graph

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SETS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
FIT = ["fit", "papers", "--out"]
TEXTS = ["fit", "edges.csv", "--node-table", "nodes.csv", "--text", "t"]

# (package, as it is imported), the extra that has it, and a command that needs it
CASES: list[tuple[str, str, list[str]]] = [
    ("torch", "paper", [*FIT, "m", "--recipe", "paper"]),
    ("gensim", "text", [*TEXTS, "--recipe", "paper", "--out", "m"]),
    ("sentence_transformers", "encoders", [*TEXTS, "--text-encoder", "sentence-transformers:a/b", "--out", "m"]),
    ("model2vec", "encoders", [*TEXTS, "--text-encoder", "model2vec:a/b", "--out", "m"]),
    ("duckdb", "scale", ["build", "edges.csv", "--out", "graph"]),
    ("openpyxl", "excel", ["fit", "edges.xlsx", "--out", "m"]),
    ("matplotlib", "plot", ["plot", "model", "--out", "map.png"]),
    ("openTSNE", "plot", ["plot", "model", "--out", "map.png", "--method", "tsne"]),
    ("ray", "distributed", ["embed", "model", "--engine", "ray", "--out", "vectors"]),
    ("fastapi", "serve", ["serve", "model", "--port", "0"]),
    ("httptools", "serve", ["serve", "model", "--port", "0"]),
    ("orjson", "serve", ["serve", "model", "--port", "0"]),
    ("prometheus_client", "serve", ["serve", "model", "--port", "0"]),
    ("uvicorn", "serve", ["serve", "model", "--port", "0"]),
    ("faiss", "ann", ["export", "model", "--to", "faiss", "--out", "v.faiss"]),
]
OPTIONAL = sorted({package for package, _, _ in CASES} | {"pandas", "polars", "httpx", "sanne_lab", "torch_geometric"})
CORE = [
    [*FIT, "model", *SETS],
    ["embed", "model", "--out", "vectors.parquet", "--explain", "2"],
    ["similar", "model", "p7", "-k", "3"],
    ["evaluate", "model", "--task", "classify"],
    ["evaluate", "model", "--task", "communities"],
    ["export", "model", "--to", "word2vec", "--out", "vectors.txt"],
    ["data", "list"],
]
Outcome = tuple[int, str, str]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[list[Outcome]]:
    """What the core commands gave without any extra, then what each case gave without its package."""
    folder = tmp_path_factory.mktemp("extras")
    save_graph(planted_graph(), folder / "papers")
    (folder / "edges.csv").write_text("src,dst\na,b\nb,c\n", encoding="utf-8")
    (folder / "edges.xlsx").write_bytes(b"PK")
    (folder / "nodes.csv").write_text("id,t\na,one two\nb,two three\nc,three one\n", encoding="utf-8")
    entries = [{"missing": OPTIONAL, "commands": CORE}]
    entries += [{"missing": [package], "commands": [command]} for package, _, command in CASES]
    (folder / "entries.json").write_text(json.dumps(entries), encoding="utf-8")
    runner = [sys.executable, str(Path(__file__).with_name("without_extras.py")), "entries.json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(runner, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    found: list[list[Outcome]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("number", range(len(CORE)), ids=[" ".join(command[:4]) for command in CORE])
def test_the_core_needs_no_extra(number: int, outcomes: list[list[Outcome]]) -> None:
    code, _, errors = outcomes[0][number]
    assert code == 0, errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("number", "extra"), [(n, extra) for n, (_, extra, _) in enumerate(CASES, start=1)], ids=[c[0] for c in CASES]
)
def test_a_missing_extra_is_named(number: int, extra: str, outcomes: list[list[Outcome]]) -> None:
    ((code, _, errors),) = outcomes[number]
    assert code == 2, errors
    assert f"pip install 'sanne[{extra}]'" in errors
    assert "Traceback" not in errors
    assert errors.strip().splitlines()[-1].startswith("error: ")


def test_every_package_of_every_extra_is_tried() -> None:
    imported = {"faiss-cpu": "faiss"}
    tried = {(package, extra) for package, extra, _ in CASES}
    tried |= {("openTSNE", "serve")}  # without it the server goes on, and its page says what is missing
    tried |= {("gensim", "paper")}  # only features of text need it
    for extra, requirements in PROJECT["optional-dependencies"].items():
        if extra not in ("dev", "docs"):  # what the project itself is made with
            names = [re.split(r"[\[<>=]", requirement)[0] for requirement in requirements]
            assert {(imported.get(name, name.replace("-", "_")), extra) for name in names} <= tried, extra
