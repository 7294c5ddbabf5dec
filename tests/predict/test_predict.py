"""Labels in, labels out: the command, the scikit-learn classifier, and what is kept in the model folder."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from planted import TINY, planted_graph
from sanne import SANNE, Graph, NodeClassifier, load_graph
from sanne.cli import main
from sanne.errors import InputError, ModelFolderError, UnknownNodeError
from sanne.predict import learn_from_table

GRAPH = planted_graph(signal=1.5)
NAMES = np.array(["bread", "bees", "stars"], object)[np.asarray(GRAPH.labels)]
NEW = np.arange(120) % 4 == 0  # every fourth node arrives after the fit
PRESENT = GRAPH.subgraph(np.flatnonzero(~NEW))
IDS, LABELS = GRAPH.node_ids[~NEW], NAMES[~NEW]
NEW_IDS, NEW_LABELS = GRAPH.node_ids[NEW], NAMES[NEW]

Run = Callable[..., tuple[int, str, str]]


def write_graph(graph: Graph, folder: Path, prefix: str) -> None:
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    edges = pd.DataFrame({"src": graph.node_ids[sources], "dst": graph.node_ids[graph.indices]})
    edges.to_csv(folder / f"{prefix}edges.csv", index=False)
    nodes = pd.DataFrame(graph.features, columns=[f"f{i}" for i in range(12)])
    nodes.insert(0, "id", graph.node_ids)
    nodes.to_csv(folder / f"{prefix}nodes.csv", index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder: a model, labels for half of its nodes, and the graph of a later day."""
    folder = tmp_path_factory.mktemp("predict")
    write_graph(PRESENT, folder, "")
    write_graph(GRAPH, folder, "bigger_")
    (folder / "new.txt").write_text("\n".join(NEW_IDS), encoding="utf-8")
    pd.DataFrame({"id": IDS[::2], "label": LABELS[::2]}).to_csv(folder / "labels.csv", index=False)
    present = load_graph(folder / "edges.csv", node_table=folder / "nodes.csv")
    SANNE(settings=TINY).fit(present).save(folder / "model")
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder to change, as the current folder."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(scope="module")
def model(made: Path) -> SANNE:
    return SANNE.load(made / "model")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `sanne predict` in this process: (exit code, stdout, stderr)."""

    def call(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sanne", "predict", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return call


# the command


def test_present_nodes_get_label_probability_and_runner_up(place: Path, run: Run) -> None:
    code, out, err = run("model", "--labels", "labels.csv", "--out", "predictions.csv", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["classes"] == {"bread": 15, "bees": 15, "stars": 15}
    assert answer["accuracy_of_the_commonest_label"] == pytest.approx(100 / 3, abs=0.01)
    assert answer["cross_validated_accuracy"] > 80
    found = pd.read_csv("predictions.csv").set_index("id")
    assert list(found.columns) == ["label", "probability", "runner_up", "runner_up_probability", "uncertainty"]
    assert list(found.index) == list(IDS)
    assert (found["label"][IDS[1::2]] == LABELS[1::2]).mean() > 0.8
    assert (found["probability"] >= found["runner_up_probability"]).all()
    assert (found["label"] != found["runner_up"]).all()
    assert (found["probability"] + found["runner_up_probability"]).between(2 / 3 - 1e-6, 1 + 1e-6).all()


def test_newcomers_get_their_labels_from_a_classifier_that_was_saved(place: Path, run: Run) -> None:
    code, out, err = run("model", "--labels", "labels.csv", "--save")
    assert code == 0, err
    assert "accuracy" in out
    assert "## Labels" in Path("model/README.md").read_text(encoding="utf-8")
    later = ("--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv", "--nodes", "new.txt")
    code, _, err = run("model", *later, "--out", "new.parquet")
    assert code == 0, err
    found = pd.read_parquet("new.parquet")
    assert list(found["id"]) == list(NEW_IDS)
    assert (found["label"] == NEW_LABELS).mean() > 0.8
    run("model", *later, "--labels", "labels.csv", "--out", "again.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("again.parquet"), found)


def test_saving_keeps_vectors_and_model_as_they_are(place: Path, run: Run) -> None:
    kept = ("model.safetensors", "features.json", "vectors.parquet")
    before = [(place / "model" / name).read_bytes() for name in kept]
    assert run("model", "--labels", "labels.csv", "--save")[0] == 0
    assert [(place / "model" / name).read_bytes() for name in kept] == before
    SANNE.load("model").save("copy")
    first, second = (NodeClassifier.load(folder).predict_proba(IDS) for folder in ("model", "copy"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("kind", ["rows", "separator"])
def test_a_node_may_have_several_labels(place: Path, run: Run, kind: str) -> None:
    odd = np.arange(len(IDS)) % 2 == 1
    sets = [[name, "insect"] if name == "bees" else [name] for name in LABELS]
    if kind == "rows":
        table = pd.DataFrame([(node, label) for node, labels in zip(IDS, sets, strict=True) for label in labels])
    else:
        table = pd.DataFrame([(node, ";".join(labels)) for node, labels in zip(IDS, sets, strict=True)])
    table.columns = pd.Index(["id", "label"])
    table[table["id"].isin(IDS[~odd])].to_csv("several.csv", index=False)
    more = ("--separator", ";") if kind == "separator" else ()
    code, out, err = run("model", "--labels", "several.csv", *more, "--out", "predictions.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["cross_validated_f1"] > 80
    found = pd.read_csv("predictions.csv").groupby("id")["label"].agg(set)
    right = [found[node] == set(sets[row]) for row, node in enumerate(IDS) if odd[row]]
    assert np.mean(right) > 0.75


def test_rare_classes_are_named_with_what_is_done_about_them(place: Path, run: Run) -> None:
    table = pd.read_csv("labels.csv")
    table.loc[0, "label"] = "alone"
    table.loc[1:2, "label"] = "pair"
    table.to_csv("labels.csv", index=False)
    code, _, err = run("model", "--labels", "labels.csv", "--out", "predictions.csv")
    assert code == 0, err
    assert "few labels, so expect mistakes: 'pair'" in err
    assert "left out and never predicted: 'alone'" in err
    found = pd.read_csv("predictions.csv")
    assert "alone" not in {*found["label"], *found["runner_up"]}


def test_labels_of_other_nodes_are_passed_over_with_a_note(place: Path, run: Run) -> None:
    with Path("labels.csv").open("a", encoding="utf-8") as file:
        file.write("stranger,bees\n")
    code, _, err = run("model", "--labels", "labels.csv", "--out", "p.csv")
    assert code == 0, err
    assert "1 id of labels.csv is not in the model, and passed over: 'stranger'" in err


def test_labels_joined_by_a_separator_are_asked_about(place: Path, run: Run) -> None:
    table = pd.read_csv("labels.csv")
    table.loc[::2, "label"] += ";rare"
    table.to_csv("joined.csv", index=False)
    hint = "labels contain ';': if a node may have several, give --separator ';'"
    assert hint in run("model", "--labels", "joined.csv", "--out", "p.csv")[2]
    assert "--separator" not in run("model", "--labels", "joined.csv", "--separator", ";", "--out", "p.csv")[2]
    table["label"] = LABELS[::2]
    table["label"] = table["label"].replace({"bees": "bees; wasps", "stars": "stars, moons"})
    table.to_csv("plain.csv", index=False)
    assert "--separator" not in run("model", "--labels", "plain.csv", "--out", "p.csv")[2]


def test_labels_are_read_from_the_column_of_the_fit(place: Path, run: Run) -> None:
    table = pd.read_csv("labels.csv").rename(columns={"label": "section"})
    table.to_csv("sections.csv", index=False)
    assert "no column 'label'" in run("model", "--labels", "sections.csv", "--out", "p.csv")[2]
    model = SANNE.load("model")
    model.artifact_.record["source"] = {"source": "edges.csv", "label": "section"}
    model.save("model")
    for other in (table, table.assign(label="x"), table.rename(columns={"section": "label"})):
        other.to_csv("sections.csv", index=False)
        code, out, err = run("model", "--labels", "sections.csv", "--out", "p.csv", "--json")
        assert code == 0, err
        assert set(json.loads(out)["classes"]) == {"bread", "bees", "stars"}


def test_a_few_labels_make_no_certainty(place: Path, run: Run) -> None:
    table = pd.DataFrame({"id": IDS, "label": LABELS}).groupby("label").head(3)
    table[table["label"] != "stars"].iloc[:5].to_csv("five.csv", index=False)
    code, _, err = run("model", "--labels", "five.csv", "--out", "p.csv")
    assert code == 0, err
    assert "probabilities are rough: 5 labelled nodes are too few to calibrate on" in err
    assert pd.read_csv("p.csv")["probability"].between(0.5, 0.999).all()


def test_numbers_of_a_csv_file_have_six_digits_at_most(place: Path, run: Run) -> None:
    assert run("model", "--labels", "labels.csv", "--out", "p.csv")[0] == 0
    found = pd.read_csv("p.csv", dtype=str)
    for name in ("probability", "runner_up_probability", "uncertainty"):
        assert found[name].str.fullmatch(r"[01](\.\d{1,6})?|\de-0\d").all()


MISTAKES = {
    "nothing saved": (None, ("--out", "p.csv"), "--labels FILE --save"),
    "no such file": (None, ("--labels", "label.csv", "--out", "p.csv"), "label.csv: no such file"),
    "no label column": ("id,class\np1,a\np2,b\n", (), "no column 'label'; found the columns id, class"),
    "misspelt column": ("id,label\np1,a\np2,b\n", ("--label", "labl"), "did you mean 'label'?"),
    "no known id": ("id,label\np1x,a\np2x,b\n", (), "did you mean 'p1'?"),
    "one class": ("id,label\np1,a\np2,a\n", (), "all are 'a'"),
    "no labels": ("id,label\np1,\np2,\n", (), "the column is empty"),
    "header only": ("id,label\n", (), "add one row per label"),
    "a class per node": ("id,label\np1,a\np2,b\np3,c\n", (), "check that the label column holds classes"),
    "no out": (None, ("--nodes", "new.txt"), "--out predictions.parquet"),
    "nothing to write": (None, ("--labels", "labels.csv"), "--save to keep the classifier"),
    "save without labels": (None, ("--save", "--out", "p.csv"), "give --labels"),
    "empty separator": (None, ("--labels", "labels.csv", "--out", "p.csv", "--separator", ""), "--separator ';'"),
    "bad ending": (None, ("--labels", "labels.csv", "--out", "p.xlsx"), "use one of .parquet, .csv"),
    "newcomers without their graph": (
        None,
        ("--labels", "labels.csv", "--nodes", "new.txt", "--out", "p.csv"),
        "--graph on the command line",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_a_remedy(name: str, place: Path, run: Run) -> None:
    table, options, remedy = MISTAKES[name]
    if table is not None:
        Path("mine.csv").write_text(table, encoding="utf-8")
        options = ("--labels", "mine.csv", "--out", "p.csv", *options)
    code, out, err = run("model", *options)
    assert (code, out) == (2, "")
    assert remedy in err
    assert len(err.splitlines()) == 1
    assert not Path("p.csv").exists()


def test_a_misspelt_newcomer_is_asked_about(place: Path, run: Run) -> None:
    Path("new.txt").write_text("p111x\n", encoding="utf-8")
    graph = ("--graph", "bigger_edges.csv", "--node-table", "bigger_nodes.csv")
    code, _, err = run("model", "--labels", "labels.csv", *graph, "--nodes", "new.txt", "--out", "p.csv")
    assert code == 2
    assert "did you mean 'p111'?" in err


# the folder


@pytest.fixture
def saved(place: Path, model: SANNE) -> Path:
    NodeClassifier(model).fit(IDS, LABELS).save(place / "model")
    return place / "model"


def vouch(folder: Path) -> None:
    """Make the checksums right again, as somebody who means harm would."""
    header = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    header["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in header["sha256"]}
    (folder / "config.json").write_text(json.dumps(header), encoding="utf-8")


def test_a_changed_missing_or_added_classifier_is_refused(saved: Path) -> None:
    for name in ("classifier.json", "classifier.safetensors"):
        original = (saved / name).read_bytes()
        (saved / name).write_bytes(original[:-2] + b"7" + original[-1:])
        with pytest.raises(ModelFolderError, match=f"{name}: damaged"):
            SANNE.load(saved)
        (saved / name).unlink()
        with pytest.raises(ModelFolderError, match=f"{name} is missing"):
            SANNE.load(saved)
        (saved / name).write_bytes(original)
    header = json.loads((saved / "config.json").read_text(encoding="utf-8"))
    del header["sha256"]["classifier.json"]
    (saved / "config.json").write_text(json.dumps(header), encoding="utf-8")
    with pytest.raises(ModelFolderError, match="no checksum"):
        SANNE.load(saved)


def change_json(**changes: Any) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        state = json.loads((folder / "classifier.json").read_text(encoding="utf-8")) | changes
        (folder / "classifier.json").write_text(json.dumps(state), encoding="utf-8")

    return change


def change_weight(change: Callable[[Any], Any]) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        tensors = load_file(folder / "classifier.safetensors")
        save_file(tensors | {"weight": change(tensors["weight"])}, folder / "classifier.safetensors")

    return changed


@pytest.mark.parametrize(
    "harm",
    [
        change_json(classes=["bees", "bread"]),
        change_json(classes=["bees", "bees", "stars"]),
        change_json(classes=["bees", None, "stars"]),
        change_json(classes="abc"),
        change_json(threshold=7.0),
        change_json(record=[]),
        change_json(more=1),
        change_weight(lambda weight: weight[:-1].copy()),
        change_weight(lambda weight: weight * np.nan),
        change_weight(lambda weight: weight.astype(np.float64)),
        lambda folder: (folder / "classifier.json").write_text("["),
        lambda folder: (folder / "classifier.safetensors").write_bytes(b"\x80\x04."),
    ],
)
def test_a_classifier_that_makes_no_sense_is_refused_even_with_checksums(
    saved: Path, harm: Callable[[Path], object]
) -> None:
    harm(saved)
    vouch(saved)
    with pytest.raises(ModelFolderError, match="damaged"):
        SANNE.load(saved)


# scikit-learn


def test_cross_validation_search_and_pipelines_take_ids(model: SANNE) -> None:
    assert cross_val_score(NodeClassifier(model), IDS, LABELS, cv=3).mean() > 0.8
    search = GridSearchCV(NodeClassifier(model), {"C": [1e-4, 1.0]}, cv=3).fit(IDS, LABELS)
    assert search.best_params_["C"] in (1e-4, 1.0)
    assert list(search.best_estimator_.classes_) == ["bees", "bread", "stars"]
    lower = FunctionTransformer(lambda ids: np.array([node.lower() for node in ids], object))
    pipe = Pipeline([("spelling", lower), ("classifier", NodeClassifier(model))])
    shouted = np.array([node.upper() for node in IDS], object)
    assert cross_val_score(pipe, shouted, LABELS, cv=3).mean() > 0.8


def test_clone_keeps_the_fitted_model_and_forgets_the_labels(model: SANNE) -> None:
    learnt = NodeClassifier(model, C=2.0).fit(IDS, LABELS)
    copy = clone(learnt)
    assert copy.model is model
    assert copy.get_params() == {"model": model, "graph": None, "C": 2.0, "random_state": 0}
    assert copy.set_params(C=None).C is None
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        copy.predict(IDS)
    with pytest.raises(NotFittedError, match="fitted model"):
        NodeClassifier(SANNE()).fit(IDS, LABELS)


def test_probabilities_go_with_labels_and_newcomers_need_their_graph(model: SANNE) -> None:
    learnt = NodeClassifier(model, graph=GRAPH).fit(IDS, LABELS)
    likely = learnt.predict_proba(NEW_IDS)
    np.testing.assert_allclose(likely.sum(axis=1), 1)
    np.testing.assert_array_equal(learnt.classes_[likely.argmax(axis=1)], learnt.predict(NEW_IDS))
    assert learnt.score(NEW_IDS, NEW_LABELS) > 0.8
    with pytest.raises(UnknownNodeError, match="graph= in Python"):
        NodeClassifier(model).fit(IDS, LABELS).predict(NEW_IDS)


def test_several_labels_are_a_matrix_of_0_and_1(model: SANNE) -> None:
    columns = [LABELS == "bees", LABELS != "stars", LABELS == "stars", np.zeros(len(IDS), bool)]
    members = np.stack(columns, axis=1).astype(int)
    learnt = NodeClassifier(model).fit(IDS[::2], members[::2])
    found = learnt.predict(IDS[1::2])
    assert found.shape == members[1::2].shape
    assert not found[:, 3].any()  # nobody has that label
    assert found.any(axis=1).all()
    assert (found == members[1::2]).mean() > 0.85


def test_wrong_arguments_are_named(model: SANNE) -> None:
    with pytest.raises(InputError, match="one label per node"):
        NodeClassifier(model).fit(IDS, LABELS[1:])
    with pytest.raises(InputError, match="positive number"):
        NodeClassifier(model, C=-1.0).fit(IDS, LABELS)


def test_labels_that_the_model_read_as_a_feature_are_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream = np.random.default_rng(0)
    kinds = np.repeat([0, 1], 20)
    table = pd.DataFrame({"id": range(40), "size": stream.normal(size=40), "digit": kinds})
    edges = [(i, j) for i, j in stream.integers(0, 40, (120, 2)).tolist() if i != j]
    table.to_csv(tmp_path / "nodes.csv", index=False)
    leaking = SANNE("fast", random_state=0).fit(load_graph(edges, node_table=table))
    learn_from_table(leaking, tmp_path / "nodes.csv", label="digit")
    assert "the model read the column 'digit' as a feature" in caplog.text
    caplog.clear()
    fair = SANNE("fast", random_state=0).fit(load_graph(edges, node_table=table, label="digit"))
    learn_from_table(fair, tmp_path / "nodes.csv", label="digit")
    assert "as a feature" not in caplog.text
