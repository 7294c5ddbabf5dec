"""The command line as a user meets it: real processes for the main road, one process for the many wrong turns."""

import contextlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanne.cli import main
from sanne.estimator import SANNE
from sanne.features import words as text_features
from sanne.graph.load import load_graph
from sanne.vectors.formats import read_vectors

TOPICS = ("graph walks nodes edges", "protein cells folding genes", "market prices trade money")
TINY = {"feature_dim": 16, "hidden_splits": 1, "half_dim": 8, "link_dim": 8, "restart_steps": 8}
TRAINED = {
    "objective": "neighbours",
    "threads": 1,
    "epochs": 2,
    "steps_per_epoch": 3,
    "batch_size": 32,
    "encoder_dim": 16,
    "num_heads": 2,
    "num_negatives": 16,
}
SETS = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
TRAINED_SETS = [part for name, value in TRAINED.items() for part in ("--set", f"{name}={value}")]

Run = Callable[..., tuple[int, str, str]]


def write_tables(folder: Path, count: int, prefix: str = "") -> None:
    """A ring of papers per topic; the last two papers are newcomers of the larger tables."""
    edges = [(i, (i + 3) % count) for i in range(count)]
    (folder / f"{prefix}edges.csv").write_text(
        "src,dst\n" + "".join(f"paper-{a},paper-{b}\n" for a, b in edges), encoding="utf-8"
    )
    (folder / f"{prefix}nodes.csv").write_text(
        "id,abstract,label\n" + "".join(f'paper-{i},"{TOPICS[i % 3]}, and more",topic {i % 3}\n' for i in range(count)),
        encoding="utf-8",
    )


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a small graph and a larger one of a later day."""
    write_tables(tmp_path, 30)
    write_tables(tmp_path, 33, "bigger_")
    (tmp_path / "new.txt").write_text("paper-30\npaper-31\n\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sanne(*arguments: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sanne", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_a_map_takes_what_the_larger_tables_say_of_new_nodes(
    tables: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sanne.draw import plot
    from sanne.draw.picture import MapPicture

    years = ["id,year,kind,abstract", *(f"paper-{i},{1990 + i},{'ab'[i % 2]},graphs and walks {i}" for i in range(33))]
    (tables / "later.csv").write_text("\n".join(years), encoding="utf-8")
    assert run(*fit_arguments())[0] == 0
    later = ["--graph", "bigger_edges.csv", "--node-table", "later.csv"]
    assert run("embed", "m", *later, "--nodes", "new.txt", "--out", "new.parquet")[0] == 0
    drawn: list[MapPicture] = []
    monkeypatch.setattr(plot, "draw_picture", lambda picture, path: (path.touch(), drawn.append(picture)))
    code, _, err = run("plot", "m", *later, "--new", "new.parquet", "--color", "year", "--out", "map.png")
    assert code == 0, err
    (picture,) = drawn
    assert picture.new == 2
    assert set(picture.ids[-2:]) == {"paper-30", "paper-31"}
    year, *others = picture.colourings
    assert (year.title, year.kind) == ("year", "number")
    assert {"kind", "uncertainty"} <= {colouring.title for colouring in others}
    assert picture.texts is not None
    assert picture.texts[-1] == f"graphs and walks {picture.ids[-1].removeprefix('paper-')}"
    assert picture.links is not None
    assert picture.links[0][-1] > picture.links[0][-3]  # the new nodes have links


def test_fit_splits_every_text_into_words_once(tables: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = text_features.words
    monkeypatch.setattr(text_features, "words", lambda text: seen.append(text) or original(text))
    code, _, error = run("fit", "edges.csv", "--node-table", "nodes.csv", "--text", "abstract", "--out", "m", *SETS)
    assert code == 0, error
    assert len(seen) == 30


def fit_arguments(out: str = "m", *more: Any) -> list[Any]:
    return ["fit", "edges.csv", "--node-table", "nodes.csv", "--text", "abstract", "--out", out, *SETS, *more]


# The main road, as processes


def test_build_then_fit_and_embed_without_the_tables(tables: Path, run: Run) -> None:
    for prefix in ("", "bigger_"):
        files = [f"{prefix}edges.csv", "--node-table", f"{prefix}nodes.csv", "--text", "abstract"]
        code, out, err = run("build", *files, "--out", f"{prefix}graph", "--memory", "1GiB", "--json")
        assert code == 0, err
    assert json.loads(out)["nodes"] == json.loads(out)["edges"] == 33
    for path in tables.glob("*.csv"):
        path.unlink()
    code, out, err = run("fit", "graph", "--out", "m", *SETS)
    assert code == 0, err
    assert run("embed", "m", "--out", "all.parquet")[0] == 0
    found, fitted = read_vectors(tables / "all.parquet").vectors, SANNE.load(tables / "m").embedding_
    np.testing.assert_allclose(found, fitted, atol=1e-5)
    code, out, err = run("embed", "m", "--graph", "bigger_graph", "--nodes", "new.txt", "--out", "new.parquet")
    assert code == 0, err
    assert read_vectors(tables / "new.parquet").node_ids.tolist() == ["paper-30", "paper-31"]


def test_a_model_of_tables_embeds_on_a_graph_folder(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    assert (
        run("build", "bigger_edges.csv", "--node-table", "bigger_nodes.csv", "--text", "abstract", "--out", "g")[0] == 0
    )
    from_tables = ["--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv"]
    assert run("embed", "m", *from_tables, "--out", "tables.parquet")[0] == 0
    assert run("embed", "m", "--graph", "g", "--out", "folder.parquet")[0] == 0
    assert (tables / "tables.parquet").read_bytes() == (tables / "folder.parquet").read_bytes()


def test_a_graph_folder_is_replaced_with_force_only(tables: Path, run: Run) -> None:
    assert run("build", "edges.csv", "--out", "g")[0] == 0
    before = contents(tables / "g")
    code, out, err = run("build", "bigger_edges.csv", "--out", "g")
    assert (code, out, contents(tables / "g") == before) == (2, "", True)
    assert "--force replaces it" in err
    assert run("build", "bigger_edges.csv", "--out", "g", "--force")[0] == 0
    assert contents(tables / "g") != before


def test_a_wrong_build_is_one_line(tables: Path, run: Run) -> None:
    for arguments, message in (
        (["edges.csv", "--memory", "lots"], "write it as 4GB"),
        (["edges.csv", "--memory", "1MB"], "at least 1 GiB"),
        (["nowhere.csv"], "no such file"),
        (["edges.csv", "--node-table", "nodes.csv", "--text", "body"], "no text column 'body'"),
    ):
        code, out, err = run("build", *arguments, "--out", "g")
        assert (code, out) == (2, "")
        assert message in err
        assert len(err.strip().splitlines()) == 1
    assert not (tables / "g").exists()


def test_fit_then_embed_newcomers_from_larger_tables(tables: Path) -> None:
    fitted = sanne(*fit_arguments("m/", "--json"), cwd=tables)
    assert fitted.returncode == 0, fitted.stderr
    summary = json.loads(fitted.stdout)
    dim = summary["dim"]
    assert (summary["nodes"], summary["edges"], summary["features"]) == (30, 30, "tfidf")
    assert not {"epochs", "loss"} & summary.keys()  # nothing is trained
    assert sorted(path.name for path in (tables / "m").iterdir()) == [
        "README.md", "config.json", "features.json", "model.safetensors", "vectors.parquet",
    ]  # fmt: skip
    assert not list(tables.glob("*.checkpoint"))
    embedded = sanne(
        *("embed", "m/", "--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv"),
        *("--nodes", "new.txt", "--out", "v.parquet", "--explain", "3"),
        cwd=tables,
    )
    assert embedded.returncode == 0, embedded.stderr
    table = pq.read_table(tables / "v.parquet")
    assert table.column("id").to_pylist() == ["paper-30", "paper-31"]
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), dim)
    assert np.isfinite(np.array(table.column("embedding").to_pylist())).all()
    assert all(0 <= uncertainty < 1 for uncertainty in table.column("uncertainty").to_pylist())
    assert len(table.column("explanation").to_pylist()[0]) == 3


BUILD_POINTS = [
    "sanne.graph.folder.build.open_table",
    "sanne.graph.folder.build.write_node_data",
    "sanne.graph.folder.build.read_ids",
    "sanne.graph.folder.numbering.DatabaseIds._run",
    "sanne.graph.folder.numbering.DatabaseIds.codes",
    "sanne.graph.folder.build.write_arcs",
    "sanne.graph.folder.strings.StringsWriter.write",
]
FIT_POINTS = [
    "sanne.model.hidden.HiddenModel.fit_features",
    "sanne.model.fit.learn",
    "sanne.estimator.embed_present",
]
TRAINING_POINTS = [
    "sanne.paper.walk_model.choose_features",
    "sanne.paper.loop.training_step",
    "sanne.paper.loop.save_checkpoint",
]
EMBED_POINTS = ["sanne.infer.embed.GraphReader", "sanne.vectors.parquet.to_table"]


def interrupt_at(point: str, how: str, patch: pytest.MonkeyPatch) -> None:
    """Send SIGINT when `point` is called; a library may lose it ("lost") or make another error of it ("turned")."""
    owner, name = point.rsplit(".", 1)
    place: Any = pkgutil.resolve_name(owner)
    original = getattr(place, name)

    def interrupted(*arguments: Any, **options: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if how == "raised":
                raise
            if how == "turned":
                raise RuntimeError("Query interrupted") from None
        return original(*arguments, **options)

    patch.setattr(place, name, interrupted)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def old_outputs(tables: Path, run: Run) -> Path:
    given = ("--node-table", "nodes.csv", "--text", "abstract")
    assert run("build", "edges.csv", *given, "--out", "g")[0] == 0
    assert run("fit", "edges.csv", *given, "--out", "m", *SETS)[0] == 0
    assert run("embed", "m", "--out", "v.parquet")[0] == 0
    return tables


def test_an_interrupt_at_any_point_ends_a_command_and_leaves_old_outputs(old_outputs: Path, run: Run) -> None:
    given = ("--node-table", "nodes.csv", "--text", "abstract")
    commands = {
        ("build", "edges.csv", *given, "--out", "g", "--force"): BUILD_POINTS,
        ("fit", "edges.csv", *given, "--out", "m", "--force", *SETS): FIT_POINTS,
        ("fit", "edges.csv", *given, "--out", "m", "--force", *TRAINED_SETS): TRAINING_POINTS,
        ("embed", "m", "--out", "v.parquet"): EMBED_POINTS,
    }
    before = contents(old_outputs)
    for command, points in commands.items():
        for point in points:
            for how in ("raised", "lost", "turned"):
                with pytest.MonkeyPatch.context() as patch:
                    interrupt_at(point, how, patch)
                    code, out, errors = run(*command)
                assert (code, out) == (130, ""), f"{command[0]}, {how} at {point}: {errors}"
                (old_outputs / "m.checkpoint").unlink(missing_ok=True)
                assert contents(old_outputs) == before, f"{command[0]}, {how} at {point}"


def test_an_interrupted_fit_resumes_to_the_same_vectors(tables: Path) -> None:
    slow = [*TRAINED_SETS, "--set", "epochs=12", "--set", "steps_per_epoch=10", "--set", "threads=1"]
    command = ["fit", "edges.csv", "--node-table", "nodes.csv", "--text", "abstract", *slow]
    whole = sanne(*command, "--out", "whole", cwd=tables)
    assert whole.returncode == 0, whole.stderr
    process = subprocess.Popen(
        [sys.executable, "-m", "sanne", *command, "--out", "parts"], cwd=tables, stderr=subprocess.PIPE, text=True
    )
    checkpoint = tables / "parts.checkpoint"
    while not checkpoint.exists():
        assert process.poll() is None, "it ended before the first checkpoint"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert not (tables / "parts").exists()
    resumed = sanne(*command, "--out", "parts", "--resume", cwd=tables)
    assert resumed.returncode == 0, resumed.stderr
    np.testing.assert_array_equal(SANNE.load(tables / "parts").embedding_, SANNE.load(tables / "whole").embedding_)
    assert not checkpoint.exists()


def test_help_answers_without_torch() -> None:
    code = "import sys, sanne.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# More commands, in this process


def test_explain_names_words_links_and_nodes(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    code, out, _ = run("explain", "m", "paper-3", "paper-5", "-k", 4, "--json")
    found = json.loads(out)["explained"]
    assert code == 0
    assert [one["id"] for one in found] == ["paper-3", "paper-5"]
    assert 1 <= len(found[0]["words"]) <= 4
    assert sum(found[0]["parts"].values()) == pytest.approx(1, abs=1e-3)
    assert found[0]["nodes"][0]["id"] == "paper-3"
    bigger = ("--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv")
    code, out, _ = run("explain", "m", "paper-31", *bigger)
    assert code == 0
    assert "node paper-31" in out
    assert "its own words" in out
    code, _, errors = run("explain", "m", "nobody")
    assert code == 2
    assert "nobody" in errors


def test_similar_evaluate_plot_and_embed_read_the_model_folder(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    code, out, _ = run("similar", "m", "paper-3", "-k", 4, "--json")
    found = json.loads(out)["similar"]
    assert code == 0
    assert len(found) == 4
    assert found[0]["similarity"] >= found[-1]["similarity"]
    code, out, _ = run(
        *("similar", "m", "paper-31", "--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv", "--json")
    )
    assert code == 0
    assert len(json.loads(out)["similar"]) == 10
    code, out, _ = run("evaluate", "m", "--json")
    scores = json.loads(out)
    assert code == 0
    assert len(scores["splits"]) == 10
    assert scores["mean"] > 90
    code, out, _ = run("evaluate", "m", "--task", "communities", "--json")
    assert code == 0
    assert json.loads(out)["nmi"] > 0.5
    code, out, _ = run("evaluate", "m", "--task", "links", "--fraction", 0.2, "--json")
    assert code == 0
    assert 0 <= json.loads(out)["auc"] <= 1
    assert run("plot", "m", "--out", "map.png")[0] == 0
    assert (tables / "map.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = run("plot", "m", "--out", "other.png", "--color", "flavour")
    assert (code, "no column 'flavour' to colour by; choose one of" in err) == (2, True), err
    assert not (tables / "other.png").exists()
    assert run("embed", "m", "--out", "all.csv")[0] == 0
    again = read_vectors(tables / "all.csv")
    np.testing.assert_allclose(again.vectors, SANNE.load("m").embedding_, atol=1e-5)


def test_a_moved_graph_is_named_with_an_option_that_the_command_has(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    Path("edges.csv").rename("links.csv")
    Path("nodes.csv").rename("papers.csv")
    for command in (["evaluate", "m"], ["plot", "m", "--out", "map.png"], ["embed", "m", "--out", "v.parquet"]):
        code, _, err = run(*command)
        assert (code, "edges.csv: not found" in err, "with --graph" in err) == (2, True, True), err
        code, _, err = run(*command, "--graph", "links.csv")
        assert (code, "nodes.csv: not found" in err, "with --node-table" in err) == (2, True, True), err
        assert run(*command, "--graph", "links.csv", "--node-table", "papers.csv")[0] == 0


def test_labels_may_come_in_a_table_of_their_own(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    rows = "".join(f"paper-{i},{'abc'[i % 3]}\n" for i in range(29))
    (tables / "labels.csv").write_text("id,label\n" + rows, encoding="utf-8")
    code, out, _ = run("evaluate", "m", "--labels", "labels.csv", "--json")
    assert code == 0
    assert json.loads(out)["mean"] > 90
    (tables / "labels.csv").write_text("id,class\npaper-1,a\n", encoding="utf-8")
    code, _, err = run("evaluate", "m", "--labels", "labels.csv")
    assert code == 2
    assert "no column 'label'" in err
    assert run("evaluate", "m", "--labels", "labels.csv", "--label", "classs")[2].count("did you mean 'class'?") == 1


def test_dim_is_the_setting_of_that_name(tables: Path, run: Run) -> None:
    for out, size in (("option", ["--dim", 16]), ("setting", ["--set", "dim=16"])):
        code, _, err = run(*fit_arguments(out, *TRAINED_SETS, *size))  # the tables fill too few numbers otherwise
        assert code == 0, err
    settings = [json.loads((tables / out / "config.json").read_text())["settings"] for out in ("option", "setting")]
    assert settings[0] == settings[1]
    code, _, err = run(*fit_arguments("wrong", "--dim", 8))
    assert (code, "dim must lie between 16 and 4096, or be 0" in err) == (2, True)
    assert "4096, or 0" in run("fit", "--help")[1]


def test_data_list_names_the_datasets(run: Run) -> None:
    code, out, _ = run("data", "list", "--json")
    assert code == 0
    names = {dataset["name"] for dataset in json.loads(out)["datasets"]}
    assert names == {"cora", "citeseer", "pubmed", "blogcatalog", "ca-astroph"}


# Wrong turns: exit code 2, a line or two that say what to do, nothing half-written

WRONG_FITS = {
    "missing file": (["fit", "nowhere.csv", "--out", "x"], "nowhere.csv"),
    "unknown text column": (
        ["fit", "edges.csv", "--node-table", "nodes.csv", "--text", "abstrct", "--out", "x"],
        "did you mean 'abstract'",
    ),
    "a text column of no table": (["fit", "cora", "--text", "abstract", "--out", "x"], "leave it out"),
    "a size that no vector has": (["fit", "edges.csv", "--dim", "5", "--out", "x"], "between 16 and 4096"),
    "a model that is a file": (["embed", "edges.csv", "--out", "x.parquet"], "name a folder that sanne fit wrote"),
    "a graph in a folder of other files": (["build", "edges.csv", "--out", "."], "choose an empty or a new folder"),
    "unknown recipe": (["fit", "edges.csv", "--out", "x", "--recipe", "nope"], "best, fast, paper"),
    "unknown setting": (["fit", "edges.csv", "--out", "x", "--set", "walk_lenth=3"], "did you mean 'walk_length'"),
    "setting of the wrong type": (["fit", "edges.csv", "--out", "x", "--set", "epochs=many"], "whole number"),
    "setting without a value": (["fit", "edges.csv", "--out", "x", "--set", "epochs"], "name=value"),
    "no folder to write in": (["fit", "edges.csv", "--out", "no/such/x"], "mkdir"),
    "no out": (["fit", "edges.csv"], "--out"),
    "unknown option": (["fit", "edges.csv", "--out", "x", "--colour"], "--colour"),
    "unknown dataset": (["data", "get", "corra"], "cora"),
}


@pytest.mark.parametrize("name", WRONG_FITS)
def test_a_wrong_turn_says_what_to_do(name: str, tables: Path, run: Run) -> None:
    arguments, expected = WRONG_FITS[name]
    before = sorted(tables.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert expected in err
    assert "Traceback" not in err
    assert out == ""
    assert sorted(tables.iterdir()) == before


BAD_TABLES = {
    "ragged row": ("edges.csv", b"src,dst\na,b\na,b,c,d\n", "line 3"),
    "not UTF-8": ("edges.csv", b"src,dst\na,b\n\xff\xfe,b\n", "line 3"),
    "no row in the node table": ("edges.csv", b"src,dst\npaper-1,paper-2\npaper-1,ghost\n", "'ghost'"),
    "not a number": ("nodes.csv", b"id,x\npaper-1,1\npaper-2,nan\n", "paper-2"),
    "infinite": ("nodes.csv", b"id,x\npaper-1,inf\npaper-2,1\n", "paper-1"),
    "empty": ("edges.csv", b"", "edges.csv"),
    "no edges": ("edges.csv", b"src,dst\n", "no edges"),
    "only self-loops": ("edges.csv", b"src,dst\npaper-1,paper-1\n", "no edges"),
    "wrong columns": ("edges.csv", b"one,other\na,b\n", "src,dst"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_named_with_its_place(name: str, tables: Path, run: Run) -> None:
    (tables / "edges.csv").write_text("src,dst\npaper-1,paper-2\n", encoding="utf-8")
    (tables / "nodes.csv").write_text("id,x\npaper-1,1\npaper-2,2\n", encoding="utf-8")
    file, content, expected = BAD_TABLES[name]
    (tables / file).write_bytes(content)
    code, _, err = run("fit", "edges.csv", "--node-table", "nodes.csv", "--out", "x", *SETS)
    assert code == 2
    assert expected in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) <= 3
    assert not (tables / "x").exists()
    assert not list(tables.glob(".*"))


def test_a_bad_model_folder_is_refused(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    assert run("embed", "nothing", "--out", "v.parquet")[0] == 2
    header = json.loads((tables / "m/config.json").read_text(encoding="utf-8"))
    (tables / "m/config.json").write_text(json.dumps(header | {"format_version": 99}), encoding="utf-8")
    code, _, err = run("embed", "m", "--out", "v.parquet")
    assert code == 2
    assert "newer" in err
    (tables / "m/config.json").write_text(json.dumps(header), encoding="utf-8")
    weights = (tables / "m/model.safetensors").read_bytes()
    (tables / "m/model.safetensors").write_bytes(weights[:-10])
    code, _, err = run("similar", "m", "paper-1")
    assert code == 2
    assert "damaged" in err
    os.remove(tables / "m/model.safetensors")  # noqa: PTH107
    code, _, err = run("plot", "m", "--out", "map.png")
    assert code == 2
    assert "missing" in err
    assert not list(tables.glob("v.*")) + list(tables.glob("map.*"))


def test_a_graph_that_does_not_suit_the_model_is_refused(tables: Path, run: Run) -> None:
    (tables / "edges.csv").write_text("src,dst\na,b\nb,c\n", encoding="utf-8")
    (tables / "nodes.csv").write_text("id,x,y\na,1,2\nb,2,3\nc,3,4\n", encoding="utf-8")
    assert run("fit", "edges.csv", "--node-table", "nodes.csv", "--out", "m", *SETS)[0] == 0
    (tables / "nodes.csv").write_text("id,x\na,1\nb,2\nc,3\n", encoding="utf-8")
    code, _, err = run("embed", "m", "--out", "v.parquet")
    assert code == 2
    assert "no feature column 'y', which the model was fitted on" in err
    (tables / "nodes.csv").write_text("id,x,y\na,1,2\nb,2,3\nc,3,4\n", encoding="utf-8")
    code, _, err = run("embed", "m", "--graph", "edges.csv", "--nodes", "missing.txt", "--out", "v.parquet")
    assert code == 2
    assert "missing.txt" in err
    (tables / "ids.txt").write_text("ghost\n", encoding="utf-8")
    code, _, err = run("embed", "m", "--nodes", "ids.txt", "--out", "v.parquet")
    assert code == 2
    assert "'ghost'" in err
    assert not (tables / "v.parquet").exists()


def test_a_model_saved_from_python_is_told_which_column_holds_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"n{i},{'bread flour yeast' if i < 6 else 'stars dust light'}" for i in range(12)]
    (tmp_path / "nodes.csv").write_text("id,words\n" + "\n".join(rows) + "\n", encoding="utf-8")
    edges = [f"n{i},n{i + 1}" for i in range(11)]
    (tmp_path / "edges.csv").write_text("src,dst\n" + "\n".join(edges) + "\n", encoding="utf-8")
    graph = load_graph(tmp_path / "edges.csv", node_table=tmp_path / "nodes.csv", text="words")
    SANNE("fast", progress=False).fit(graph).save(tmp_path / "model")
    command = ["sanne", "embed", f"{tmp_path}/model", "--graph", f"{tmp_path}/edges.csv"]
    command += ["--node-table", f"{tmp_path}/nodes.csv", "--out", f"{tmp_path}/v.npy"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "--text" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*command, "--text", "words"])
    with contextlib.suppress(SystemExit):
        main()
    assert np.load(tmp_path / "v.npy").shape[0] == 12


def test_times_and_memory_in_units_that_people_use() -> None:
    from sanne.cli.options import duration

    assert [duration(s) for s in (0.42, 43.3, 59.7, 200, 7500)] == [
        "0.4 s",
        "43 s",
        "1 min 0 s",
        "3 min 20 s",
        "2 h 5 min",
    ]


def test_a_moved_table_is_found_nearby(tables: Path, run: Run) -> None:
    assert run(*fit_arguments())[0] == 0
    (tables / "nodes.csv").rename(tables / "nodes-old.csv")
    code, out, err = run("embed", "m", "--out", "v.csv")
    assert (code, out) == (2, "")
    assert "--node-table" in err
    assert "nodes-old.csv" in err or "bigger_nodes.csv" in err
    code, _, err = run("similar", "m", "papr-7")
    assert code == 2
    assert "did you mean 'paper-7'?" in err
    code, _, err = run("fit", "edges.csv", "--out", "n", "--recipe", "pape")
    assert code == 2
    assert "did you mean 'paper'?" in err
