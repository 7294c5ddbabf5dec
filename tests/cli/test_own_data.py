"""A data scientist's own tables: names of columns, kinds of edges, unknown nodes, and what is read of them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sanne import SANNE
from sanne.vectors.formats import read_vectors, write_vectors

Run = Callable[..., tuple[int, str, str]]

TOPICS = ("graph walks nodes edges", "protein cells folding genes", "market prices trade money")
OWN = ["fit", "links.csv.gz", "--node-table", "packages.csv", "--id", "package"]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages in three sections, links of two kinds in a compressed file, and two links to a package without a row."""
    rows = [(f"p{i}", f"s{i % 3}", f"the {TOPICS[i % 3]} of number {i}", i) for i in range(36)]
    names = "package,section,about,size"
    lines = "".join("{},{},{},{}\n".format(*row) for row in rows)
    (tmp_path / "packages.csv").write_text(f"{names}\n{lines}", encoding="utf-8")
    links = [f"p{i},p{(i + step) % 36},{kind}" for i in range(36) for step, kind in ((3, "Depends"), (6, "Suggests"))]
    links += ["p0,virtual,Depends", "p3,virtual,Depends"]
    packed = gzip.compress(("from,to,kind\n" + "\n".join(links) + "\n").encode())
    (tmp_path / "links.csv.gz").write_bytes(packed)
    (tmp_path / "classes.csv").write_text("package,section\n" + "".join(f"{a},{b}\n" for a, b, _, _ in rows), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fit_says_what_it_reads_and_newcomers_are_read_in_the_same_way(
    own: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    code, _, err = run(*OWN, "--out", "m", "--unknown", "drop", "--kind", "kind", "--kind-weight", "suggests=0.5")
    assert code == 0, err
    assert "packages.csv: ids from package; text from about; not read: section, size" in caplog.text
    assert "1 ids have no row in" in caplog.text
    table = (own / "packages.csv").read_text(encoding="utf-8")
    (own / "later.csv").write_text(table + "new,s0,graph,1\n", encoding="utf-8")  # a text, though a short one
    (own / "later_links.csv").write_text("from,to,kind\nnew,p0,Depends\nnew,p3,Suggests\n", encoding="utf-8")
    (own / "asked.csv").write_text("id,why\nnew,late\np1,early\n", encoding="utf-8")
    options = ["--graph", "later_links.csv", "--node-table", "later.csv", "--nodes", "asked.csv"]
    code, _, err = run("embed", "m", *options, "--out", "v.parquet")
    assert code == 0, err
    assert read_vectors(own / "v.parquet").node_ids.tolist() == ["new", "p1"]
    recorded = json.loads((own / "m" / "config.json").read_text(encoding="utf-8"))["record"]["source"]
    assert (recorded["text"], recorded["kind_weights"]) == (["about"], {"suggests": 0.5})


def test_labels_by_the_names_of_their_columns(own: Path, run: Run) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "add")[0] == 0
    named = ["--labels", "classes.csv", "--id", "package", "--label", "section"]
    code, out, err = run("evaluate", "m", *named, "--label-share", "0.3", "--json")
    assert code == 0, err
    assert json.loads(out)["mean"] > 80
    code, _, err = run("predict", "m", *named, "--out", "p.csv")
    assert code == 0, err
    code, _, err = run("plot", "m", *named, "--out", "map.html", "--method", "pca", "--color", "label")
    assert code == 0, err
    for command in (["embed", "m"], ["predict", "m", *named[:2], "--label", "section"]):
        code, _, err = run(*command, "--nodes", "classes.csv", "--id", "package", "--out", "some.parquet")
        assert code == 0, err
    code, out, err = run("compare", *OWN[1:], *named[:2], "--label", "section", "--unknown", "drop", "--json")
    assert code == 0, err
    systems = {row["system"]: row for row in json.loads(out)["systems"]}
    assert {"commonest class", "own features", "smoothed features", "DeepWalk", "sanne best"} <= set(systems)


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (["plot", "m", "--out", "map.html", "--label", "section"], "give --labels labels.csv"),
        (["plot", "m", "--out", "map.html", "--labels", "classes.csv", "--id", "packge"], "did you mean 'package'?"),
        (["plot", "m", "--out", "map.html", "--labels", "classes.csv", "--id", "package"], "another with --label"),
        (["embed", "m", "--out", "v.npy", "--id", "package"], "give --nodes nodes.csv"),
        (["embed", "m", "--out", "v.npy", "--id", "package", "--nodes", "ids.txt"], "give --nodes nodes.csv"),
        (["embed", "m", "--out", "v.npy", "--nodes", "classes.csv"], "Name another with --id"),
        (["embed", "m", "--out", "v.npy", "--nodes", "classes.csv", "--id", "packge"], "did you mean 'package'?"),
    ],
)
def test_columns_of_labels_and_lists_that_are_not_there(own: Path, run: Run, command: list[str], remedy: str) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "add", "--recipe", "fast")[0] == 0
    code, _, err = run(*command)
    assert code == 2
    assert remedy in err


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--out", "v.csv", "--explain", "3"], "give a .parquet file"),
        (["--out", "v.parquet", "--workers", "4"], "give --engine ray"),
        (["--out", "v.parquet", "--address", "here"], "give --engine ray"),
        (["--out", "v.parquet", "--graph", "more.csv"], "name another with --node-table"),
    ],
)
def test_options_that_would_do_nothing_are_refused(own: Path, run: Run, options: list[str], remedy: str) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop", "--recipe", "fast")[0] == 0
    config = own / "m" / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace('"drop"', "null"), encoding="utf-8")
    (own / "more.csv").write_text("from,to\nnew,p0\n", encoding="utf-8")
    code, _, err = run("embed", "m", *options)
    assert (code, remedy in err) == (2, True), err
    assert not list(own.glob("v.*"))


