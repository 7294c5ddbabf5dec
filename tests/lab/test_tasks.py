"""The tasks beside the paper's tables, end to end on small planted graphs."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from fakes import GRAPH, SPLITS, Fake, Run, kept_in, run, small_cora

from planted import planted_graph, tiny_config
from sanne.config import RECIPES
from sanne.errors import InputError
from sanne.evaluate.splits import Splits
from sanne.graph.graph import Graph
from sanne_lab.experiments import blogcatalog, communities, data, links, neighbours, newcomers, spread
from sanne_lab.experiments.cells import Cell, Measured, cells_of
from sanne_lab.experiments.pool import Plan, fill
from sanne_lab.experiments.report import write_report

__all__ = ["run", "small_cora"]


def groups_graph() -> Graph:
    """A graph without attributes, whose nodes are in one or two of four groups."""
    graph = planted_graph(4, 30)
    assert graph.labels is not None
    marks = np.eye(4, dtype=bool)[graph.labels]
    marks[::10, 0] = True
    return Graph(graph.indptr, graph.indices, None, graph.node_ids, labels=sp.csr_matrix(marks.astype(np.int8)))


@pytest.fixture
def tiny(small_cora: Splits, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs by the names of the real ones, and a recipe `best` that is fitted in no time."""
    monkeypatch.setattr(data, "load_dataset", lambda name: groups_graph() if name == "blogcatalog" else GRAPH)
    monkeypatch.setitem(RECIPES, "best", tiny_config())


def test_held_out_pairs_are_told_apart_and_never_seen() -> None:
    held = links.hold_out(GRAPH, 0)
    every = np.concatenate([held.validation[0], held.test[0]])
    assert len(held.test[0]) == pytest.approx(0.10 * GRAPH.num_edges, abs=1)
    assert len(held.validation[0]) == pytest.approx(0.05 * GRAPH.num_edges, abs=1)
    assert len(np.unique(every, axis=0)) == len(every)
    assert held.graph.num_edges == GRAPH.num_edges - len(every)
    linked = GRAPH.adjacency("both").to_scipy().toarray() > 0
    left = held.graph.adjacency("both").to_scipy().toarray() > 0
    assert linked[tuple(every.T)].all()
    assert not left[tuple(every.T)].any()
    assert not linked[tuple(np.concatenate([held.validation[1], held.test[1]]).T)].any()


def test_links_are_run_once_and_tabulated(run: Run, tiny: None, tmp_path: Path) -> None:
    command = ("links", "--dataset", "cora", "--model", "sanne,smoothed")
    code, out, _ = run(*command)
    assert code == 0
    assert "| smoothed |" in out
    assert "| sanne-best |" in out
    kept = kept_in(tmp_path / "results", "links")
    assert set(kept) == {f"cora/{system}/{seed}" for system in ("sanne-best", "smoothed") for seed in (0, 1, 2)}
    part = kept["cora/smoothed/0"]["parts"]["test"]
    assert part["auc"] > 0.6  # groups link among themselves
    assert part["method"] in links.METHODS
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.jsonl")}
    code, out, err = run(*command, "--json")
    assert (code, err) == (0, "")
    assert [row["system"] for row in json.loads(out)["rows"]] == ["sanne-best", "smoothed"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.jsonl")} == before
    assert {path.suffix for path in (tmp_path / "results").glob("links.*")} == {".jsonl", ".md", ".tex", ".csv"}


def test_other_settings_of_a_recipe_are_run_again(run: Run, tiny: None, tmp_path: Path) -> None:
    command = ("communities", "--dataset", "cora", "--model", "sanne", "--seeds", "1")
    run(*command)
    (first,) = kept_in(tmp_path / "results", "communities").values()
    run(*command, "--set", "half_dim=4")
    (again,) = kept_in(tmp_path / "results", "communities").values()
    assert first["candidates"][0]["settings"]["features"]["half_dim"] == 8
    assert again["candidates"][0]["settings"]["features"]["half_dim"] == 4


def test_communities_of_a_planted_graph_are_found(run: Run, tiny: None, tmp_path: Path) -> None:
    code, out, _ = run("communities", "--dataset", "cora", "--model", "smoothed,fake")
    assert code == 0
    kept = kept_in(tmp_path / "results", "communities")
    right = kept["cora/fake/0"]["parts"]["all"]  # the fake knows the classes
    assert right["nmi"] == pytest.approx(1)
    assert right["ari"] == pytest.approx(1)
    assert 0.3 < kept["cora/smoothed/0"]["parts"]["all"]["nmi"] <= 1
    assert "**100.00**" in out or "100.00 ± 0.00" in out
    page = tmp_path / "page.md"
    page.write_text("<!-- other-tasks -->\n<!-- /other-tasks -->\n")
    assert write_report(page, tmp_path / "results") == ["other-tasks"]
    nmi = np.mean([100 * kept[f"cora/smoothed/{seed}"]["parts"]["all"]["nmi"] for seed in (0, 1, 2)])
    row = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("| communities of Cora"))
    assert row.split("|")[2:4] == ["  ", "  "]  # ours and 0.1 were not run
    assert f"**{nmi:.2f}**" in row


