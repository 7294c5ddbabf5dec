"""Every code block of the documentation that can run does run.

`make test` runs the quick pages; `make docs` also runs those that train on larger graphs or start a server. Pages run
in the folder that the first ten minutes leave behind, README in one with the files it names.
SANNE_START_PICTURES names a folder for the maps on the first page.
"""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from blocks import RUN, SHOWN, blocks_of
from run_page import PageRun

from planted import planted_graph

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIRST = DOCS / "start.md"
PAGES = {str(page.relative_to(ROOT)): page for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
WITH_BLOCKS = [name for name, page in PAGES.items() if page != FIRST and any(block.runs for block in blocks_of(page))]
ELSEWHERE = {"docs/export.md": "tests/vectors/test_export.py"}
SLOW = {
    "README.md": "two fits with the recipe best",
    "docs/serve.md": "a fit of Cora with the recipe best, and a server",
    "docs/how-to/seeds.md": "two fits of Cora",
}
PICTURES = os.environ.get("SANNE_START_PICTURES")
AT_MOST = 12  # blocks of commands or Python that are not run, in all pages


@pytest.fixture(scope="module")
def after_first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the first page leaves behind."""
    folder = tmp_path_factory.mktemp("start") / "folder"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch, PageRun(FIRST, folder) as page:
        patch.chdir(folder)
        patch.delenv("SANNE_DATA", raising=False)  # users have Cora as it comes
        assert page.run() >= 5
    if PICTURES:
        for name in ("map.png", "map2.png"):
            shutil.copy(folder / name, Path(PICTURES) / f"start-{name}")
    return folder


@pytest.fixture
def readme_folder(tmp_path: Path) -> Path:
    """The tables that README names: papers with abstracts, and larger tables with two papers more."""
    folder = tmp_path / "folder"
    folder.mkdir()
    graph = planted_graph(ids="paper-")
    assert graph.labels is not None
    topics = ("graphs walks nodes edges", "proteins cells folding genes", "markets prices trade money")
    rows = [f"{node},{topics[label]} {node}" for node, label in zip(graph.node_ids, graph.labels, strict=True)]
    arcs = np.stack([np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)), graph.indices], axis=1)
    edges = [f"paper-{a},paper-{b}" for a, b in arcs.tolist() if a < b]
    new = [f"paper-900{i},{topics[i]}" for i in (1, 2)]
    links = [f"paper-900{i},paper-{40 * i + j}" for i in (1, 2) for j in range(3)]

    def write(name: str, *lines: str) -> None:
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    write("nodes.csv", "id,abstract", *rows)
    write("edges.csv", "src,dst", *edges)
    write("bigger_nodes.csv", "id,abstract", *rows, *new)
    write("bigger.csv", "src,dst", *edges, *links)
    write("new.txt", "paper-9001", "paper-9002")
    write("labels.csv", "id,label", *(f"paper-{i},{label}" for i, label in enumerate(graph.labels)))
    return folder


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.node.callspec.params["name"] == "README.md":
        place: Path = request.getfixturevalue("readme_folder")
    else:
        place = tmp_path / "folder"
        shutil.copytree(request.getfixturevalue("after_first"), place)
    monkeypatch.chdir(place)
    monkeypatch.delenv("SANNE_DATA", raising=False)
    return place


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in WITH_BLOCKS
        if name not in ELSEWHERE
    ],
)
def test_blocks_run(name: str, folder: Path) -> None:
    with PageRun(PAGES[name], folder) as page:
        assert page.run() > 0


def test_what_the_first_page_says(after_first: Path) -> None:
    """The topics of similar nodes, the explanation of the new node, and that both vectors have an uncertainty."""
    from sanne import SANNE, load_graph

    model = SANNE.load(after_first / "model")
    rows = csv.DictReader((after_first / "nodes.csv").read_text(encoding="utf-8").splitlines())
    topic = {row["id"]: row["label"] for row in rows}
    assert [topic[node] for node, _ in model.similar("pulsar", 3)] == ["stars"] * 3
    graph = load_graph(after_first / "edges2.csv", node_table=after_first / "nodes2.csv", text="abstract")
    found = model.embed(graph, ["mead", "pulsar"], explain=3)
    assert found.explanation is not None
    drawn_on = [node for node, _ in found.explanation[0]]
    assert drawn_on[0] == "mead"
    assert {"honey", "yeast"} & set(drawn_on)
    assert ((found.uncertainty > 0) & (found.uncertainty < 1)).all()
    assert (after_first / "map2.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_every_block_says_what_it_is(name: str) -> None:
    for block in blocks_of(PAGES[name]):
        known = block.language in (*RUN, *SHOWN)
        assert known, f"{name}:{block.line}: name the language; text for what is only shown"
        assert not block.mark or len(block.reason) > 10, f"{name}:{block.line}: say why it is not run"


def test_few_blocks_are_left_out() -> None:
    left_out = {
        f"{name}:{block.line}": block.reason
        for name, page in PAGES.items()
        for block in blocks_of(page)
        if block.language in RUN and not block.runs
    }
    assert len(left_out) <= AT_MOST, left_out


def test_a_wrong_block_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("```python\nassert 1 == 2\n```", "```bash\nsanne fit nothing.csv --out m\n```", "```bash\nfalse\n```"):
        page = tmp_path / "page.md"
        page.write_text(f"# Page\n\n{text}\n")
        with PageRun(page, tmp_path) as run, pytest.raises(Exception, match=r".") as caught:
            run.run()
        assert "page.md:4" in caught.value.__notes__[0]
    page.write_text("# Page\n\n<!-- not run: it would take a year or two -->\n```bash\nfalse\n```\n")
    with PageRun(page, tmp_path) as run:
        assert run.run() == 0