def test_a_map_is_coloured_by_labels_under_the_name_of_their_column(own: Path, run: Run) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop", "--label", "section", "--recipe", "fast")[0] == 0
    named = ["--labels", "classes.csv", "--id", "package", "--label", "section"]
    for labels in ([], named):
        code, _, err = run("plot", "m", "--out", "map.html", "--method", "pca", "--color", "section", *labels)
        assert code == 0, err


def test_an_id_in_another_case_is_asked_about(own: Path, run: Run) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop", "--recipe", "fast")[0] == 0
    code, _, err = run("similar", "m", "P17")
    assert (code, "--graph" in err, "did you mean 'p17'?" in err) == (2, True, True), err


def test_resuming_where_nothing_was_interrupted_says_so(own: Path, run: Run) -> None:
    for recipe in ("fast", "best"):
        code, _, err = run(*OWN, "--out", "m", "--unknown", "drop", "--recipe", recipe, "--resume", "--force")
        assert (code, "only the recipe paper writes checkpoints" in err, "unfinished" in err) == (0, True, False), err


def test_a_fitted_node_without_links_says_so(own: Path, run: Run) -> None:
    with (own / "packages.csv").open("a", encoding="utf-8") as table:
        table.write("alone,s0,the graph of nobody,1\n")
    assert run(*OWN, "--out", "m", "--unknown", "add", "--recipe", "fast")[0] == 0
    assert "1 node has no links" in run("similar", "m", "alone")[2]
    assert "no links" not in run("similar", "m", "p1")[2]
    (own / "links.csv.gz").unlink()  # then nobody can tell
    for node, has_links in (("alone", None), ("p1", None)):
        code, out, err = run("similar", "m", node, "--json")
        assert (code, json.loads(out)["has_links"]) == (0, has_links), err


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--src", "frm"], "did you mean 'from'?"),
        (["--dst", "kinds"], "did you mean 'kind'?"),
        (["--dst", "from"], "name two with --src and --dst"),
        (["--id", "packge"], "did you mean 'package'?"),
        (["--text", "abuot"], "did you mean 'about'?"),
        (["--kind", "knd"], "did you mean 'kind'?"),
        (["--kind-weight", "depends=2"], "give --kind"),
        (["--kind", "kind", "--kind-weight", "depend=2"], "did you mean 'depends'?"),
        (["--kind", "kind", "--kind-weight", "depends=much"], "write it as kind=number"),
        (["--kind", "kind", "--kind-weight", "depends"], "write it as kind=number"),
        (["--kind", "kind", "--kind-weight", "depends=-1"], "positive number, or 0"),
        (["--kind", "kind", "--kind-weight", "depends=nan"], "positive number, or 0"),
        (["--kind", "kind", "--kind-weight", "depends=0,suggests=0"], "above 0"),
        ([], "--unknown drop"),
        (["--unknown", "ignore"], "not one of 'refuse'"),
    ],
)
def test_wrong_options_end_with_a_remedy(own: Path, run: Run, options: list[str], remedy: str) -> None:
    unknown = [] if "--unknown" in options or not options else ["--unknown", "drop"]
    code, _, err = run(*OWN, "--out", "m", *unknown, *options)
    assert (code, remedy in err) == (2, True), err
    assert not (own / "m").exists()


def test_a_graph_without_text_or_numbers_cannot_weigh_kinds(own: Path, run: Run) -> None:
    code, _, err = run("fit", "links.csv.gz", "--kind", "kind", "--kind-weight", "auto", "--out", "m")
    assert (code, "give a node table" in err) == (2, True), err


def test_comparing_without_labels_names_the_options_that_give_them(own: Path, run: Run) -> None:
    code, _, err = run("compare", *OWN[1:], "--unknown", "drop")
    assert (code, "name a column of the node table with --label" in err) == (2, True), err