def test_groups_of_present_and_new_nodes(run: Run, tiny: None, tmp_path: Path) -> None:
    code, out, _ = run("blogcatalog", "--model", "sanne,smoothed")
    assert code == 0
    assert "New nodes" in out
    kept = kept_in(tmp_path / "results", "blogcatalog")
    present = kept["blogcatalog/present/sanne-best/0"]["parts"]
    assert set(present) == {f"{share:.0%}/{number}" for share in blogcatalog.SHARES for number in range(5)}
    scores = [
        kept[f"blogcatalog/new/{name}/{seed}"]["parts"]["new"] for name in ("sanne-best", "smoothed") for seed in (0, 1)
    ]
    assert np.mean([score["micro_f1"] for score in scores]) > 50  # chance is about 30
    assert {path.suffix for path in (tmp_path / "results").glob("blogcatalog.*")} == {".jsonl", ".md", ".tex", ".csv"}


def test_known_neighbours_leave_other_newcomers_out() -> None:
    graph = Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 4], node_ids=[0, 1, 2, 3, 4])
    assert newcomers.known_neighbours(graph, np.array([0, 2, 4])).tolist() == [1, 1, 1]
    assert newcomers.known_neighbours(graph, np.array([3, 4])).tolist() == [0, 0]


def test_newcomers_are_kept_one_by_one_and_serve_both_tables(
    run: Run, tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newcomers, "NUM_SPLITS", 2)
    cells = newcomers.make_cells(["sanne-best", "smoothed", "fake"], ["cora"])
    monkeypatch.setattr(Fake, "scores", [(1.0, 0.75)])  # a quarter of the first split's newcomers is wrong
    assert not fill(cells, tmp_path / "results", Plan())
    found = newcomers.load(tmp_path / "results")
    by_system = {results[0].system: results for results in found}
    fake = by_system["fake"][0]
    assert fake.correct.tolist() == [True] * 30 + [False] * 10
    assert (fake.known == newcomers.known_neighbours(GRAPH, SPLITS.test[0])).all()
    expected = [
        100 * fake.correct[group].mean() if group.any() else None
        for group in (fake.known == 0, fake.known == 1, fake.known == 2, fake.known >= 3)
    ]
    for (_, values), value in zip(neighbours.columns([fake]), expected, strict=False):
        assert values == ([] if value is None else [pytest.approx(value)])
    assert fake.spread is None
    ours = by_system["sanne-best"][0]
    assert ours.spread is None  # nothing is drawn at random
    assert ours.uncertainty is not None
    assert ((ours.uncertainty >= 0) & (ours.uncertainty < 1)).all()
    assert len(ours.uncertainty) == len(ours.correct) == 40
    assert spread.load(tmp_path / "results", "fast") == []
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("neighbours", "spread", "links")))
    assert write_report(page, tmp_path / "results") == ["links", "neighbours", "spread"]
    text = page.read_text("utf-8")
    assert "No results yet." in text  # links
    assert "| known neighbours |" in text
    assert "![Accuracy of newcomers" in text
    assert (tmp_path / "spread.png").read_bytes().startswith(b"\x89PNG")


