"""Judging a model on a user's graph: splits, baselines, classes, newcomers; and several systems beside each other."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from planted import TINY, accuracy, planted_graph
from sanne import SANNE, Graph
from sanne.config import RECIPES, Config
from sanne.errors import InputError
from sanne.evaluate.baselines import deepwalk, own_features, smoothed_features
from sanne.evaluate.node_classification import ClassTask
from sanne.graph.split import hide_nodes
from sanne.judge import judge_classes

GRAPH = planted_graph(signal=0.7)
NAMES = np.array(["bread", "bees", "stars"], object)[np.asarray(GRAPH.labels)]
BASELINES = ["smoothed features", "own features", "commonest class"]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: edges, features, labels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    sources = np.repeat(np.arange(GRAPH.num_nodes), np.diff(GRAPH.indptr))
    edges = pd.DataFrame({"src": GRAPH.node_ids[sources], "dst": GRAPH.node_ids[GRAPH.indices]})
    edges.to_csv("edges.csv", index=False)
    nodes = pd.DataFrame(GRAPH.features, columns=[f"f{i}" for i in range(12)])
    nodes.insert(0, "id", GRAPH.node_ids)
    nodes.to_csv("nodes.csv", index=False)
    pd.DataFrame({"id": GRAPH.node_ids, "topic": NAMES}).to_csv("topics.csv", index=False)
    for recipe in ("fast", "best"):
        monkeypatch.setitem(RECIPES, recipe, Config().replace(**TINY))
    return tmp_path


@pytest.fixture
def model(place: Path, run: Run) -> Path:
    assert run("fit", "edges.csv", "--node-table", "nodes.csv", "--out", "model")[0] == 0
    return place / "model"


LABELS = ("--labels", "topics.csv", "--label", "topic")


# evaluate


def test_all_figures_of_a_model_and_the_baselines_beside_it(model: Path, run: Run) -> None:
    code, out, err = run("evaluate", "model", *LABELS, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["metric"] == "accuracy, %"
    assert (found["num_classes"], found["num_splits"], found["train"]) == (3, 10, 60)
    assert found["train"] + found["val"] + found["test"] == 120
    assert list(found["baselines"]) == BASELINES
    assert found["baselines"]["commonest class"]["mean"] < 50 < found["baselines"]["own features"]["mean"]
    assert found["baselines"]["smoothed features"]["mean"] > found["baselines"]["own features"]["mean"]
    counts = np.array(found["confusion"]["counts"])
    assert counts.sum() == 10 * found["test"]
    assert 100 * counts.trace() / counts.sum() == pytest.approx(found["mean"], abs=0.01)
    for row in found["classes"]:
        k = found["confusion"]["labels"].index(row["label"])
        assert row["nodes"] == 40
        assert row["recall"] == pytest.approx(100 * counts[k, k] / counts[k].sum(), abs=0.01)
        assert row["precision"] == pytest.approx(100 * counts[k, k] / counts[:, k].sum(), abs=0.01)


def test_people_read_a_table_of_systems_and_one_of_classes(model: Path, run: Run) -> None:
    code, out, err = run("evaluate", "model", *LABELS)
    assert code == 0, err
    for word in ("sanne", "±", "mean of 10 splits", "precision", "recall", "bread", "bees", "stars", *BASELINES):
        assert word in out
    assert "3 classes; a split has 60 labelled nodes to train on" in err


def test_the_picture_shows_as_many_classes_as_fit_on_it(model: Path, run: Run) -> None:
    assert run("evaluate", "model", *LABELS, "--plot", "confusion.png")[0] == 0
    assert Path("confusion.png").read_bytes().startswith(b"\x89PNG")
    from sanne.draw.image import plot_confusion

    plot_confusion(np.eye(60, dtype=int), [f"class {i}" for i in range(60)], Path("many.svg"))
    words = Path("many.svg").read_text(encoding="utf-8")
    assert "class 28" in words
    assert "class 29" not in words
    assert "31 others" in words


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_share_of_every_class_is_trained_on(share: float) -> None:
    labels = np.repeat(["a", "b", "c"], [100, 60, 20])
    task = ClassTask.of(labels, share=share)
    sizes = [np.bincount(task.codes[part], minlength=3).tolist() for part in task.splits.train]
    assert sizes == [[round(share * size) for size in (100, 60, 20)]] * 10
    described = task.described()
    assert described["train"] + described["val"] + described["test"] == 180
    assert abs(described["val"] - min(share, (1 - share) / 2) * 180) <= 1


def test_a_share_that_is_hardly_one_node_a_class_leaves_one_to_choose_by() -> None:
    sizes = ClassTask.of(np.arange(550) % 5, share=0.001).described()
    assert (sizes["train"], sizes["val"], sizes["test"]) == (5, 1, 544)


def test_newcomers_are_seen_by_nothing_that_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SANNE("fast", settings=TINY).fit(GRAPH)
    fitted: list[Graph] = []
    fit = SANNE.fit
    monkeypatch.setattr(SANNE, "fit", lambda self, graph: fitted.append(graph) or fit(self, graph))
    parts: list[tuple[Any, ...]] = []
    from sanne.evaluate import node_classification

    split = node_classification.classify_split
    monkeypatch.setattr(node_classification, "classify_split", lambda *given: parts.append(given[2:]) or split(*given))
    found = judge_classes(model, GRAPH, NAMES, newcomers=True)
    assert found["nodes"] == "newcomers"
    assert found["test"] == 12
    hidden = np.flatnonzero(~np.isin(GRAPH.node_ids, fitted[0].node_ids))
    assert len(hidden) == 12
    for train, val, test in parts:
        assert np.array_equal(np.sort(test), hidden)
        assert not np.isin(hidden, [*train, *val]).any()
    assert list(found["baselines"]) == BASELINES


def test_baselines_of_present_nodes_do_not_change_when_others_arrive() -> None:
    new = np.arange(0, 120, 5)
    before = hide_nodes(GRAPH, new)
    present = np.setdiff1d(np.arange(120), new)
    for vectors in (own_features, smoothed_features):
        np.testing.assert_array_equal(vectors(before, GRAPH, 0)[present], vectors(before, before, 0))
    arrived = smoothed_features(before, GRAPH, 0)
    assert accuracy(arrived, np.asarray(GRAPH.labels), present, new) > 0.7


def test_a_class_with_one_node_is_left_out_and_named(model: Path, run: Run) -> None:
    table = pd.read_csv("topics.csv")
    table.loc[0, "topic"] = "alone"
    table.to_csv("topics.csv", index=False)
    code, out, err = run("evaluate", "model", *LABELS)
    assert code == 0, err
    assert "not learnt, since a single node has them: 'alone'" in err
    assert "alone" in out


def test_a_model_that_does_not_know_its_graph_asks_for_it(model: Path, run: Run) -> None:
    SANNE.load("model").save("copied")
    header = json.loads(Path("copied/config.json").read_text(encoding="utf-8"))
    del header["record"]["source"]
    Path("copied/config.json").write_text(json.dumps(header), encoding="utf-8")
    code, out, err = run("evaluate", "copied", *LABELS)
    assert code == 0, err
    assert "name it with --graph" in err
    assert "smoothed" not in out
    graph = ("--graph", "edges.csv", "--node-table", "nodes.csv")
    assert "smoothed" in run("evaluate", "copied", *LABELS, *graph)[1]
    code, _, err = run("evaluate", "copied", *LABELS, "--newcomers")
    assert (code, "--graph" in err) == (2, True)


MISTAKES = {
    "no labels": (("evaluate", "model"), "by --labels"),
    "no such column": (("evaluate", "model", "--labels", "topics.csv", "--label", "topc"), "did you mean 'topic'?"),
    "a column of no table": (("evaluate", "model", "--label", "topic"), "give --labels"),
    "a share of nothing": (("evaluate", "model", *LABELS, "--label-share", "0"), "--label-share"),
    "newcomers of links": (("evaluate", "model", "--task", "links", "--newcomers"), "leave them or --task links out"),
    "bad picture": (("evaluate", "model", *LABELS, "--plot", "x.jpeg"), "use one of .png, .svg, .pdf"),
    "nothing to compare by": (("compare", "edges.csv", "--node-table", "nodes.csv"), "by --labels"),
    "labels of other nodes": (("compare", "edges.csv", "--labels", "others.csv"), "none of its ids is in the model"),
    "a class per node": (
        ("compare", "edges.csv", "--labels", "each.csv"),
        "but these have a single one: 'a', 'b'; label more nodes",
    ),
    "one label": (("evaluate", "model", "--labels", "one.csv"), "all labels are 'a'; label more nodes"),
    "no label": (("evaluate", "model", "--labels", "none.csv"), "no node has a label"),
    "communities of how many": (("evaluate", "model", "--task", "communities"), "give num_communities (--communities)"),
    "communities of links": (("evaluate", "model", "--task", "links", "--communities", 3), "for --task communities"),
    "a fraction of no links": (("evaluate", "model", *LABELS, "--fraction", 0.3), "for --task links"),
    "hardly a label": (("compare", "edges.csv", "--labels", "few.csv", "--label-share", 0.9), "label more nodes"),
    "a model to replace": (("fit", "edges.csv", "--out", "model"), "--force"),
    "vectors of another model": (("similar", "model", "p1", "--vectors", "short.csv"), "embed the nodes with it"),
    "no vectors": (("similar", "model", "p1", "--vectors", "none.parquet"), "none.parquet"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_with_a_remedy(name: str, model: Path, run: Run) -> None:
    Path("others.csv").write_text("id,label\nx,a\ny,b\n", encoding="utf-8")
    Path("each.csv").write_text("id,label\np1,a\np2,b\n", encoding="utf-8")
    Path("few.csv").write_text("id,label\np1,a\np2,b\np3,a\np4,b\n", encoding="utf-8")
    Path("one.csv").write_text("id,label\np1,a\n", encoding="utf-8")
    Path("none.csv").write_text("id,label\np1,\n", encoding="utf-8")
    Path("short.csv").write_text("id,e0,e1\nnew,1.0,2.0\n", encoding="utf-8")
    arguments, remedy = MISTAKES[name]
    code, out, err = run(*arguments)
    assert (code, out) == (2, ""), err
    assert remedy in " ".join(err.split())
    assert "Traceback" not in err


def test_several_labels_a_node_are_refused() -> None:
    with pytest.raises(InputError, match="sanne predict takes several"):
        ClassTask.of(np.zeros((5, 2)))


# compare


def test_systems_are_compared_on_the_same_splits_with_times(place: Path, run: Run) -> None:
    code, out, err = run("compare", "edges.csv", "--node-table", "nodes.csv", *LABELS, "--json")
    assert code == 0, err
    rows = {row["system"]: row for row in json.loads(out)["systems"]}
    assert list(rows) == [
        *("commonest class", "own features", "smoothed features", "DeepWalk", "sanne fast", "sanne best")
    ]
    assert all(row["mean"] > rows["commonest class"]["mean"] for name, row in rows.items() if name != "commonest class")
    assert all(row["seconds"] >= 0 for row in rows.values())
    assert rows["smoothed features"]["mean"] > rows["own features"]["mean"]


def test_without_gensim_the_row_of_deepwalk_says_how_to_get_it(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    code, out, err = run("compare", "edges.csv", "--node-table", "nodes.csv", *LABELS)
    assert code == 0, err
    assert "pip install 'sanne[text]'" in " ".join(out.split())
    assert "sanne best" in out


def test_deepwalk_finds_groups_from_links_alone() -> None:
    lonely = Graph.from_edges(
        *(np.repeat(np.arange(120), np.diff(GRAPH.indptr)), GRAPH.indices), node_ids=np.arange(121), directed=False
    )
    vectors = deepwalk(lonely, 0)
    labels = np.append(np.asarray(GRAPH.labels), 0)
    assert accuracy(vectors[:120], labels[:120], np.arange(0, 120, 2), np.arange(1, 120, 2)) > 0.8
    np.testing.assert_allclose(vectors[120], vectors[:120].mean(axis=0), atol=1e-4)
    np.testing.assert_array_equal(deepwalk(lonely, 0), vectors)


# fit into a folder that has a model, newcomers in a file


def test_a_model_is_replaced_with_force_or_after_a_yes(model: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = ("fit", "edges.csv", "--node-table", "nodes.csv", "--out", "model", "--seed")
    assert run(*fit, 1, "--force")[0] == 0
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    for answer, code, seed in ((False, 2, 1), (True, 0, 2)):
        monkeypatch.setattr("typer.confirm", lambda *_, answer=answer, **__: answer)
        assert run(*fit, 2)[0] == code
        assert json.loads((model / "config.json").read_text(encoding="utf-8"))["seed"] == seed


def test_similar_knows_newcomers_of_a_vectors_file(model: Path, run: Run) -> None:
    Path("new.txt").write_text("p3\n", encoding="utf-8")
    assert run("embed", "model", "--nodes", "new.txt", "--out", "new.csv")[0] == 0
    renamed = Path("new.csv").read_text(encoding="utf-8").replace("p3", "newcomer")
    Path("new.csv").write_text(renamed, encoding="utf-8")
    code, out, err = run("similar", "model", "newcomer", "--vectors", "new.csv", "-k", 3, "--json")
    assert code == 0, err
    assert json.loads(out)["similar"][0]["id"] == "p3"
    code, _, err = run("similar", "model", "stranger", "--vectors", "new.csv")
    assert (code, "'stranger'" in err, "--graph" in err) == (2, True, True)
