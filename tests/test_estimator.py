"""SANNE as users meet it: fit, transform, save, load, similar."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from planted import TINY, TRAINED, accuracy, planted_graph
from sanne.config import recipe_config
from sanne.errors import InputError, ModelFolderError, UnknownNodeError
from sanne.estimate import estimate_fit
from sanne.estimator import SANNE
from sanne.evaluate.node_classification import classify_split
from sanne.graph.graph import FloatArray, Graph
from sanne.graph.load import load_graph
from sanne.vectors.formats import write_vectors
from sanne_lab.datasets.splits import load_splits

GRAPH = planted_graph()
NEW = np.arange(120) % 4 == 0  # every fourth node arrives after fit
PRESENT = GRAPH.subgraph(np.flatnonzero(~NEW))


def tiny(random_state: int = 0, **changes: Any) -> SANNE:
    return SANNE(settings=TINY | changes, random_state=random_state)


@pytest.fixture(scope="module")
def fitted() -> SANNE:
    return tiny().fit(PRESENT)


# scikit-learn's rules


def test_the_constructor_stores_its_arguments_untouched() -> None:
    settings = {"epochs": "3", "no_such": 1}
    model = SANNE("nonsense", settings=settings, random_state="x", progress=False)  # type: ignore[arg-type]
    assert model.get_params() == {"recipe": "nonsense", "settings": settings, "random_state": "x", "progress": False}
    assert model.settings is settings


def test_clone_set_params_and_repr(fitted: SANNE) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "embedding_")
    assert copy.set_params(random_state=5, recipe="fast") is copy
    assert (copy.random_state, copy.recipe) == (5, "fast")
    assert repr(SANNE("fast", settings={"epochs": 3})) == "SANNE(recipe='fast', settings={'epochs': 3})"
    with pytest.raises(ValueError, match="no_such"):
        copy.set_params(no_such=1)


def test_what_is_not_fitted_says_so(tmp_path: Path) -> None:
    model = tiny()
    for call in (
        lambda: model.transform(GRAPH),
        lambda: model.embed(GRAPH),
        lambda: model.similar("p1"),
        lambda: model.save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError, match="call fit"):
            call()
    assert not (tmp_path / "m").exists()


def test_fit_returns_itself_and_sets_the_fitted_attributes(fitted: SANNE) -> None:
    settings = dict(TINY)
    model = tiny()
    assert model.fit(PRESENT) is model
    assert model.settings == settings  # not touched
    assert model.embedding_.shape == (90, model.artifact_.model.vector_dim)
    assert model.embedding_.dtype == np.float32
    assert model.uncertainty_.shape == (90,)
    assert model.node_ids_.tolist() == PRESENT.node_ids.tolist()
    assert np.array_equal(tiny().fit_transform(PRESENT), model.embedding_)


def test_arrays_given_to_a_caller_are_copies_and_fitted_ones_are_read_only(tmp_path: Path) -> None:
    model = tiny(epochs=1)
    vectors = model.fit_transform(PRESENT)
    kept, near = vectors.copy(), model.similar("p1", k=3)
    vectors *= 0
    np.testing.assert_array_equal(model.embedding_, kept)
    newcomers = model.transform(GRAPH, nodes=["p0", "p4"])
    near_newcomer = model.similar("p4", k=3)
    newcomers *= 0
    assert (model.similar("p1", k=3), model.similar("p4", k=3)) == (near, near_newcomer)
    model.save(tmp_path / "model")
    for fitted in (model, SANNE.load(tmp_path / "model")):
        for array in (fitted.embedding_, fitted.uncertainty_, fitted.node_ids_):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"recipe": "bset"}, "unknown recipe"),
        ({"settings": {"walk_lenght": 3}}, "did you mean 'walk_length'"),
        ({"settings": [("epochs", 3)]}, "dictionary"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 1.5}, "random_state"),
        ({"random_state": np.random.RandomState(0)}, "must be a whole number .*RandomState.*: give one, or None"),
        ({"random_state": np.random.default_rng(0)}, "must be a whole number .*Generator"),
        ({"random_state": True}, "random_state"),
        ({"random_state": 2**63}, "random_state"),
    ],
)
def test_bad_arguments_are_refused_by_fit(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SANNE(**arguments).fit(PRESENT)


@pytest.mark.parametrize("direction", ["along", "against"])
def test_a_direction_needs_a_directed_graph(direction: str) -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "d")]
    with pytest.raises(InputError, match=rf"direction={direction} needs a directed graph.* --directed \(directed=True"):
        tiny(direction=direction).fit(load_graph(pairs))
    with pytest.raises(InputError, match="needs a directed graph"):
        estimate_fit(load_graph(pairs), recipe_config("fast").replace(direction=direction))
    assert tiny(direction=direction).fit(load_graph(pairs, directed=True)).node_ids_.tolist() == list("abcd")
    assert tiny(direction="both").fit(load_graph(pairs)).node_ids_.tolist() == list("abcd")


def test_fit_and_transform_read_what_load_graph_reads(fitted: SANNE) -> None:
    edges = np.array([[10, 20], [20, 30], [30, 40], [40, 10]])
    model = tiny(epochs=1).fit(edges)
    assert sorted(model.node_ids_.tolist()) == [10, 20, 30, 40]
    assert model.transform(np.vstack([edges, [[40, 50]]]), nodes=[50]).shape == (1, model.embedding_.shape[1])


def test_a_second_table_is_the_node_table(fitted: SANNE) -> None:
    edges = pd.DataFrame({"src": [1, 2, 3, 4], "dst": [2, 3, 4, 1]})
    nodes = pd.DataFrame({"id": [4, 3, 2, 1, 5], "size": [1.0, 2.0, 3.0, 4.0, 5.0]})
    assert tiny(epochs=1).fit(edges, nodes).node_ids_.tolist() == [4, 3, 2, 1, 5]
    assert tiny(epochs=1).fit_transform(edges, np.array([0, 1, 0, 1])).shape[0] == 4  # classes are not used


# the same again


@pytest.mark.parametrize("objective", ["hidden", "neighbours"])
def test_the_same_seed_gives_the_same_vectors_and_another_seed_others(objective: str) -> None:
    first, again, other = (tiny(seed, objective=objective, dropout=0.1).fit(PRESENT) for seed in (0, 0, 1))
    assert np.array_equal(first.embedding_, again.embedding_)
    assert np.array_equal(first.transform(GRAPH), again.transform(GRAPH))
    assert first.embedding_.shape != other.embedding_.shape or not np.allclose(
        first.embedding_, other.embedding_, atol=1e-3
    )


def test_without_a_random_state_every_fit_has_a_seed_of_its_own_that_the_model_keeps(tmp_path: Path) -> None:
    model = SANNE(settings=TINY, random_state=None)
    seeds = {model.fit(PRESENT).artifact_.seed, model.fit(PRESENT).artifact_.seed}
    assert len(seeds) == 2
    assert model.get_params()["random_state"] is clone(model).random_state is None
    assert np.array_equal(tiny(model.artifact_.seed).fit(PRESENT).embedding_, model.embedding_)
    model.save(tmp_path / "model")
    loaded = SANNE.load(tmp_path / "model")
    assert loaded.random_state == model.artifact_.seed
    assert np.array_equal(clone(loaded).fit(PRESENT).embedding_, model.embedding_)


def test_fit_resumes_from_a_checkpoint_to_the_same_vectors(tmp_path: Path) -> None:
    def stop(artifact: Any, epoch: int) -> None:
        if epoch == 2:
            raise KeyboardInterrupt

    settings = TRAINED | {"dropout": 0.1}
    whole = SANNE(settings=settings).fit(PRESENT)
    with pytest.raises(KeyboardInterrupt):
        SANNE(settings=settings).fit(PRESENT, on_epoch=stop, checkpoint=tmp_path / "fit.safetensors")
    resumed = SANNE(settings=settings).fit(PRESENT, checkpoint=tmp_path / "fit.safetensors", resume=True)
    assert np.array_equal(whole.embedding_, resumed.embedding_)


# transform


def test_transform_changes_no_fitted_attribute(fitted: SANNE) -> None:
    before = fitted.embedding_.copy()
    weights = {name: array.copy() for name, array in fitted.artifact_.model.arrays().items()}
    first = fitted.transform(GRAPH)
    assert np.array_equal(first, fitted.transform(GRAPH))
    assert np.array_equal(before, fitted.embedding_)
    assert all(np.array_equal(a, weights[name]) for name, a in fitted.artifact_.model.arrays().items())


def test_transform_of_the_training_graph_is_the_embedding(fitted: SANNE) -> None:
    assert np.allclose(fitted.transform(PRESENT), fitted.embedding_, atol=1e-5)
    row = int(np.flatnonzero(fitted.node_ids_ == "p5")[0])
    assert np.allclose(fitted.transform(PRESENT, nodes=["p5"])[0], fitted.embedding_[row], atol=1e-2)


def test_explain_gives_uncertainty_and_reasons(fitted: SANNE) -> None:
    plain = fitted.transform(GRAPH, nodes=["p0"])
    full = fitted.transform(GRAPH, nodes=["p0"], explain=True)
    assert np.array_equal(full.vectors, plain)
    assert full.explanation is not None
    assert 1 <= len(full.explanation[0]) <= 10
    assert "p0" in dict(full.explanation[0])
    assert len(fitted.transform(GRAPH, nodes=["p0"], explain=3).explanation[0]) == 3  # type: ignore[index]


# similar


def test_results_are_short_to_print_and_become_data_frames(fitted: SANNE, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, dim = fitted.embedding_.shape
    assert repr(fitted).endswith(f"fitted: {nodes} nodes, {dim} dimensions>")
    found = fitted.embed(GRAPH, ["p7", "p3"], explain=2)
    assert repr(found) == f"Embedding(2 nodes, {dim} dimensions, explained)"
    table = found.to_pandas()
    assert list(table.index) == ["p7", "p3"]
    assert list(table.columns) == [*(f"dim_{i}" for i in range(dim)), "uncertainty"]
    np.testing.assert_array_equal(table.loc["p3"].to_numpy()[:-1], found.vectors[1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        found.to_pandas()


def test_similar_finds_the_nodes_of_the_same_group() -> None:
    model = tiny().fit(PRESENT)
    group = dict(zip(GRAPH.node_ids.tolist(), GRAPH.labels.tolist(), strict=True))  # type: ignore[union-attr]
    found = model.similar("p5", k=8)
    assert len(found) == 8
    assert "p5" not in dict(found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert np.mean([group[name] == group["p5"] for name, _ in found]) > 0.7  # by chance a third
    row = int(np.flatnonzero(model.node_ids_ == "p5")[0])
    assert model.similar(model.embedding_[row], k=1)[0][0] == "p5"


def test_with_detail_columns_that_vary_little_count_more() -> None:
    model = tiny().fit(PRESENT)
    whole = dict(model.similar("p5", k=len(model.node_ids_), detail=1))
    spreads = model.embedding_.std(axis=0)
    alike = model.embedding_ / np.maximum(spreads, 1e-3 * spreads.max())  # columns vary as much as each other
    alike /= np.linalg.norm(alike, axis=1, keepdims=True)
    row = int(np.flatnonzero(model.node_ids_ == "p5")[0])
    expected = dict(zip(model.node_ids_.tolist(), (alike @ alike[row]).tolist(), strict=True))
    assert whole == pytest.approx({name: expected[name] for name in whole}, abs=1e-4)
    assert whole != pytest.approx(dict(model.similar("p5", k=len(model.node_ids_))), abs=1e-2)
    with pytest.raises(InputError, match="detail must lie between 0"):
        model.similar("p5", detail=2)
    with pytest.raises(InputError, match="the query has 3 numbers"):
        model.similar(np.ones(3, np.float32), detail=0.5)


def test_a_newcomer_is_known_after_transform(fitted: SANNE) -> None:
    model = tiny().fit(PRESENT)
    with pytest.raises(UnknownNodeError, match="'p0' was not in the fitted graph"):
        model.similar("p0")
    model.transform(GRAPH, nodes=["p0", "p4"])
    found = model.similar("p0", k=3)
    assert len(found) == 3
    assert {name for name, _ in found} <= set(PRESENT.node_ids)
    with pytest.raises(InputError, match="at least 1"):
        model.similar("p0", k=0)


def test_integer_ids_are_found_as_numbers_or_text_and_nothing_else() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], node_ids=[10, 20, 30, 40])
    model = tiny(epochs=1).fit(graph)
    assert model.similar(10, k=2) == model.similar("10", k=2) == model.similar(np.int64(10), k=2)
    json.dumps(model.similar(10))
    for stranger in (10.5, "10.0", 11, "ten", 10**30, None):
        with pytest.raises(UnknownNodeError):
            model.similar(stranger)


# the model folder


@pytest.fixture
def folder(fitted: SANNE, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_is_the_saved_one(fitted: SANNE, folder: Path) -> None:
    later = SANNE.load(folder)
    assert np.array_equal(later.embedding_, fitted.embedding_)
    assert np.array_equal(later.uncertainty_, fitted.uncertainty_)
    assert later.node_ids_.tolist() == fitted.node_ids_.tolist()
    assert np.array_equal(later.transform(GRAPH), fitted.transform(GRAPH))
    assert later.similar("p5") == fitted.similar("p5")
    assert later._config() == fitted._config()
    assert later.random_state == fitted.random_state
    assert np.array_equal(clone(later).fit(PRESENT).embedding_, fitted.embedding_)  # it can be fitted again


@pytest.mark.parametrize("kind", ["tfidf", "structure", "table"])
def test_every_kind_of_model_survives_the_disk(tmp_path: Path, kind: str) -> None:
    texts = np.array([f"word{label} common w{i}" for i, label in enumerate(GRAPH.labels)], dtype=object)  # type: ignore[arg-type]
    graph = Graph(
        GRAPH.indptr,
        GRAPH.indices,
        None,
        np.arange(120) * 3,
        texts=texts if kind == "tfidf" else None,
        features=GRAPH.features if kind == "table" else None,
    )
    model = tiny(3, epochs=1, objective="neighbours" if kind == "table" else "hidden").fit(graph)
    model.save(tmp_path / "m")
    later = SANNE.load(tmp_path / "m")
    assert later.node_ids_.dtype == np.int64
    assert np.array_equal(later.embedding_, model.embedding_)
    assert np.array_equal(later.uncertainty_, model.uncertainty_, equal_nan=True)
    assert np.array_equal(later.transform(graph, [3, 6]), model.transform(graph, [3, 6]))


def test_nothing_in_the_folder_is_a_pickle(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["README.md", "config.json", "features.json", "model.safetensors", "vectors.parquet"]
    for path in folder.iterdir():
        assert path.read_bytes()[:2] not in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK")


def test_saving_replaces_an_older_model_and_leaves_no_litter(fitted: SANNE, folder: Path) -> None:
    other = tiny(1).fit(PRESENT)
    other.save(folder)
    assert np.array_equal(SANNE.load(folder).embedding_, other.embedding_)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_saving_into_an_empty_folder_works(fitted: SANNE, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    fitted.save(str(tmp_path / "empty"))
    SANNE.load(tmp_path / "empty")


@pytest.mark.parametrize("name", ["notes.txt", "config.json", "README.md", "model.safetensors"])
def test_a_folder_with_other_files_is_never_replaced(fitted: SANNE, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError):
        fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_save_that_fails_leaves_the_old_model(fitted: SANNE, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("sanne.model.artifact.save_file", full)
    with pytest.raises(OSError, match="disk full"):
        fitted.save(folder)
    monkeypatch.undo()
    assert np.array_equal(SANNE.load(folder).embedding_, fitted.embedding_)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["config.json", "features.json", "model.safetensors", "vectors.parquet"])
def test_a_folder_with_a_file_missing_cut_or_changed_is_refused(folder: Path, name: str) -> None:
    original = (folder / name).read_bytes()
    (folder / name).write_bytes(original[: len(original) // 2])
    with pytest.raises(ModelFolderError):
        SANNE.load(folder)
    middle = len(original) // 2
    (folder / name).write_bytes(original[:middle] + bytes([original[middle] ^ 0xFF]) + original[middle + 1 :])
    with pytest.raises(ModelFolderError):
        SANNE.load(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFolderError, match=name):
        SANNE.load(folder)


@pytest.mark.parametrize("damage", ["other width", "not parquet", "cut", "no checksum"])
def test_vectors_that_do_not_fit_the_model_are_refused(fitted: SANNE, folder: Path, damage: str) -> None:
    path = folder / "vectors.parquet"
    if damage == "other width":
        write_vectors(path, fitted.node_ids_, fitted.embedding_[:, :3], fitted.uncertainty_)
    elif damage == "not parquet":
        path.write_bytes(b"not parquet at all")
    else:
        path.write_bytes(path.read_bytes()[:-30])
    header = json.loads((folder / "config.json").read_text())
    header["sha256"]["vectors.parquet"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if damage == "no checksum":
        del header["sha256"]["vectors.parquet"]
    (folder / "config.json").write_text(json.dumps(header))
    with pytest.raises(ModelFolderError, match=r"vectors\.parquet"):
        SANNE.load(folder)


def test_a_model_folder_without_uncertaintys_has_uncertaintys_that_are_not_numbers(fitted: SANNE, folder: Path) -> None:
    path = folder / "vectors.parquet"
    write_vectors(path, fitted.node_ids_, fitted.embedding_)
    header = json.loads((folder / "config.json").read_text())
    header["sha256"]["vectors.parquet"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "config.json").write_text(json.dumps(header))
    assert np.isnan(SANNE.load(folder).uncertainty_).all()


# every input has an answer


def test_awkward_graphs_work(tmp_path: Path) -> None:
    """Self-loops, repeated edges, two components, an isolated node, weights, one-way edges, ids of odd letters."""
    ids = np.array(["a b", "ü", "日本", "", "x,y", '"q"', "-1", "alone"], object)
    graph = Graph.from_edges(
        [0, 0, 1, 3, 4, 5, 2], [0, 1, 2, 4, 5, 6, 1], [9.0, 1.0, 0.5, 2.0, 1.0, 3.0, 1.0], node_ids=ids, directed=True
    )
    for direction in ("both", "along", "against"):
        for objective in ("hidden", "neighbours"):
            model = tiny(epochs=1, direction=direction, objective=objective).fit(graph)
            assert np.isfinite(model.embedding_).all()
            model.save(tmp_path / "m")
            assert SANNE.load(tmp_path / "m").node_ids_.tolist() == ids.tolist()
            assert np.isfinite(model.transform(graph, nodes=["alone", ""])).all()


# quality floors


def features_of(graph: Graph) -> FloatArray:
    features: FloatArray = graph.features
    return (features - features.mean(axis=0)) / features.std(axis=0)


@pytest.mark.parametrize("seed", [0, 1])
def test_planted_groups_are_separated_far_better_than_by_their_features(seed: int) -> None:
    graph = planted_graph(groups=4, size=60, inside=0.12, outside=0.008, signal=0.35, width=16, seed=seed)
    labels = np.asarray(graph.labels)
    stream = np.random.default_rng(seed)
    new = np.zeros(240, bool)
    new[stream.choice(240, 60, replace=False)] = True
    known = np.flatnonzero(~new)
    model = tiny(seed).fit(graph.subgraph(known))
    train, test = np.arange(len(known)) % 3 == 0, np.arange(len(known)) % 3 != 0
    present = accuracy(model.embedding_, labels[known], train, test)
    by_features = accuracy(features_of(graph), labels, np.isin(np.arange(240), known[train]), known[test])
    everything = model.transform(graph)
    arrivals = accuracy(everything, labels, np.isin(np.arange(240), known[train]), new)
    assert by_features < 0.8
    assert present > 0.8
    assert arrivals > 0.75
    assert present > by_features + 0.15


@pytest.fixture(scope="module")
def cora_model(cora: Graph) -> SANNE:
    return SANNE(random_state=0).fit(cora)


def test_cora_by_the_default_recipe(cora: Graph, cora_model: SANNE) -> None:
    splits = load_splits("cora")
    rows = zip(splits.train, splits.val, splits.test, strict=True)
    tests = [classify_split(cora_model.embedding_, cora.labels, *split)[0].test for split in rows]
    assert np.mean(tests) > 80, tests  # the words alone have 62


def test_a_few_nodes_of_cora_have_the_vectors_that_they_have_among_all(cora: Graph, cora_model: SANNE) -> None:
    few, expected = cora_model.transform(cora, cora.node_ids[:20]), cora_model.embedding_[:20]
    errors = np.linalg.norm(few - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert errors.max() < 0.1  # walks are not followed to where hardly any of them goes
    np.testing.assert_allclose(cora_model.transform(cora)[:20], expected, atol=1e-4)