def test_the_spread_command_draws_and_tabulates(run: Run, tiny: None, tmp_path: Path) -> None:
    code, out, err = run("spread", "--dataset", "cora")
    assert code == 0
    assert "| uncertainty |" in out
    assert "spread.svg" in err
    assert {path.name for path in (tmp_path / "results").glob("spread.*")} == {
        "spread.md", "spread.tex", "spread.csv", "spread.png", "spread.svg",
    }  # fmt: skip
    code, out, _ = run("neighbours", "--dataset", "cora", "--model", "sanne", "--json")
    (row,) = json.loads(out)["rows"]  # from the same files
    assert row["splits"] == 10


def test_one_command_fills_all_tables(run: Run, tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blogcatalog, "SEEDS", (0,))
    for module in (links, communities):
        one_seed = functools.partial(cells_of, module.NAME, module.measure, (0,))
        monkeypatch.setattr(module, "make_cells", one_seed)
    monkeypatch.setattr(newcomers, "NUM_SPLITS", 1)
    code, out, _ = run("tasks", "--model", "sanne")
    assert code == 0
    assert out.count("| sanne-best |") == 4 + 2 + 3 + 3  # datasets of links, kinds of nodes, datasets of the others
    assert {path.stem for path in (tmp_path / "results").glob("*.csv")} == {
        "links", "communities", "blogcatalog", "neighbours", "spread",
    }  # fmt: skip
    counts = {path.stem: len(kept_in(path.parent, path.stem)) for path in (tmp_path / "results").glob("*.jsonl")}
    assert counts == {"links": 4, "communities": 3, "blogcatalog": 2, "newcomers": 3}


def measured_by_candidate(system: Any, cell: Cell, numbers: Sequence[int]) -> list[Measured]:
    validation = {0: {"a": 0.5, "b": 0.9}, 1: {"a": 0.7, "b": 0.1}, 2: {"a": 0.6, "b": 0.2}}[system.candidate]
    parts = {name: {"val": val, "score": system.candidate} for name, val in validation.items()}
    return [Measured(1.0, parts) for _ in numbers]


def test_every_part_keeps_its_best_candidate_and_a_search_goes_on_where_it_ended(
    tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "scores", [(1.0, 1.0)] * 3)
    cell = Cell("links", "fake", "fake", "cora", measured_by_candidate, (0,))

    def kept() -> tuple[int, dict[str, Any]]:
        (found,) = kept_in(tmp_path, "links").values()
        settings = [candidate["settings"]["candidate"] for candidate in found["candidates"]]
        return found["tried"], {name: settings[part["candidate"]] for name, part in found["parts"].items()}

    assert not fill([cell], tmp_path, Plan())
    assert kept() == (1, {"a": 0, "b": 0})
    assert not fill([cell], tmp_path, Plan())  # without a budget nothing is searched
    assert kept()[0] == 1
    assert not fill([cell], tmp_path, Plan(budget=1e-9))  # one more candidate, then the time is over
    assert kept() == (2, {"a": 1, "b": 0})
    assert not fill([cell], tmp_path, Plan(budget=10))
    assert kept() == (3, {"a": 1, "b": 0})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("links", "--dataset", "karate"), "choose from cora, citeseer, pubmed, ca-astroph"),
        (("communities", "--model", "nope"), "unknown system 'nope'"),
        (("links", "--dataset", "cora", "--model", "gcn"), "gives classes, not vectors"),
        (("blogcatalog", "--model", "gcn"), "no place in this table"),
    ],
)
def test_wrong_words_end_in_code_2(arguments: tuple[str, ...], words: str, run: Run, tiny: None) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert words in err
    assert out == ""


def test_a_graph_with_too_few_edges_cannot_be_held_out() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], node_ids=range(20))
    with pytest.raises(InputError):
        links.hold_out(graph, 0)