def test_misspelt_files_and_datasets_are_answered_with_the_nearest(own: Path, run: Run) -> None:
    for arguments, hint in (
        (["fit", "link.csv.gz", "--out", "m"], "links.csv.gz"),
        (["fit", "links.csv.gz", "--node-table", "package.csv", "--out", "m"], "packages.csv"),
        (["fit", "coar", "--out", "m"], "cora"),
    ):
        code, _, err = run(*arguments)
        assert (code, f"did you mean '{hint}'?" in err.replace(f"{own}/", "")) == (2, True), err


def test_every_answer_has_its_uncertainty_and_a_node_without_links_says_so(own: Path, run: Run) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop")[0] == 0
    table = (own / "packages.csv").read_text(encoding="utf-8")
    (own / "later.csv").write_text(table + "hermit,s0,the graph walks of a hermit,1\n", encoding="utf-8")
    later = ["--node-table", "later.csv"]
    code, out, err = run("similar", "m", "hermit", *later, "--json")
    assert (code, "1 node has no links" in err) == (0, True), err
    found = json.loads(out)
    assert all(0 <= one["uncertainty"] < 1 for one in (found, *found["similar"]))
    explained = json.loads(run("explain", "m", "hermit", "p0", *later, "--json")[1])["explained"]
    assert [(one["has_links"], 0 <= one["uncertainty"] < 1) for one in explained] == [(False, True), (True, True)]
    assert "hermit: uncertainty" in (err := run("explain", "m", "hermit", *later)[2])
    assert "it has no links" in err
    code, out, err = run("embed", "m", *later, "--out", "v.csv", "--json")
    assert (code, json.loads(out)["without_links"], "1 node has no links" in err) == (0, 1, True)
    labels = ["--labels", "classes.csv", "--id", "package", "--label", "section"]
    assert run("predict", "m", *labels, *later, "--out", "p.csv")[0] == 0
    lines = (own / "p.csv").read_text(encoding="utf-8").splitlines()
    assert (lines[0].rsplit(",", 1)[1], 0 <= float(lines[-1].rsplit(",", 1)[1]) < 1) == ('"uncertainty"', True)


def test_an_id_that_begins_like_an_option_and_a_wrong_choice_have_a_remedy(run: Run) -> None:
    for command in ("similar", "explain"):
        code, _, err = run(command, "m", "-5")
        assert (code, "put -- before a node id that begins with -" in err) == (2, True), err
    assert "before a node id" not in run("similar", "m", "--vectrs", "v.csv")[2]
    assert "before a node id" not in run("evaluate", "m", "-5")[2]
    code, _, err = run("evaluate", "m", "--task", "clasify")
    assert (code, "'clasify' is not one of 'classify'" in err, "Value error" in err) == (2, True, False), err


def test_nodes_near_a_zero_vector_are_called_arbitrary(own: Path, run: Run) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop")[0] == 0
    width = SANNE.load("m").embedding_.shape[1]
    write_vectors(own / "v.parquet", np.array(["blank"]), np.zeros((1, width), np.float32), np.zeros(1, np.float32))
    code, _, err = run("similar", "m", "blank", "--vectors", "v.parquet")
    assert (code, "nothing is known about blank: its vector is zero" in err) == (0, True), err
    assert "arbitrary" not in run("similar", "m", "p1")[2]


def test_what_takes_long_has_a_name(own: Path, run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """The clock on a terminal shows what is logged."""
    caplog.set_level("INFO", "sanne")
    column = ["--unknown", "drop", "--label", "section"]
    for command, stages in (
        ([*OWN, *column, "--estimate"], ["timing fits of parts of the graph"]),
        ([*OWN, *column, "--out", "m"], ["learning from them", "writing m"]),
        (
            ["predict", "m", "--labels", "classes.csv", "--id", "package", "--out", "p.csv"],
            ["learning 3 labels from 36"],
        ),
        (["evaluate", "m"], ["computing baselines", "scoring sanne"]),
        (["evaluate", "m", "--task", "links"], ["fitting again", "computing baselines", "scoring"]),
        (["evaluate", "m", "--task", "communities"], ["computing baselines", "clustering sanne"]),
        (["plot", "m", "--out", "m.png"], ["drawing 36 nodes", "naming regions", "writing m.png"]),
    ):
        caplog.clear()
        code, _, err = run(*command)
        assert code == 0, err
        assert [stage for stage in stages if stage not in caplog.text] == []


@pytest.mark.parametrize("task", ["links", "communities"])
def test_baselines_stand_beside_every_task(own: Path, run: Run, task: str) -> None:
    assert run(*OWN, "--out", "m", "--unknown", "drop", "--label", "section")[0] == 0
    code, out, err = run("evaluate", "m", "--task", task, "--json")
    assert code == 0, err
    assert set(json.loads(out)["baselines"]) == {"own features", "smoothed features"}
    assert "smoothed features" in run("evaluate", "m", "--task", task)[1]
